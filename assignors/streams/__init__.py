"""Decides which member runs which task, in streams groups (KIP-1071) and in classic groups of Kafka Streams.

A task is a `TopicPartition` of a subtopology's id and a number. `sticky` is the broker's strategy.
`high_availability` and `classic_sticky` are the strategies of Kafka Streams' leaders. Both use `application`,
in which tasks and processes are numbers, and `racks`.
"""
