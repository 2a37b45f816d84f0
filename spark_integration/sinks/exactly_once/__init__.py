"""Write each version of a DataFrame to a topic once, in full and in order, even if processes die meanwhile.

A version is a set of records with a number: a batch, or a micro-batch of a stream. Each partition is written
by one task at a time, which holds the transactional id (application, topic, partition). The task notes its
progress in a ledger, by an offset that is committed in the same transaction as the records. So either both
the records and the note are there, or neither is.

- `driver` checks on the driver whether a version may be written, and afterwards whether it was written.
- `writing` writes the records of one task.
- `target` describes a write, and decides by the ledger what may be written.
- `partitions` asks the cluster about partitions and the ledger.
- `faults` says what the cluster's refusals mean.
- `half_done` ends the transactions of tasks that died.
- `writers` and `foreach_batch` are called by Spark and by users.
"""
