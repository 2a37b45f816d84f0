"""Streams groups (KIP-1071), and Kafka Streams in classic groups: which member runs which task.

A task is a `TopicPartition` of a subtopology's id and a number. `sticky` is the broker's strategy.
`high_availability` and `classic_sticky` are those of Kafka Streams' leaders; both use `application`, in which
tasks and processes are numbers, and `racks`.
"""
