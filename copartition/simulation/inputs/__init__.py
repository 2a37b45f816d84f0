"""The inputs of a simulation: topics, consumers, settings, work, and events."""
