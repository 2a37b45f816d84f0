"""A consumer group's scenario, run many times over a cluster, and what the runs say together."""
