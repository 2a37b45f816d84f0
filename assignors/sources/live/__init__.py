"""A group of a running cluster, read and never written."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from assignors.diff.state import UNKNOWN_LAG
from assignors.errors import SourceError
from assignors.sources.live.cluster import Cluster
from assignors.sources.live.members import LiveGroup, read_group
from assignors.sources.live.topics import LiveTopics, read_lags, read_topics
from assignors.sources.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assignors.diff.state import GroupState
    from partitioning.topic_partition import TopicPartition

__all__ = ["read_live"]


def read_live(group: str, config: Mapping[str, str]) -> tuple[GroupState, GroupState | None]:
    """The group as its coordinator describes it, and its target assignment where it has one (KIP-848).

    Asks for the cluster's topics, the group, its committed offsets and the ends of the partitions.

    Args:
        group: group id.
        config: librdkafka settings; `bootstrap.servers` at least.

    Raises:
        SourceError: no `bootstrap.servers`, a setting that librdkafka refuses, no broker that answers, one
            that refuses us, or no such group.
        MissingDependencyError: confluent-kafka is not installed.
    """
    if not config.get("bootstrap.servers"):
        raise SourceError(f"live:{group} needs a cluster; name it with -b HOST:PORT")
    cluster = Cluster(f"live:{group}", config)
    found = read_group(cluster, group)
    lags, unread = read_lags(cluster, group)
    subscribed = chain.from_iterable(member.identity.topics or () for member in found.members)
    assigned = (each.topic for member in found.members for each in (*member.owned, *member.target))
    with_racks = any(member.identity.rack for member in found.members)
    topics = read_topics(
        cluster, {*subscribed, *assigned, *(topic for topic, _ in lags)}, with_racks=with_racks
    )
    warnings = (*found.warnings, *topics.warnings, *unread)

    def state(lists: Sequence[Sequence[TopicPartition]]) -> GroupState:
        return replace(_rows(found, lists, topics, lags), warnings=warnings)

    current = state([member.owned for member in found.members])
    return current, state([member.target for member in found.members]) if found.has_target else None


def _rows(
    group: LiveGroup,
    lists: Sequence[Sequence[TopicPartition]],
    topics: LiveTopics,
    lags: Mapping[tuple[str, int], int],
) -> GroupState:
    rows = Rows()
    free = {(topic, number) for topic, count in topics.counts.items() for number in range(count)}
    for member, owned in zip(group.members, lists, strict=True):
        rows.member(member.identity)
        for each in owned:
            rows.partition(*each, member.identity.id, lags.get(each, UNKNOWN_LAG))
            free.discard(each)
    for topic, number in sorted(free):
        rows.partition(topic, number, None, lags.get((topic, number), UNKNOWN_LAG))
    state = rows.state(complete=topics.complete, name=group.name, status=group.status)
    return replace(
        state,
        strategy=group.strategy,
        protocol=group.protocol,
        topic_ids=tuple(topics.ids.get(name) for name in state.topics),
        racks=tuple(topics.racks.get(name) for name in state.topics) if topics.racks else (),
    )
