"""What a live group reads: how many partitions its topics have, their ids and racks, and the lag."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

from copartition.groups.capture.table import beyond_end

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from assignors.state import TopicRacks
    from copartition.groups.live.cluster import Cluster

_64_BITS = 2**64 - 1


class LiveTopics(NamedTuple):
    """Topics as the cluster describes them.

    Attributes:
        counts: partition counts of those that we may see.
        ids: topic ids.
        racks: the racks of each partition's replicas; empty where they decide nothing.
        complete: whether every topic that was asked for is in `counts`.
        warnings: what could not be known.
    """

    counts: Mapping[str, int]
    ids: Mapping[str, uuid.UUID]
    racks: Mapping[str, TopicRacks]
    complete: bool
    warnings: tuple[str, ...]


def read_topics(cluster: Cluster, topics: Collection[str], *, with_racks: bool) -> LiveTopics:
    """These topics.

    Args:
        cluster: where.
        topics: names.
        with_racks: whether the racks of replicas count, which they do if a member has a rack.
    """
    described = cluster.describe_topics(sorted(topics))
    counts = {name: len(topic.partitions) for name, topic in described.items()}
    unseen = sorted({*topics} - counts.keys())
    hidden = (
        f"the cluster shows this user no topic {', '.join(unseen)}: its partition count is unknown; if there "
        "is one, the user needs DESCRIBE on it"
    )
    return LiveTopics(
        counts,
        {name: _uuid(topic.topic_id) for name, topic in described.items() if topic.topic_id is not None},
        {name: _racks(topic) for name, topic in described.items()} if with_racks else {},
        not unseen,
        (hidden,) if unseen else (),
    )


def read_lags(cluster: Cluster, group: str) -> tuple[dict[tuple[str, int], int], tuple[str, ...]]:
    """Records between the committed offset and the end, of every partition with a commit.

    Below 0 where the commit is beyond the end, as after the topic was made anew.
    """
    committed = cluster.committed(group)
    ends = cluster.ends(committed.keys())
    unread = sorted({topic for topic, _ in committed.keys() - ends.keys()})
    warnings = [f"the lag is unknown for partitions of {', '.join(unread)}"] if unread else []
    lags = {each: end - committed[each] for each, end in ends.items()}
    beyond = sorted(each for each, lag in lags.items() if lag < 0)
    for topic, partition in beyond[:1]:
        warnings.append(beyond_end(f"{topic}-{partition}", lags[topic, partition], len(beyond)))
    return lags, tuple(warnings)


def _racks(topic: Any) -> TopicRacks:
    partitions = sorted(topic.partitions, key=lambda each: each.id)
    return tuple(
        tuple(sorted({replica.rack for replica in each.replicas if replica.rack})) for each in partitions
    )


def _uuid(identifier: Any) -> uuid.UUID:
    """Java's two signed halves as a UUID."""
    high = identifier.get_most_significant_bits() & _64_BITS
    return uuid.UUID(int=(high << 64) | (identifier.get_least_significant_bits() & _64_BITS))
