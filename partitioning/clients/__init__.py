"""Adapters by which Python's Kafka clients place records with a partitioner of this package.

- There is one module for each client: `confluent` with `confluent_aio`, `kafka_python`, and `aiokafka`.
- `placing` asks a strategy and checks its answer, `topics` keeps partition counts, and `delivery` counts
  records that were lost; the modules of the clients connect these to one client.
- `read_process_write` reads, processes and writes in transactions, and `ledger` has the entries that
  exactly-once writes add to their transactions.
- `contact` asks a cluster and explains refusals; `java_settings` translates settings of Java clients.

librdkafka cannot call Python to place a record. So the modules for confluent-kafka compute the partition
first, and pass it to `produce`.
"""
