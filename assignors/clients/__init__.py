"""Our assignors in other clients' consumers: import the module of the client.

librdkafka, and with it confluent-kafka, has no plug point for assignors: docs/consumers.md says what to do.
"""
