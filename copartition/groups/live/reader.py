"""A group that is looked at again and again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from assignors.state import GroupState
from copartition.groups.live.cluster import connect
from copartition.groups.live.members import describe_group, with_subscriptions
from copartition.groups.live.states import states
from copartition.groups.live.topics import read_topics
from partitioning.errors import GroupNotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from copartition.groups.live.members import LiveGroup
    from copartition.groups.live.topics import LiveTopics

_TOPICS_FOR_S = 60.0
"""A group hears of new partitions late (`metadata.max.age.ms`, five minutes); this is early enough."""


class GroupReader:
    """Reads a group for as long as somebody watches it, lags apart.

    A look asks the coordinator to describe the group. Subscriptions are asked for where that has changed,
    and the group's topics then and once a minute.

    Args:
        group: group id.
        config: librdkafka settings; `bootstrap.servers` at least.
        clock: seconds that pass.

    Raises:
        SourceError: see `read_live`; that there is no such group is none.
        MissingDependencyError: confluent-kafka is not installed.
    """

    def __init__(
        self, group: str, config: Mapping[str, str], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._group = group
        self._cluster = connect(group, config)
        self._clock = clock
        self._described: LiveGroup | None = None
        self._told: tuple[LiveGroup, LiveTopics] | None = None
        self._asked = 0.0
        self._seen: tuple[GroupState, GroupState | None] = (no_group(group), None)

    def __call__(self) -> tuple[GroupState, GroupState | None]:
        """The group and its target (KIP-848); the same object as before where nothing has changed.

        A group that is not there is "Dead", as Kafka calls it.

        Raises:
            SourceError: nobody answers, or we may not see the group.
        """
        try:
            found = describe_group(self._cluster, self._group)
        except GroupNotFoundError:
            if self._described is not None:
                self._described, self._told, self._seen = None, None, (no_group(self._group), None)
            return self._seen
        if self._described is not None and _by_id(found) == _by_id(self._described):
            found = self._described  # another order of members is no change
        now = self._clock()
        if found == self._described and now - self._asked < _TOPICS_FOR_S:
            return self._seen
        group = with_subscriptions(self._cluster, found)
        # A group in a rebalance names no topics; it has those that it had.
        known = set() if self._told is None else self._told[1].counts.keys()
        topics = read_topics(self._cluster, group.topics | known, with_racks=group.has_racks)
        if (group, topics) != self._told:
            self._told, self._seen = (group, topics), states(group, topics, {}, topics.warnings)
        self._described, self._asked = found, now
        return self._seen


def _by_id(group: LiveGroup) -> LiveGroup:
    return group._replace(members=sorted(group.members, key=lambda member: member.identity.id))


def no_group(group: str) -> GroupState:
    """A group that is not there."""
    none = np.empty(0, np.int32)
    return GroupState((), (), none, none, none, name=group, status="Dead")
