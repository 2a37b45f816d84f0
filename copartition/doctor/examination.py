"""All that a source says of a group, in one value."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from assignors.state import GroupState
from copartition.groups.live.cluster import Cluster, connect
from copartition.groups.live.members import LiveGroup, describe_group, with_subscriptions
from copartition.groups.live.reader import read_topics, states
from partitioning.errors import SourceError
from partitioning.placement import coordinator_partition

_OFFSETS = "__consumer_offsets"


@dataclass(frozen=True)
class Offsets:
    """Offsets of one look, by topic and partition."""

    committed: Mapping[tuple[str, int], int]
    ends: Mapping[tuple[str, int], int]  # of the partitions with a commit or an owner

    @cached_property
    def lags(self) -> dict[tuple[str, int], int]:
        """Records between the committed offset and the end, where both are known."""
        return {
            each: self.ends[each] - offset for each, offset in self.committed.items() if each in self.ends
        }


class Coordinator(NamedTuple):
    """The broker that looks after the group."""

    id: int
    groups: int  # of the cluster, that it looks after, this one included
    others: int  # that other brokers look after
    brokers: int


@dataclass(frozen=True)
class Examination:
    """A group as its source shows it; None is what the source does not tell."""

    state: GroupState
    first: Offsets | None = None
    last: Offsets | None = None  # `elapsed_ms` after the first
    elapsed_ms: float = 0
    # The member id of each group.instance.id at the first look.
    static: Mapping[str, str] = field(default_factory=dict)
    retention_ms: int | None = None  # offsets.retention.minutes of the coordinator
    coordinator: Coordinator | None = None
    settings: Mapping[str, str] = field(default_factory=dict)  # of the consumers, as their owner says

    @cached_property
    def lags(self) -> dict[tuple[str, int], int] | None:
        """The lag of each partition where it is known; None where the source tells none."""
        if self.last is not None:
            return self.last.lags
        return None if self.state.lag is None else self.state.lag_by_place

    @cached_property
    def owners(self) -> dict[tuple[str, int], int]:
        """The index of each partition's owner, -1 where nobody has it."""
        return dict(zip(self.state.places, self.state.member.tolist(), strict=True))

    @property
    def loads(self) -> list[int]:
        """How many partitions each member has."""
        owned = self.state.member[self.state.member >= 0]
        return [int(load) for load in np.bincount(owned, minlength=len(self.state.members))]


def examine_live(
    group: str, config: Mapping[str, str], between: Callable[[], object], settings: Mapping[str, str]
) -> Examination:
    """Look at a group of a cluster, call `between`, and look again; it is read and never written.

    Raises:
        SourceError: see `read_live`.
    """
    cluster = connect(group, config)
    before = with_subscriptions(cluster, describe_group(cluster, group))
    first, begun = _offsets(cluster, before), time.monotonic()
    between()
    after = with_subscriptions(cluster, describe_group(cluster, group))
    last, ended = _offsets(cluster, after), time.monotonic()
    names = {*after.topics, *(topic for topic, _ in last.committed)}
    topics = read_topics(cluster, names, with_racks=after.has_racks)
    coordinator = _coordinator(cluster, group)
    return Examination(
        states(after, topics, last.lags, topics.warnings)[0],
        first,
        last,
        1000 * (ended - begun),
        {each.identity.instance_id: each.identity.id for each in before.members if each.identity.instance_id},
        None if coordinator is None else _retention_ms(cluster, coordinator.id),
        coordinator,
        settings,
    )


def _offsets(cluster: Cluster, group: LiveGroup) -> Offsets:
    committed = cluster.committed(group.name)
    owned = {(each.topic, each.partition) for member in group.members for each in member.owned}
    return Offsets(committed, cluster.ends(owned | committed.keys()))


def _coordinator(cluster: Cluster, group: str) -> Coordinator | None:
    if _OFFSETS not in cluster.counts:
        return None
    leaders = cluster.leaders(_OFFSETS)

    def broker(name: str) -> int | None:
        leader = leaders[coordinator_partition(name, len(leaders))]
        return None if leader is None else leader.id

    own = broker(group)
    try:
        others = [broker(name) for name in cluster.groups() if name and name != group]
    except SourceError:
        return None
    if own is None:
        return None
    here = others.count(own)
    return Coordinator(own, here + 1, len(others) - here, len(cluster.brokers))


def _retention_ms(cluster: Cluster, broker: int) -> int | None:
    try:
        return 60_000 * int(cluster.broker_setting(broker, "offsets.retention.minutes"))
    except (SourceError, KeyError, ValueError):
        return None
