"""The outcome of a simulation: rebalances, a timeline of partitions, outages by cause, the event log."""
