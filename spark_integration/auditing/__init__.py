"""Find which client's rule, over how many partitions, explains where a topic's records are.

`plan` has the functions that users call, and says the result in sentences. `counting` counts the records of a
DataFrame on the executors.
"""
