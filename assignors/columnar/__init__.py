"""The fast form of each strategy: it decides for whole NumPy columns at once.

- The strategies are `range`, `round_robin`, `sticky` and `uniform`. If subscriptions differ, `sticky_general`
  and `uniform_heterogeneous` take the place of the last two.
- `numbering` turns a group into integers, `sticky_structures` and `uniform_structures` read what members had
  before, and `filling` gives partitions to the member that has the fewest.

Each `assign_*` has a twin of the same name in `assignors.rules`, which is written to be read. Members, topics
and partitions are integers here, and names there. A property test checks that both give the same answers. For
a few unusual groups this form raises `OddGroup`, and the rule answers instead.
"""
