"""Define the inputs of a simulation: topics, consumers, settings, work, and events.

- `scenario`, `events`, `settings` and `durations` define what a scenario consists of, with Kafka's defaults.
- `kinds` decides which values a field may have. `course` decides which events cannot happen in this order.
- `values` reads the values of a scenario file, and `file` writes them.
"""
