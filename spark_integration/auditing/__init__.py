"""Finds the rule that wrote a topic: whose hash, over how many partitions, explains where its records are.

`counting` counts the records of a DataFrame on the executors; `plan` is what people call, and puts the result
in words.
"""
