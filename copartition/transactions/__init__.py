"""Find the open transactions of a cluster, what they hold back from readers, and what ends each.

`looks` asks the cluster, `judging` decides from two looks what is wrong and what ends it, and `report` and
`command` present the answer.
"""
