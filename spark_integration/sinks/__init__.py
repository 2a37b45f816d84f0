"""Writing a DataFrame to Kafka with nothing but pip packages."""
