"""Adapters that run assignors of this package in consumers of other clients: one module for each client.

librdkafka has no plug point for assignors, so confluent-kafka has none either. docs/consumers.md describes
what to do with them.
"""
