"""Decides as each strategy does, on whole columns at once, to be fast, for groups a coordinator can make.

Each `assign_*` has the name of its twin in `assignors.rules`. Both speak of the same things; members, topics
and partitions are integers here (`numbering`) and names there. Groups that no coordinator makes raise
`OddGroup`, and the rule answers instead.

The twins to be read are in `assignors.rules`; a property test holds both together.
"""
