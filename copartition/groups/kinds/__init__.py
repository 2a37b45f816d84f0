"""Read groups that are not consumer groups: share groups (KIP-932) and Streams groups (KIP-1071).

Kafka has four kinds of groups: classic groups, groups of the consumer protocol (KIP-848), share groups and
Streams groups. The first two are read as a `GroupState`, in which a partition has one owner. The other two
have no owners: `model` has their classes, `capture` reads the output of Kafka's tools, `wire` and `live` ask
brokers. Commands that need owners refuse such a group with the sentence in `OTHER_KINDS`.
"""

from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["share", "streams"]
"""A kind of group without owners, by the name of its type in ListGroups."""

OTHER_KINDS: dict[str, str] = {
    "share": (
        "{group} is a share group (KIP-932): several members read one partition by design, so that none has "
        "an owner, moves or waits for a rebalance; copartition doctor says what is wrong with it, "
        "copartition watch who gets which partition, copartition snapshot who has what and its lag, "
        "and copartition assign share plans it"
    ),
    "streams": (
        "{group} is a Streams group (KIP-1071): its members have tasks, active, standby or warm-up ones, "
        "not partitions; copartition doctor says what is wrong with it, copartition watch who gets which "
        "task, copartition snapshot who has which one and its lag, and copartition assign streams plans them"
    ),
}
"""Kind -> the sentence that explains such a group; {group} stands for the group's name."""

CLASSIC_STREAMS = "stream"
"""The coordinator's name for the strategy of a Kafka Streams group with the classic protocol."""
CLASSIC_STREAMS_SAID = (
    "{group} is a group of Kafka Streams with the classic protocol: its leader gives tasks to members, "
    "active and standby ones, and no consumer's strategy decides so; copartition doctor says what is wrong "
    "with it, and copartition assign streams-high-availability plans its tasks"
)
"""The sentence that explains a group of Kafka Streams with the classic protocol.

Its partitions have owners, but Kafka Streams has chosen them by its own strategy for tasks.
"""
