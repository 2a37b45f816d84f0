"""Read groups that are not of consumers: share groups (KIP-932) and Streams groups (KIP-1071).

Kafka has four kinds of groups: classic ones, groups of the consumer protocol (KIP-848), share groups and
Streams groups. The first two are a `GroupState`, in which a partition has one owner. The other two are not:
`model` says what they are, `capture` reads what Kafka's tools print of them, `wire` and `live` ask brokers.
A question about owners refuses them with the sentence of `OTHER_KINDS`.
"""

from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["share", "streams"]
"""A kind of group that has no owners, by ListGroups' name of its type."""

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
"""For each kind the sentence about a group of it; `group` is the name."""

CLASSIC_STREAMS = "stream"
"""The strategy of Kafka Streams' groups with the classic protocol, as the coordinator tells it."""
CLASSIC_STREAMS_SAID = (
    "{group} is a group of Kafka Streams with the classic protocol: its leader gives tasks to members, "
    "active and standby ones, and no consumer's strategy decides so; copartition doctor says what is wrong "
    "with it, and copartition assign streams-high-availability plans its tasks"
)
"""The sentence about such a group, whose partitions have owners, but not by a rule for partitions."""
