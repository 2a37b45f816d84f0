"""The readable form of each strategy: Java's own steps, with lists, dicts and Java's maps.

- The client's strategies: `range`, `round_robin`, `sticky` and `cooperative_sticky`. If subscriptions differ,
  `sticky_general` takes the last steps of the sticky ones; `sticky_structures` has the data structures of
  both.
- The broker's strategies: `broker_range` and `uniform`. `group_spec` is the view that they get of a group.
- Other clients' strategies: `librdkafka_sticky`, `kafka_python` and `aiokafka`.

The fast twins in `assignors.columnar` give the same answers for groups that a coordinator can make.

A rule takes a group and a recorder, and returns an `Assignment`. At each decision it calls the recorder with
(partition, reason, member id). `explain` prints these records, so its reasons come from the rule itself. A
comment that begins with "Quirk" marks behaviour of the JVM or the client that a reader would not expect from
the strategy's description.
"""
