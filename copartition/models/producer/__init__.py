"""Models of a producer: batching, delivery, idempotence, librdkafka's queue."""
