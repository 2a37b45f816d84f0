"""Finds the rule that wrote a topic: whose hash, over how many partitions, explains where its records are."""
