"""The fast form of each strategy: it decides for whole NumPy columns at once.

Each `assign_*` has a twin of the same name in `assignors.rules`, which is written to be read. Members, topics
and partitions are integers here (see `numbering`), and names there. A property test holds that both give the
same answers. For a group that no coordinator makes, this form raises `OddGroup`, and the rule answers
instead.
"""
