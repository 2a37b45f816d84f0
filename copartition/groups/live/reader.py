"""Read a live group once, or again and again: its members, topics and lag as columns."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from assignors.state import UNKNOWN_LAG, GroupState, TopicRacks
from copartition.groups.capture.table import beyond_end
from copartition.groups.live.cluster import Cluster, connect
from copartition.groups.live.members import LiveGroup, describe_group, with_subscriptions
from copartition.groups.rows import Rows
from copartition.kit.places import Place, by_topic
from partitioning.errors import GroupNotFoundError


def states(
    group: LiveGroup,
    topics: LiveTopics,
    lags: Mapping[tuple[str, int], int],
    warnings: tuple[str, ...],
) -> tuple[GroupState, GroupState | None]:
    """Return the group with its present owners, and with its target assignment if that is known (KIP-848).

    Args:
        group: the members with their partitions.
        topics: the topics; each partition below a topic's count gets a row.
        lags: (topic, partition) -> lag in records; the lag of a partition that is not in it is unknown.
        warnings: sentences for the reader of a report, which are added to those of the group.
    """

    def state(lists: Sequence[Sequence[Place]]) -> GroupState:
        rows = Rows()
        free = {(topic, number) for topic, count in topics.counts.items() for number in range(count)}
        for member, owned in zip(group.members, lists, strict=True):
            rows.member(member.identity)
            for partition in owned:
                rows.partition(*partition, member.identity.id, lags.get(partition, UNKNOWN_LAG))
                free.discard(partition)
        # Partitions without an owner come last and sorted, so that equal groups give equal states.
        for topic, number in sorted(free):
            rows.partition(topic, number, None, lags.get((topic, number), UNKNOWN_LAG))
        read = rows.state(complete=topics.complete, name=group.name, status=group.status)
        return replace(
            read,
            strategy=group.strategy,
            protocol=group.protocol,
            generation=group.generation,
            leading_client=group.clients.leader,
            clients=group.clients.members,
            group_version=group.group_version,
            topic_ids=tuple(topics.ids.get(name) for name in read.topics),
            racks=tuple(topics.racks.get(name) for name in read.topics) if topics.racks else (),
            warnings=(*group.warnings, *warnings),
        )

    current = state([member.owned for member in group.members])
    return current, state([member.target for member in group.members]) if group.has_target else None


class LiveTopics(NamedTuple):
    """Holds topics as the cluster describes them.

    Attributes:
        counts: topic -> its partition count, for topics that this user may see.
        ids: topic -> its id, if it is known.
        racks: topic -> the racks of its replicas; empty if no member has a rack.
        complete: whether every topic that was asked for is in `counts`.
        warnings: a sentence on topics that this user may not see, if there are any.
    """

    counts: Mapping[str, int]
    ids: Mapping[str, uuid.UUID]
    racks: Mapping[str, TopicRacks]
    complete: bool
    warnings: tuple[str, ...]


def read_topics(cluster: Cluster, topics: Collection[str], *, with_racks: bool) -> LiveTopics:
    """Return these topics as the cluster describes them, with a warning if this user may not see some.

    Args:
        cluster: the cluster.
        topics: the names of the topics.
        with_racks: whether the racks of replicas are wanted: they matter only if a member has a rack.
    """
    described = cluster.describe_topics(sorted(topics))
    counts = {name: len(topic.racks) for name, topic in described.items()}
    # To a user without the right, the broker describes a topic as if it did not exist.
    unseen = sorted({*topics} - counts.keys())
    hidden = (
        f"the cluster shows this user no topic {', '.join(unseen)}: its partition count is unknown; if there "
        "is one, the user needs DESCRIBE on it"
    )
    return LiveTopics(
        counts,
        {name: topic.id for name, topic in described.items() if topic.id is not None},
        {name: topic.racks for name, topic in described.items()} if with_racks else {},
        not unseen,
        (hidden,) if unseen else (),
    )


def read_lags(cluster: Cluster, group: str) -> tuple[dict[tuple[str, int], int], tuple[str, ...]]:
    """Return the lag of every partition with a commit, and warnings.

    A lag is the end offset minus the committed offset, in records. It is negative if the commit is beyond the
    end, for example because the topic was deleted and created again.
    """
    # Commits are read before ends. In the other order, a commit in between could make a lag negative.
    committed = cluster.committed_offsets(group)
    ends = cluster.ends(committed.keys())
    unread = sorted({topic for topic, _ in committed.keys() - ends.keys()})
    warnings = [f"the lag is unknown for partitions of {', '.join(unread)}"] if unread else []
    lags = {place: end - committed[place] for place, end in ends.items()}
    # There is one warning with a count, because in a topic that was created again all commits may be beyond
    # the end.
    beyond = sorted(place for place, lag in lags.items() if lag < 0)
    for topic, partition in beyond[:1]:
        warnings.append(beyond_end(f"{topic}-{partition}", lags[topic, partition], len(beyond)))
    return lags, tuple(warnings)


def read_live(group: str, config: Mapping[str, str]) -> tuple[GroupState, GroupState | None]:
    """Return the group as its coordinator describes it, and its target assignment if it has one (KIP-848).

    Asks for the cluster's topics, the group, its committed offsets and the ends of the partitions.

    Args:
        group: group id.
        config: librdkafka settings; `bootstrap.servers` at least.

    Raises:
        SourceError: `bootstrap.servers` is missing, librdkafka refuses a setting, no broker answers, a broker
            refuses this user, or there is no such group.
        MissingDependencyError: confluent-kafka is not installed.
    """
    return read_group(connect(group, config), group)


def read_group(cluster: Cluster, group: str) -> tuple[GroupState, GroupState | None]:
    """Return what `read_live` returns, over an existing connection to the cluster.

    Raises:
        SourceError: there is no such group, no broker answers, or one refuses this user.
    """
    described = with_subscriptions(cluster, describe_group(cluster, group))
    lags, unread = read_lags(cluster, group)
    topics = read_topics(
        cluster, {*described.topics, *(topic for topic, _ in lags)}, with_racks=described.has_racks
    )
    return states(described, topics, lags, (*topics.warnings, *unread))


_TOPICS_FOR_S = 60.0
"""Seconds after which topics are read again; clients notice new partitions later (five minutes)."""


class GroupReader:
    """Read a group, without lags, for as long as it is watched; a missing group is no error.

    Each look asks the coordinator to describe the group. Subscriptions and topics are read again if the
    description has changed, and once a minute.

    Args:
        group: group id.
        config: librdkafka settings; `bootstrap.servers` at least.
        clock: returns the time in seconds, from any beginning.

    Attributes:
        _described: the last description of the group; None if the group does not exist.
        _answer: the group with subscriptions, and its topics, as last read; None if there is no group.
        _topics_read: when subscriptions and topics were last read, by `clock`.
        _states: the result that was made of `_answer`.
    """

    def __init__(
        self, group: str, config: Mapping[str, str], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._group = group
        self._cluster = connect(group, config)
        self._clock = clock
        self._described: LiveGroup | None = None
        self._answer: tuple[LiveGroup, LiveTopics] | None = None
        self._topics_read = 0.0
        self._no_group = (GroupState.without_partitions(name=group, status="Dead"), None)
        self._states: tuple[GroupState, GroupState | None] = self._no_group

    def __call__(self) -> tuple[GroupState, GroupState | None]:
        """Return the group and its target (KIP-848); the same object as before if nothing has changed.

        A group that does not exist has the status "Dead", as in Kafka.
        """
        try:
            described = describe_group(self._cluster, self._group)
        except GroupNotFoundError:
            if self._described is not None:
                self._described, self._answer, self._states = None, None, self._no_group
            return self._states
        if self._described is not None and _by_id(described) == _by_id(self._described):
            described = self._described  # another order of members is no change
        now = self._clock()
        if described == self._described and now - self._topics_read < _TOPICS_FOR_S:
            return self._states
        group = with_subscriptions(self._cluster, described)
        # During a rebalance the group names no topics, so the topics of the look before are kept.
        seen_topics = set() if self._answer is None else self._answer[1].counts.keys()
        topics = read_topics(self._cluster, group.topics | seen_topics, with_racks=group.has_racks)
        # For an equal answer the same object is returned, by which callers see that nothing has changed.
        if (group, topics) != self._answer:
            self._answer, self._states = (group, topics), states(group, topics, {}, topics.warnings)
        self._described, self._topics_read = described, now
        return self._states

    def ends(self) -> dict[str, dict[int, int]]:
        """Return topic -> partition -> the offset of the partition's next record, for the group's topics.

        A partition whose leader does not answer is left out. The result is empty if the group does not exist.
        """
        counts = {} if self._answer is None else self._answer[1].counts
        places = [(topic, number) for topic, count in counts.items() for number in range(count)]
        return {topic: {} for topic in counts} | by_topic(self._cluster.ends(places))

    def committed_offsets(self) -> dict[str, dict[int, int]]:
        """Return topic -> partition -> committed offset; {} if the group does not exist."""
        return by_topic(self._cluster.committed_offsets(self._group)) if self._answer else {}


def _by_id(group: LiveGroup) -> LiveGroup:
    """Return the group with its members sorted by id, to compare two descriptions."""
    return group._replace(members=sorted(group.members, key=lambda member: member.identity.id))
