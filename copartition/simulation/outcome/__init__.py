"""The outcome of a simulation: rebalances, every partition's life, outages by cause, the event log."""
