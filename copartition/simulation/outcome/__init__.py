"""What a simulation found: rebalances, every partition's life, outages by phase and cause, the event log."""
