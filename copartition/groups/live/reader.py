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
    """Return the group with its present owners, and with its future ones if they are known (KIP-848).

    Args:
        group: the members with their partitions.
        topics: counts, ids and racks of the topics; every partition up to a count gets a row.
        lags: records that wait, by (topic, partition); a missing one is unknown.
        warnings: sentences for the reader, after those of the group.
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
    """Topics as the cluster describes them."""

    counts: Mapping[str, int]  # of the topics that we may see
    ids: Mapping[str, uuid.UUID]
    racks: Mapping[str, TopicRacks]  # of each partition's replicas; empty if they decide nothing
    complete: bool  # whether every topic that was asked for is in `counts`
    warnings: tuple[str, ...]  # what could not be known


def read_topics(cluster: Cluster, topics: Collection[str], *, with_racks: bool) -> LiveTopics:
    """Return these topics as the cluster describes them; one that this user may not see is a warning.

    Args:
        cluster: the cluster.
        topics: their names.
        with_racks: a member has a rack, so the racks of replicas count.
    """
    described = cluster.describe_topics(sorted(topics))
    counts = {name: len(topic.racks) for name, topic in described.items()}
    # The broker hides a topic without the right in the same way as one that does not exist.
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

    A lag is the end offset minus the committed offset, in records. It is below 0 if the commit is beyond the
    end, as after the topic was made anew.
    """
    # Commits are read before ends: the other way round, a commit made in between would give a lag below 0.
    committed = cluster.committed_offsets(group)
    ends = cluster.ends(committed.keys())
    unread = sorted({topic for topic, _ in committed.keys() - ends.keys()})
    warnings = [f"the lag is unknown for partitions of {', '.join(unread)}"] if unread else []
    lags = {place: end - committed[place] for place, end in ends.items()}
    # One warning with a count, as a topic that was made anew has all its partitions beyond the end.
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
        SourceError: no `bootstrap.servers`, a setting that librdkafka refuses, no broker that answers, one
            that refuses us, or no such group.
        MissingDependencyError: confluent-kafka is not installed.
    """
    return read_group(connect(group, config), group)


def read_group(cluster: Cluster, group: str) -> tuple[GroupState, GroupState | None]:
    """Return what `read_live` returns, over a connection that is there already.

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
"""A group hears of new partitions late (`metadata.max.age.ms`, five minutes); this is early enough."""


class GroupReader:
    """Read a group, without lags, for as long as it is watched; a missing group is no error.

    Each look asks the coordinator to describe the group. Subscriptions are asked for if that description has
    changed, and the group's topics then and once a minute. Between two looks `_described` is the last
    description, `_answer` what was asked for after it, and `_states` the result of both.

    Args:
        group: group id.
        config: librdkafka settings; `bootstrap.servers` at least.
        clock: returns seconds from any beginning.
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

        A group that is not there is "Dead", as Kafka calls it.
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
        # A group in a rebalance names no topics; it still has the ones from before.
        seen_topics = set() if self._answer is None else self._answer[1].counts.keys()
        topics = read_topics(self._cluster, group.topics | seen_topics, with_racks=group.has_racks)
        # Equal answers keep the object of before, by which callers see that nothing has changed.
        if (group, topics) != self._answer:
            self._answer, self._states = (group, topics), states(group, topics, {}, topics.warnings)
        self._described, self._topics_read = described, now
        return self._states

    def ends(self) -> dict[str, dict[int, int]]:
        """Return the offset of the next record of each partition of the group's topics, by topic and number.

        A partition whose leader does not answer is left out; without a group there are no topics.
        """
        counts = {} if self._answer is None else self._answer[1].counts
        places = [(topic, number) for topic, count in counts.items() for number in range(count)]
        return {topic: {} for topic in counts} | by_topic(self._cluster.ends(places))

    def committed_offsets(self) -> dict[str, dict[int, int]]:
        """Return the offsets that the group has committed, by topic and number; none if there is no group."""
        return by_topic(self._cluster.committed_offsets(self._group)) if self._answer else {}


def _by_id(group: LiveGroup) -> LiveGroup:
    """Return the group with its members sorted by id, to compare two descriptions."""
    return group._replace(members=sorted(group.members, key=lambda member: member.identity.id))
