"""Adapters by which Python's Kafka clients place records with a partitioner of this package.

There is one module for each client. `placing` asks a strategy and checks its answer, `topics` keeps partition
counts, and `delivery` counts records that were lost; the other modules connect these to one client.
librdkafka cannot call Python to place a record. So the modules for confluent-kafka compute the partition
first, and pass it to `produce`.
"""
