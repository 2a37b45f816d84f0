"""Hold the outcome of a simulation.

`history` has the rebalances, `timeline` the partitions over time, `summary` the numbers, `result` all of
these, held against limits, and `log` the lines from which a run can be made again.
"""
