"""Who is in a live group, what each member has, and what it asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from assignors.diff.state import MemberIdentity
from assignors.errors import ProtocolError
from assignors.protocol import Subscription, decode_subscription
from assignors.sources.strategy import strategy_name
from partitioning.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assignors.sources.live.cluster import Cluster

_STATES = {
    "STABLE": "Stable",
    "EMPTY": "Empty",
    "PREPARING_REBALANCING": "PreparingRebalance",
    "COMPLETING_REBALANCING": "CompletingRebalance",
}
"""Kafka's own names of what librdkafka calls otherwise."""

_WORDS = {"Empty": "empty", "Reconciling": "reconciling"}


class LiveMember(NamedTuple):
    """A member, what it has, and what it is to have where the coordinator tells (KIP-848)."""

    identity: MemberIdentity
    owned: Sequence[TopicPartition]
    target: Sequence[TopicPartition] = ()


class LiveGroup(NamedTuple):
    """A group as its coordinator describes it.

    Attributes:
        name: group id.
        status: Kafka's name for its state; None where librdkafka does not know it.
        protocol: "classic" or "consumer".
        strategy: its assignor, by our name; None while it has none.
        members: who is in it.
        has_target: whether the members have targets.
        warnings: what to know about all that.
    """

    name: str
    status: str | None
    protocol: str | None
    strategy: str | None
    members: Sequence[LiveMember]
    has_target: bool
    warnings: tuple[str, ...]


def read_group(cluster: Cluster, group: str) -> LiveGroup:
    """The group and its members.

    Raises:
        SourceError: the cluster has no such group, or we may not see it.
    """
    described = cluster.describe_group(group)
    kind = described.type.name
    protocol = {"CLASSIC": "classic", "CONSUMER": "consumer"}.get(kind)
    joined, warnings = ({}, ()) if protocol == "consumer" else _joined(cluster, group)
    members = [_member(each, joined.get(each.member_id)) for each in described.members]
    has_target = any(each.target_assignment is not None for each in described.members)
    status = _STATES.get(described.state.name)
    if status is None and has_target and any({*member.target} != {*member.owned} for member in members):
        status = "Reconciling"
    if status is None:
        warnings = (*warnings, "the group is assigning or reconciling, what it has may not last")
    elif status != "Stable":
        warnings = (*warnings, f"the group is {_WORDS.get(status, status)}, what it has may not last")
    strategy = strategy_name(described.partition_assignor, protocol)
    return LiveGroup(group, status, protocol, strategy, members, has_target, warnings)


def _joined(cluster: Cluster, group: str) -> tuple[dict[str, Subscription], tuple[str, ...]]:
    """What the members of a classic group said; the coordinator tells it of stable groups only."""
    found = cluster.classic_group(group)
    said = {}
    unreadable = []
    for member in [] if found is None or found.protocol_type != "consumer" else found.members:
        if not member.metadata:
            continue
        try:
            said[member.id] = decode_subscription(member.metadata)
        except ProtocolError as error:
            unreadable.append(f"what {member.client_id} said when it joined cannot be read: {error}")
    return said, tuple(unreadable)


def _member(described: Any, subscription: Subscription | None) -> LiveMember:
    identity = MemberIdentity(
        described.member_id,
        instance_id=described.group_instance_id,
        client_id=described.client_id or None,
        host=(described.host or "").removeprefix("/") or None,
        topics=None if subscription is None else tuple(sorted(subscription.topics)),
        rack=None if subscription is None else subscription.rack,
    )
    return LiveMember(identity, _partitions(described.assignment), _partitions(described.target_assignment))


def _partitions(assignment: Any) -> list[TopicPartition]:
    return (
        []
        if assignment is None
        else [TopicPartition(each.topic, each.partition) for each in assignment.topic_partitions]
    )
