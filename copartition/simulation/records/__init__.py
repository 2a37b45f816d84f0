"""Model the records themselves: how far behind each partition is, what is read twice and what is lost.

The run calls `flow`. `readers` keeps who reads each partition and how far behind it is, and `consumers` keeps
how fast each consumer reads. `outages` and `open_transactions` keep for how long partitions wait, and
`curves` computes lag over time.
"""
