"""Pictures of simulated runs: when each partition was read, by whom, why not, and how far behind it was."""
