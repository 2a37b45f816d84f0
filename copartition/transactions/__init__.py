"""Find the open transactions of a cluster, the offsets that they hold back from readers, and how to end them.

`looks` asks the cluster, `judging` decides from two looks which faults there are and how to end them, and
`report` and `command` present the answer.
"""
