"""Where Kafka puts a record."""
