"""What is wrong with a group: an examination of it, and a table of checks, a function each, of what it shows.

A new check is a function and a table of its name in `checks.toml`; docs/doctor.md lists them.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np

from assignors.optimal.quality import AssignmentQuality
from assignors.state import GroupState
from copartition.assignment_diff.needed import balance_of
from copartition.groups.live.cluster import Cluster, connect
from copartition.groups.live.members import LiveGroup, describe_group, with_subscriptions
from copartition.groups.live.reader import read_topics, states
from copartition.kit.words import count, duration, list_names
from partitioning.errors import SourceError
from partitioning.kit.packages import read_toml
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
    coordinator = _find_coordinator(cluster, group)
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


def _find_coordinator(cluster: Cluster, group: str) -> Coordinator | None:
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


T = TypeVar("T")
Status: TypeAlias = Literal["ok", "found", "unknown"]
Seen: TypeAlias = tuple[bool, str]  # whether something is found, and what is seen

_SHOWN = 5
_NO_LAG = "the source shows no lag"


class Limits(NamedTuple):
    """What is still healthy."""

    lag: int = 10_000  # records, of one partition
    hot: float = 0.5  # the largest share of the new records that one partition may get
    written: int = 1_000  # fewer new records say nothing of hot partitions
    joined: tuple[str, ...] = ()  # topics that are joined partition by partition


class Check(NamedTuple):
    """A check: what it does, how bad a finding is, why it matters, and what to do."""

    look: Callable[[Examination, Limits], Seen]
    severity: Literal["problem", "warning"]
    why: str
    action: str
    vital: bool = False  # a group of which this is unknown is not called healthy

    @property
    def name(self) -> str:
        """That of its function."""
        return self.look.__name__.strip("_").replace("_", " ")


class Finding(NamedTuple):
    """What one check sees in one group."""

    check: Check
    status: Status
    text: str


class _UnknownError(Exception):
    """What a check needs, and the source does not tell."""


def _need(value: T | None, unknown: str) -> T:
    """The value; without it the check is unknown."""
    if value is None:
        raise _UnknownError(unknown)
    return value


def findings(examination: Examination, limits: Limits) -> list[Finding]:
    """What every check sees, in the order of the table."""
    return [_look(check, examination, limits) for check in CHECKS]


def _look(check: Check, examination: Examination, limits: Limits) -> Finding:
    try:
        bad, text = check.look(examination, limits)
    except _UnknownError as error:
        return Finding(check, "unknown", str(error))
    return Finding(check, "found" if bad else "ok", text)


def exit_code(results: Iterable[Finding]) -> int:
    """1 where something is found, else 2 where a vital check cannot tell, else 0."""
    every = list(results)
    if any(each.status == "found" for each in every):
        return 1
    return 2 if any(each.status == "unknown" and each.check.vital for each in every) else 0


def _names(partitions: Iterable[tuple[str, int]]) -> str:
    return list_names([f"{topic}-{number}" for topic, number in sorted(partitions)], _SHOWN)


def _unless(bad: object, fault: str, ok: str) -> Seen:
    return (True, fault) if bad else (False, ok)


def _status(group: Examination) -> str:
    return _need(group.state.status, "the source does not say in which state the group is")


def _state(group: Examination, _: Limits) -> Seen:
    status, members = _status(group), count(len(group.state.members), "member")
    protocol, strategy = group.state.protocol or "unknown", group.state.strategy or "unknown"
    return _unless(
        status != "Stable" and not status.startswith("generation "),
        f"the group is {status} with {members}",
        f"{status}, {members}, protocol {protocol}, strategy {strategy}",
    )


def _clients(group: Examination, _: Limits) -> Seen:
    if group.state.protocol == "consumer":
        return (False, "the coordinator assigns, whatever the members' client libraries are")
    clients = _need(group.state.clients or None, "the source does not show the members' client libraries")
    return (len(clients) > 1, f"the members run {list_names(clients)}")


def _idle(group: Examination, _: Limits) -> Seen:
    _need(group.state.members_complete or None, "the source does not show members without partitions")
    idle = [
        member.client_id or member.id
        for member, load in zip(group.state.members, group.loads, strict=True)
        if not load
    ]
    text = f"{count(len(idle), 'member')} without a partition: {list_names(idle, _SHOWN)}"
    return _unless(idle, text, "every member has partitions")


def _subscribed(group: Examination) -> list[tuple[str, ...]]:
    """The topics that each member subscribes to."""
    topics = [member.topics for member in group.state.members if member.topics is not None]
    if len(topics) < len(group.state.members):
        raise _UnknownError("the source does not show what every member subscribes to")
    return topics


def _balance(group: Examination) -> AssignmentQuality | None:
    """How even the loads are; None where a partition cannot have the owner that it has."""
    complete = group.state.complete and group.state.members_complete
    _need(complete or None, "the source does not show all partitions and members")
    _subscribed(group)
    return balance_of(group.state)


def _load(group: Examination, _: Limits) -> Seen:
    balance = _balance(group)
    if balance is None:
        return (True, "a partition has two owners, or one that does not subscribe to its topic")
    most, best = max(balance.loads, default=0), max(balance.best_loads, default=0)
    text = f"the fullest member has {count(most, 'partition')}, {best} where loads are spread best"
    return (most > best, text)


def _spread(group: Examination, _: Limits) -> Seen:
    balance = _need(_balance(group), "a partition has two owners")
    fullest, share = balance.topic_fullest, balance.best_topic_fullest
    text = f"a member has {count(fullest, 'partition')} of one topic, its share is {share}"
    return (balance.topic_excess > 1, text)


def _subscriptions(group: Examination, _: Limits) -> Seen:
    subscribed = [{*member.topics} for member in group.state.members if member.topics is not None]
    common: set[str] = set.intersection(*subscribed) if subscribed else set()
    some = sorted({name for topics in subscribed for name in topics} - common)
    if some:
        return (True, f"only some members subscribe to {list_names(some, _SHOWN)}")
    _subscribed(group)
    return (False, "all members subscribe to the same topics")


def _static(group: Examination, _: Limits) -> Seen:
    ids = [member.instance_id for member in group.state.members]
    names = [name for name in ids if name]
    twice = {name for name in names if names.count(name) > 1}
    moved = {
        member.instance_id
        for member in group.state.members
        if member.instance_id and group.static.get(member.instance_id, member.id) != member.id
    }
    if twice:
        return (True, f"two members have the group.instance.id {list_names(sorted(twice), _SHOWN)}")
    if moved:
        names_moved = list_names(sorted(moved), _SHOWN)
        text = "it restarted, or two processes have that id"
        return (True, f"between the looks {names_moved} got another member id: {text}")
    if not names and group.first is None:
        raise _UnknownError("the source shows no group.instance.id; not every capture has them")
    members = count(len(ids), "member")
    return _unless(
        0 < len(names) < len(ids),
        f"{len(names)} of {members} have a group.instance.id",
        f"{len(names)} of {members} are static",
    )


_TIMEOUTS = ("heartbeat.interval.ms", "session.timeout.ms", "max.poll.interval.ms")


def _timeouts(group: Examination, _: Limits) -> Seen:
    try:
        heartbeat, session, poll = (float(group.settings[name]) for name in _TIMEOUTS)
    except (KeyError, ValueError):
        raise _UnknownError(f"no broker tells them; give {', '.join(_TIMEOUTS)} with --set") from None
    if 3 * heartbeat > session:
        return (True, f"{duration(session)} of session hold fewer than 3 heartbeats of {duration(heartbeat)}")
    return _unless(
        session > poll,
        f"session.timeout.ms {session:,.0f} is above max.poll.interval.ms {poll:,.0f}",
        f"heartbeat {duration(heartbeat)}, session {duration(session)}, poll {duration(poll)}",
    )


def _read_topics(group: Examination) -> set[str]:
    """The topics that members subscribe to or have partitions of."""
    subscribed = {topic for member in group.state.members for topic in member.topics or ()}
    return subscribed | {topic for (topic, _), member in group.owners.items() if member >= 0}


def _unread(group: Examination, _: Limits) -> Seen:
    _need(group.state.complete or None, "the source does not show all partitions of the topics")
    if not group.state.members:
        return (True, "no member is there, so nobody reads")
    topics = _read_topics(group)
    free = [each for each, member in group.owners.items() if member < 0 and each[0] in topics]
    return _unless(
        free,
        f"nobody reads {count(len(free), 'partition')}: {_names(free)}",
        f"every partition of {count(len(topics), 'topic')} has a reader",
    )


def _left_over(group: Examination, _: Limits) -> Seen:
    committed = group.lags if group.last is None else group.last.committed
    topics = {topic for topic, _ in _need(committed, "the source shows no committed offsets")}
    left = sorted(topics - _read_topics(group)) if group.state.members else []
    text = f"offsets are committed of {list_names(left, _SHOWN)}, which no member reads"
    return _unless(left, text, "no offsets of topics that no member reads")


def _lag(group: Examination, limits: Limits) -> Seen:
    lags = _need(group.lags, _NO_LAG)
    worst = max(lags, key=lags.__getitem__, default=None)
    if worst is None:
        return (False, "nothing is committed, so nothing lags")
    behind = sum(lag > limits.lag for lag in lags.values())
    total = sum(max(lag, 0) for lag in lags.values())
    text = f"{total:,} records wait, {max(lags[worst], 0):,} of them in {_names([worst])}"
    return (behind > 0, f"{text}; above {limits.lag:,}: {count(behind, 'partition')}")


def _beyond_the_end(group: Examination, _: Limits) -> Seen:
    beyond = [each for each, lag in _need(group.lags, _NO_LAG).items() if lag < 0]
    return _unless(beyond, f"the commit is beyond the end of {_names(beyond)}", "no commit is beyond the end")


def _looks(group: Examination) -> tuple[Offsets, Offsets]:
    """Both looks at a cluster."""
    text = "it takes two looks at a cluster"
    return _need(group.first, text), _need(group.last, text)


def _trend(group: Examination, limits: Limits) -> Seen:
    before, after = (look.lags for look in _looks(group))
    change = {each: lag - before[each] for each, lag in after.items() if each in before}
    growing = [each for each, more in change.items() if more > 0 and after[each] > limits.lag]
    text = f"the lag changed by {sum(change.values()):+,} records in {duration(group.elapsed_ms)}"
    return _unless(growing, f"{text}; above {limits.lag:,} and growing: {_names(growing)}", text)


def _standstill(group: Examination, _: Limits) -> Seen:
    first, last = _looks(group)
    waiting = [each for each, lag in last.lags.items() if lag > 0 and first.lags.get(each, 0) > 0]
    still = [each for each in waiting if first.committed[each] == last.committed[each]]
    text = f"records wait and no offset was committed in {duration(group.elapsed_ms)}: {_names(still)}"
    return _unless(still, text, "commits move wherever records wait")


def _hot_partition(group: Examination, limits: Limits) -> Seen:
    first, last = _looks(group)
    fresh = {each: end - first.ends[each] for each, end in last.ends.items() if each in first.ends}
    total = sum(fresh.values())
    if total < limits.written or len(fresh) < 4:
        text = f"{count(total, 'new record')} in {count(len(fresh), 'partition')}: too few to judge"
        return (False, text)
    hottest = max(fresh, key=fresh.__getitem__)
    text = f"{_names([hottest])} got {fresh[hottest] / total:.0%} of {total:,} new records"
    return (fresh[hottest] > limits.hot * total, text)


def _uncommitted(group: Examination, _: Limits) -> Seen:
    last = _need(group.last, "the source does not tell partitions without a commit from empty ones")
    owned = [each for each, member in group.owners.items() if member >= 0 and last.ends.get(each)]
    without = [each for each in owned if each not in last.committed]
    text = f"records were written, and no offset is committed of {_names(without)}"
    return _unless(without, text, "every partition with an owner and records has a committed offset")


def _expiring(group: Examination, _: Limits) -> Seen:
    if group.state.members:
        return (False, "offsets do not expire while the group has members that subscribe to their topics")
    _status(group)
    retention_ms = _need(group.retention_ms, "no broker says what offsets.retention.minutes is")
    text = f"no member is there; offsets expire {duration(retention_ms)} after the last one left"
    return (True, f"{text}, and when that was is unknown")


def _joined(group: Examination, limits: Limits) -> Seen:
    _need(limits.joined or None, "no source tells which topics are joined; name them with --joined")
    numbers = {name: {number for topic, number in group.owners if topic == name} for name in limits.joined}
    if missing := sorted(name for name, each in numbers.items() if not each):
        raise _UnknownError(f"the group shows nothing of {list_names(missing)}")
    if len({len(each) for each in numbers.values()}) > 1:
        text = ", ".join(f"{name} {len(each)}" for name, each in numbers.items())
        return (True, f"the topics differ in partitions: {text}")
    apart = [
        number
        for number in numbers[limits.joined[0]]
        if len({group.owners.get((name, number), -1) for name in limits.joined}) > 1
    ]
    text = f"{count(len(apart), 'partition number')} of the topics are with different members"
    return _unless(apart, text, "equal partition numbers of the topics are with one member")


def _coordinator(group: Examination, _: Limits) -> Seen:
    broker, here, others, brokers = _need(
        group.coordinator, "the source does not show the coordinators of the cluster's groups"
    )
    text = f"broker {broker} looks after {here} of {count(here + others, 'group')} that this user may see"
    return (brokers > 1 and here > 20 and here * brokers > 2 * (here + others), text)


CHECKS = tuple(
    Check(globals()[f"_{name}"], **about) for name, about in read_toml(__package__, "checks.toml").items()
)
"""A check for each table of `checks.toml`: the function of its name here, and what is said of it there."""
