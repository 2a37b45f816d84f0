"""Model a producer.

- `batching` models the Java client, whose batches wait in `accumulator`; `librdkafka` models the other
  client. `tuning` searches for good settings.
- `delivering` runs a producer against faults, which `delivery` defines. `idempotence` decides what the leader
  does with a batch that comes again, and `assessing` counts the lost and doubled batches of many runs.
- `settings` and `stream` check what a user gives; `report` presents the answer.
"""
