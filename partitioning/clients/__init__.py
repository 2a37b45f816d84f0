"""The plug points of Python's Kafka clients: any strategy of ours decides where they put a record.

One module a client. `placing` asks a strategy and checks its answer, `topics` keeps partition counts,
`delivery` counts what was lost; the other modules fit these to one client's plug point. librdkafka calls no
Python for a record, so the modules for confluent-kafka compute the partition first and pass it on.
"""
