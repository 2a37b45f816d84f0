"""Hold the outcome of a simulation.

`history` has the rebalances, `timeline` the partitions over time, and `summary` the figures. `result` holds
all of these, and checks figures against limits. `log` writes the lines from which a run can be made again.
"""
