"""Adapters that run assignors of this package in consumers of other clients: one module for each client.

librdkafka, and so confluent-kafka, has no plug point for assignors. docs/consumers.md describes what to do.
"""
