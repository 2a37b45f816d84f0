"""Find who wrote a topic: the client's rule and the partition count that explain where its records are.

- `cluster` audits a topic: `topic_state` asks about it, and `reader` reads the records that `options` chose.
- `tally` counts the records, and `search` decides which writer explains them. `conclusion` decides from the
  counts who wrote the topic.
- `forms` finds which serializer made the keys, `logical` and `decoder` what the keys mean. `hottest` finds
  the keys with the most records.
- `topic_audit` defines the values that these pass on, and `ranges` cuts a topic into ranges of offsets.
- `report` and `command` present the answer.
"""
