"""Examine a group: collect everything that the checks look at, from a cluster or from a file."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from assignors.optimal.quality import AssignmentQuality
from assignors.state import GroupState, MemberIdentity
from copartition.assignment_diff.needed import balance_of
from copartition.doctor.kind_examination import KindExamination
from copartition.groups.kinds import OTHER_KINDS
from copartition.groups.kinds.live import read_other_group, waiting_times
from copartition.groups.kinds.model import ShareGroupState, StreamsGroupState
from copartition.groups.live.cluster import Cluster, connect, connect_to_all, right_command
from copartition.groups.live.members import LiveGroup, describe_group, with_subscriptions
from copartition.groups.live.reader import read_topics, states
from copartition.kit.evidence import Missing
from copartition.kit.places import Place
from copartition.kit.words import list_names
from partitioning.errors import OtherGroupKindError, SourceError
from partitioning.placement import coordinator_partition

T = TypeVar("T")

OFFSETS_TOPIC = "__consumer_offsets"
"""Kafka's topic of committed offsets. The leader of a group's partition of it is the group's coordinator."""
SHOWN = 5
"""The most names that a sentence lists. If there are more, the sentence says how many."""
TIMEOUTS = ("heartbeat.interval.ms", "session.timeout.ms", "max.poll.interval.ms")
"""Settings of a consumer. For a group of the consumer protocol, the brokers have the first two of them."""


@dataclass(frozen=True)
class Offsets:
    """Holds a group's offsets at one look, by (topic, partition).

    Invariant: if a partition is missing in a mapping, its offset is unknown, or it has no commit. A missing
    partition never means 0.

    Attributes:
        committed: the offsets that the group committed, of topics that this user may see.
        ends: the offset of the next record, of partitions with a commit and of topics that members read, if
            their leaders answered.
        starts: the offset of the oldest record that is kept, of partitions with a commit.
    """

    committed: Mapping[Place, int]
    ends: Mapping[Place, int]
    starts: Mapping[Place, int] = field(default_factory=dict)

    @cached_property
    def lags(self) -> dict[Place, int]:
        """Records between the committed offset and the end, for partitions with both.

        Negative if the commit is beyond the end, for example because the topic was deleted and created again.
        """
        return {
            place: self.ends[place] - offset for place, offset in self.committed.items() if place in self.ends
        }


class Coordinator(NamedTuple):
    """Describes a group's coordinator, and how the cluster's groups are spread over coordinators.

    Only groups that this user may DESCRIBE are counted, because brokers leave out the others.

    Attributes:
        id: the id of the broker that is the group's coordinator.
        groups: number of groups that it coordinates, this one included.
        others: number of groups that other brokers coordinate.
        brokers: number of brokers of the cluster.
    """

    id: int
    groups: int
    others: int
    brokers: int


@dataclass(frozen=True)
class Examination:
    """Holds a group as its source shows it; a field is None if the source does not tell it.

    It never changes, so derived values are computed once. A member is its index in `state.members`, a
    partition by (topic, number).

    Attributes:
        state: members, partitions and owners, at the last look.
        first: offsets at the first look at a cluster; None for a file, as are all fields below, except
            `elapsed_ms` and `settings`.
        last: offsets at the second look.
        elapsed_ms: time between the looks, in milliseconds; 0 for a file.
        members_before: the members at the first look.
        retention_ms: offsets.retention.minutes of the coordinator, in milliseconds.
        coordinator: the group's coordinator.
        settings: name of a timeout -> value, as the user gave it for the consumers; for a group of the
            consumer protocol (KIP-848) also as the brokers have it.
        own_settings: name -> value of the group's own settings, for the consumer protocol; None if brokers do
            not show them to this user.
        waiting_ms: partition -> how long the first record after the commit has waited, in milliseconds; for
            the partitions with the longest lags only.
        limits: name -> value of the coordinator's settings; None if it does not show them to this user.
        hidden: what is unknown because the cluster does not show all topics of the group to this user; None
            if it shows them all.
    """

    state: GroupState
    first: Offsets | None = None
    last: Offsets | None = None
    elapsed_ms: float = 0
    members_before: tuple[MemberIdentity, ...] | None = None
    retention_ms: int | None = None
    coordinator: Coordinator | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    own_settings: Mapping[str, str] | None = None
    waiting_ms: Mapping[Place, int] | None = None
    limits: Mapping[str, str] | None = None
    hidden: Missing | None = None

    @property
    def where(self) -> str:
        """Name the source of members and owners, in a phrase of evidence."""
        return "the source" if self.last is None else "the coordinator's answer"

    @cached_property
    def lags(self) -> dict[Place, int] | None:
        """The lag of each partition whose lag is known, in records; None if the source tells none at all."""
        if self.last is not None:
            return self.last.lags
        return None if self.state.lag is None else self.state.lag_by_place

    @cached_property
    def owners(self) -> dict[Place, int]:
        """Partition -> index of its owner in `state.members`, -1 for none; of two owners, the later one."""
        # A capture may have two rows for a partition. The later one wins here; `owned_twice` finds both.
        return dict(zip(self.state.places, self.state.member.tolist(), strict=True))

    @cached_property
    def owned(self) -> list[Place]:
        """The partitions with an owner, sorted by topic and number."""
        return sorted(place for place, member in self.owners.items() if member >= 0)

    @cached_property
    def owned_twice(self) -> list[Place]:
        """The partitions that two or more members own.

        A capture that was taken during a rebalance may show them, and some clients assign them so.
        """
        # The rows are put in a set, because a capture may print the same row twice, which is no second owner.
        rows = {*zip(self.state.places, self.state.member.tolist(), strict=True)}
        times = Counter(place for place, member in rows if member >= 0)
        return [place for place, owners in times.items() if owners > 1]

    @cached_property
    def balance(self) -> AssignmentQuality | None:
        """The loads of members, and the most even ones that are possible; None if nobody can tell."""
        return balance_of(self.state)

    @cached_property
    def read_topics(self) -> set[str]:
        """The topics that members subscribe to or have partitions of."""
        subscribed = {topic for member in self.state.members for topic in member.topics or ()}
        return subscribed | {topic for topic, _ in self.owned}

    @property
    def loads(self) -> list[int]:
        """The number of partitions of each listed member, in the order of members; 0 for an idle one."""
        owned = self.state.member[self.state.member >= 0]
        return [int(load) for load in np.bincount(owned, minlength=len(self.state.members))]

    @property
    def rows(self) -> list[tuple[str, int, int | None]]:
        """A row for each member: name, number of partitions, and number of records that wait in these.

        The last number is None if the lag of one of the partitions is unknown.
        """
        members = self.state.members
        ends = self.last.ends if self.last is not None else {}
        # An empty partition has no lag, whether or not an offset is committed. A partition with records and
        # without a commit may have any lag, so it stays out of `lags`, and its owner's sum becomes None.
        lags = {place: 0 for place, end in ends.items() if not end} | (self.lags or {})
        waiting: list[int | None] = [0] * len(members)
        for place, member in self.owners.items():
            # A sum that is None stays None: the sum of the other partitions would look like the whole lag.
            if member >= 0 and (behind := waiting[member]) is not None:
                waiting[member] = behind + max(lags[place], 0) if place in lags else None
        names = [member.instance_id or member.client_id or member.id for member in members]
        return list(zip(names, self.loads, waiting, strict=True))

    @property
    def came_or_went(self) -> int:
        """Number of member ids that only one of the two looks shows; 0 for a file, which is one look.

        A member that restarts counts twice: its old id is gone, and it has a new one.
        """
        before = self.state.members if self.members_before is None else self.members_before
        return len({member.id for member in before} ^ {member.id for member in self.state.members})


def examine_live(
    group: str, config: Mapping[str, str], between: Callable[[], object], settings: Mapping[str, str]
) -> Examination | KindExamination[Any]:
    """Look at a group of a cluster, call `between`, and look again; nothing is written.

    Args:
        group: the group's name.
        config: librdkafka settings of the cluster, `bootstrap.servers` at least.
        between: called between the looks, to wait: offsets and members that change meanwhile tell more than
            one look.
        settings: timeouts of consumers that the user gives, name -> value; they take precedence over those
            that brokers have.

    Returns:
        The group at the second look, with the offsets of both.

    Raises:
        SourceError: see `read_live`.
    """
    cluster = connect(group, config)
    try:
        first: _Look | ShareGroupState | StreamsGroupState = _look(cluster, group)
    except OtherGroupKindError as error:
        first = read_other_group(cluster, group, error.kind)
    between()
    coordinators = _find_coordinators(cluster, [group]) if isinstance(first, _Look) else None
    return _look_again(cluster, group, first, coordinators, settings)


def examine_all(
    config: Mapping[str, str], between: Callable[[], object], settings: Mapping[str, str]
) -> dict[str, Examination | KindExamination[Any] | SourceError]:
    """Look at every group of a cluster, call `between` once, and look at each again; nothing is written.

    Args:
        config: librdkafka settings of the cluster, `bootstrap.servers` at least.
        between: called once between the looks, to wait; see `examine_live`.
        settings: timeouts of consumers that the user gives, for all groups.

    Returns:
        Group name -> its examination, or the error with which it could not be read; for each group that this
        user may see, sorted by name.

    Raises:
        SourceError: the cluster cannot be reached, or does not list its groups.
    """
    cluster = connect_to_all(config)
    # Both lists of groups are needed: librdkafka lists only consumer groups, and brokers before 3.8 do not
    # tell the types of groups.
    kinds = {group: kind for group, kind in cluster.group_types().items() if kind in OTHER_KINDS}
    looks: dict[str, _Look | ShareGroupState | StreamsGroupState | SourceError] = {
        group: _answer_or_error(
            partial(read_other_group, cluster, group, kinds[group])
            if group in kinds
            else partial(_look, cluster, group)
        )
        for group in sorted({*cluster.groups(), *kinds})
    }
    between()
    coordinators = _find_coordinators(cluster, looks.keys() - kinds.keys())
    return {
        group: look
        if isinstance(look, SourceError)
        else _answer_or_error(partial(_look_again, cluster, group, look, coordinators, settings))
        for group, look in looks.items()
    }


def _look_again(
    cluster: Cluster,
    group: str,
    first: _Look | ShareGroupState | StreamsGroupState,
    coordinators: _Coordinators | None,
    settings: Mapping[str, str],
) -> Examination | KindExamination[Any]:
    """Look at a group for the second time, and return what both looks show.

    Args:
        cluster: the cluster.
        group: the group's name.
        first: the first look; its type tells the group's kind.
        coordinators: the coordinators of consumer groups; None if they are unknown.
        settings: see `examine_live`.
    """
    if isinstance(first, _Look):
        return _examine(cluster, first, coordinators, settings)
    return KindExamination(read_other_group(cluster, group, first.protocol), first)


def _answer_or_error(ask: Callable[[], T]) -> T | SourceError:
    """Return what `ask` returns, or the SourceError that it raises: one group must not stop the others."""
    try:
        return ask()
    except SourceError as error:
        return error


class _Look(NamedTuple):
    """Holds a group and its offsets at one look, made at `at_s` in seconds of the monotonic clock."""

    group: LiveGroup
    offsets: Offsets
    at_s: float


def _look(cluster: Cluster, group: str) -> _Look:
    """Look at a group, its members' subscriptions and its offsets."""
    described = with_subscriptions(cluster, describe_group(cluster, group))
    return _Look(described, _offsets(cluster, described), time.monotonic())


def _examine(
    cluster: Cluster, first: _Look, coordinators: _Coordinators | None, settings: Mapping[str, str]
) -> Examination:
    """Look at a group for the second time, and ask the cluster what else the checks need."""
    name = first.group.name
    last = _look(cluster, name)
    # Topics with commits that no member reads any more are examined, too, see `left_over_check`.
    names = {*last.group.topics, *(topic for topic, _ in last.offsets.committed)}
    topics = read_topics(cluster, names, with_racks=last.group.has_racks)
    coordinator = None if coordinators is None else coordinators.find(name)
    # The same settings of share and Streams groups have prefixes of their own.
    own = cluster.settings("GROUP", name, "consumer.") if last.group.protocol == "consumer" else None
    limits = None if coordinators is None or coordinator is None else coordinators.settings[coordinator.id]
    committed, lags = last.offsets.committed, last.offsets.lags
    return Examination(
        states(last.group, topics, lags, topics.warnings)[0],
        first.offsets,
        replace(last.offsets, starts=cluster.starts(committed.keys())),
        1000 * (last.at_s - first.at_s),
        tuple(member.identity for member in first.group.members),
        _retention_ms(limits),
        coordinator,
        {**_timeouts(own or {}), **settings},
        own,
        waiting_times(cluster, committed, lags),
        limits,
        _find_hidden(last.group.topics - topics.counts.keys(), cluster.config),
    )


def _offsets(cluster: Cluster, group: LiveGroup) -> Offsets:
    """Return the commits of a group and the ends of the partitions that it reads or has committed."""
    committed = cluster.committed_offsets(group.name)
    # Partitions without an owner are included, because records may wait in new partitions.
    read = {(topic, number) for topic in group.topics for number in range(cluster.counts.get(topic, 0))}
    owned = {place for member in group.members for place in member.owned}
    return Offsets(committed, cluster.ends(read | owned | committed.keys()))


def _find_hidden(topics: Collection[str], config: Mapping[str, str]) -> Missing | None:
    """Return what is unknown because these topics are hidden from this user; None if there are none."""
    if not topics:
        return None
    hidden = sorted(topics)
    return Missing(
        f"the cluster shows this user no topic {list_names(hidden, SHOWN)}, so no commits and ends of it",
        f"give this user DESCRIBE on it: {right_command(config, 'Describe', f'--topic {hidden[0]}')}",
    )


class _Coordinators(NamedTuple):
    """Holds the coordinators of a cluster's groups. One object serves all groups that are examined.

    Attributes:
        of_group: group name -> id of its coordinator; None if the group's partition of `__consumer_offsets`
            has no leader.
        groups: broker id -> number of groups that it coordinates, of those that this user may see.
        settings: broker id -> its settings by name, for coordinators of the examined groups; None if the
            broker does not show them.
        brokers: number of brokers of the cluster.
    """

    of_group: Mapping[str, int | None]
    groups: Counter[int | None]
    settings: Mapping[int, Mapping[str, str] | None]
    brokers: int

    def find(self, group: str) -> Coordinator | None:
        """Return the coordinator of an examined group; None if its partition has no leader."""
        own = self.of_group[group]
        if own is None:
            return None
        here = self.groups[own]
        return Coordinator(own, here, self.groups.total() - here, self.brokers)


def _find_coordinators(cluster: Cluster, groups: Collection[str]) -> _Coordinators | None:
    """Return the coordinators of these groups, and how many groups each broker coordinates.

    None if this user may not DESCRIBE `__consumer_offsets`, whose leaders are the coordinators, or may not
    list groups.
    """
    if OFFSETS_TOPIC not in cluster.counts:
        return None
    # A user without any right to list groups gets an error. A user with rights on some groups gets a shorter
    # list without an error, so the report says "that this user may see".
    try:
        names = {*groups, *filter(None, cluster.groups())}
    except SourceError:
        return None
    leaders = cluster.leaders(OFFSETS_TOPIC)
    # Brokers find the coordinator in the same way, by the hash of the group's name.
    leading = {name: leaders[coordinator_partition(name, len(leaders))] for name in names}
    of_group = {name: None if leader is None else leader.id for name, leader in leading.items()}
    own = {broker for name in groups if (broker := of_group[name]) is not None}
    settings = {broker: cluster.settings("BROKER", str(broker)) for broker in own}
    return _Coordinators(of_group, Counter(of_group.values()), settings, len(cluster.brokers))


def _retention_ms(settings: Mapping[str, str] | None) -> int | None:
    """Return a broker's `offsets.retention.minutes` in ms; None if the broker does not show it.

    It depends on the group's protocol when this time begins, see `expiring_check`.
    """
    try:
        return 60_000 * int((settings or {})["offsets.retention.minutes"])
    except (KeyError, ValueError):
        return None


def _timeouts(own: Mapping[str, str]) -> dict[str, str]:
    """Return the timeouts among a group's settings, by the names that a consumer has for them.

    `max.poll.interval.ms` is not one of them: only members know it.
    """
    names = TIMEOUTS[:2]
    return {name: own[f"consumer.{name}"] for name in names if own.get(f"consumer.{name}")}
