"""Fourteen labs: what books tell of Kafka's producers and consumers, run. `python -m examples.labs`."""
