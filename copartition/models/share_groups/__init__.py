"""Model share groups (KIP-932): members that take records of one partition in parallel, each under a lock.

`run` simulates the members, `partition` is a partition on its leader, and `report` presents the answer.
"""
