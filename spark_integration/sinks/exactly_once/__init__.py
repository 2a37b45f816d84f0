"""Writing each version of a DataFrame to a topic once, in full and in order, whatever dies meanwhile.

A version is a set of records with a number: a batch, or a micro-batch of a stream. One task writes one
partition, as the only holder of the transactional id (application, topic, partition), and notes in a ledger
how far it is: an offset committed in the transaction of the records themselves. So records and note are both
there, or neither.

`driver` asks before and after, `writing` is the task, `target` names the write and reads the ledger,
`partitions` asks the cluster, `faults` says what refusals mean, `half_done` mends what died. `writers` and
`foreach_batch` are what Spark and people call.
"""
