"""Streams groups (KIP-1071), and Kafka Streams in classic groups: which member runs which task."""
