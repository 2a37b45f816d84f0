"""Make reference vectors: exact answers with which brokers and clients in other languages are tested.

A case is a question with its exact answer: a group and its assignment, or a key and its partition. `cases`
makes cases of strategies, and `tasks` those of Connect and Streams. `comparison` compares a program's answers
with them, and `command` prints the cases or the comparison.
"""
