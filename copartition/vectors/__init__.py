"""Make reference vectors: exact answers to test brokers and clients in other languages against.

A case is a question with its exact answer: a group and its assignment, or a key and its partition. `cases`
makes cases of strategies, and `tasks` those of Connect and Streams. `comparison` holds a program's answers
against them, and `command` presents the answer.
"""
