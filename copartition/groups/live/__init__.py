"""A group of a running cluster, read and never written."""

from __future__ import annotations

from collections.abc import Mapping

from assignors.state import GroupState
from copartition.groups.live.cluster import connect
from copartition.groups.live.members import describe_group, with_subscriptions
from copartition.groups.live.reader import read_lags, read_topics, states


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
    cluster = connect(group, config)
    described = with_subscriptions(cluster, describe_group(cluster, group))
    lags, unread = read_lags(cluster, group)
    topics = read_topics(
        cluster, {*described.topics, *(topic for topic, _ in lags)}, with_racks=described.has_racks
    )
    return states(described, topics, lags, (*topics.warnings, *unread))
