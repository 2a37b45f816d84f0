"""Find the open transactions of a cluster, the offsets that they hold back from readers, and how to end them.

`looks` asks the cluster, `judging` decides from two looks what is wrong and what ends it, and `report` and
`command` present the answer.
"""
