"""The plug points of Python's Kafka clients: any strategy of ours decides where they put a record."""
