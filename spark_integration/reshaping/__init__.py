"""Reshape a topic on Spark: copy it by another rule, move the groups' positions, and prove that it is right.

`copying` writes every record of the old topic to the new one, once, with a header that says where it was.
`positions` finds by these headers where a group goes on in the new topic. `proof` compares the two topics
key by key. `topics` reads the topics and asks the cluster for these three.
"""
