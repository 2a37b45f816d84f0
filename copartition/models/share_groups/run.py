"""Simulate members of a share group that poll and acknowledge records until each record has its end.

This is a discrete-event model. Times are milliseconds from the first join on. Records are identified by their
offsets, from 0 on.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil, inf
from typing import Literal, NamedTuple, get_args

from copartition.models.events import EventQueue
from copartition.models.share_groups.partition import (
    ACCEPTED,
    ACQUIRED,
    ARCHIVED,
    AVAILABLE,
    REJECTED,
    AcquiredRecords,
    SharePartition,
)
from partitioning.errors import ScenarioError

Ending = Literal["release", "reject", "crash"]
_STATES = {"release": AVAILABLE, "reject": REJECTED}
_OUTCOMES = {ACCEPTED: "accepted", REJECTED: "rejected", ARCHIVED: "archived"}
_AT_LEAST = {"process_ms": 0.0, "restart_ms": 0.0, "round_trip_ms": 0.0, "delivery_limit": 2.0}
"""The least values of some settings; all others must be positive."""
_WORTH, _POLLS = 0.5, 10
"""One more member helps if it adds `_WORTH` of the first one's rate; a trial has `_POLLS` polls a member."""

MOST_MEMBERS = 64
"""The most members with which a group is tried."""

MOST_RECORDS = 2**18
"""The most records of a group: a model of more would take minutes and hundreds of megabytes."""

MOST_DELIVERIES = 2**20
"""The most deliveries of a run, over all its records; so many deliveries take some five seconds.

If locks end before records are acknowledged, each record is delivered again and again, up to the delivery
limit, and the user may set that limit to any number.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroup:
    """Describes members that share one partition, which has all its records from the beginning.

    Attributes:
        members: the number of members.
        records: the number of records.
        process_ms: the time that a member takes for a record.
        max_poll_records: `max.poll.records`.
        batch_records: the number of records in a batch of the log.
        each: whether a record is acknowledged as soon as it is processed, not with the next poll.
        renew: whether a member that has processed a record renews the locks of its other records.
        lock_ms: `group.share.record.lock.duration.ms`.
        delivery_limit: `group.share.delivery.count.limit`.
        max_locks: `group.share.partition.max.record.locks`.
        session_ms: `group.share.session.timeout.ms`.
        special: offset of a record -> "release" or "reject", if a member does so whenever it gets the record;
            "crash", if the record crashes its member; or the milliseconds that the record takes.
        killed: number of a member, from 0 on -> the time in ms at which its process dies.
        stopped: number of a member, from 0 on -> the time in ms at which it falls silent but keeps its
            connection.
        restart_ms: milliseconds from a crash until another member polls instead; infinite if none does.
        round_trip_ms: time from a request to its answer.

    >>> ShareGroup(members=4, special={33: "crash"}).lock_ms
    30000.0
    """

    members: int = 1
    records: int = 1_000
    process_ms: float = 10.0
    max_poll_records: int = 500
    batch_records: int = 1
    each: bool = False
    renew: bool = False
    lock_ms: float = 30_000.0
    delivery_limit: int = 5
    max_locks: int = 2_000
    session_ms: float = 45_000.0
    special: Mapping[int, float | Ending] = field(default_factory=dict)
    killed: Mapping[int, float] = field(default_factory=dict)
    stopped: Mapping[int, float] = field(default_factory=dict)
    restart_ms: float = inf
    round_trip_ms: float = 5.0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value, least = getattr(self, name), _AT_LEAST.get(name, 1e-6)
            # `not >=` instead of `<` also refuses NaN. A bool is an int, but no number here.
            if isinstance(value, int | float) and not isinstance(value, bool) and not value >= least:
                raise ScenarioError(f"{name} of a share group is {value!r}; it must be {least:g} or more")
        for what, numbers, most in (
            ("special", self.special, self.records),
            ("killed", self.killed, self.members),
            ("stopped", self.stopped, self.members),
        ):
            # The type is compared exactly, because True is an int, too, and would mean record 1.
            if beyond := [number for number in numbers if type(number) is not int or not 0 <= number < most]:
                raise ScenarioError(
                    f"{what} of a share group names {beyond[0]!r}, but numbers end at {most - 1}"
                )
        if self.records > MOST_RECORDS:
            raise ScenarioError(
                f"records of a share group is {self.records:,}; {MOST_RECORDS:,} are the most"
            )
        self._check_kinds_and_times()

    def _check_kinds_and_times(self) -> None:
        """Raise `ScenarioError` if a special record has an unknown kind, or a time is impossible."""
        kinds = get_args(Ending)
        for offset, kind in self.special.items():
            # A misspelt kind must be refused now, and not only when its record is delivered.
            if kind not in kinds and not _is_time(kind):
                raise ScenarioError(
                    f"special record {offset} of a share group is {kind!r}; it must be "
                    f"{', '.join(map(repr, kinds))}, or milliseconds from 0 on"
                )
        for what, times in (("killed", self.killed), ("stopped", self.stopped)):
            for number, at_ms in times.items():
                if not _is_time(at_ms):
                    raise ScenarioError(
                        f"{what} of a share group gives member {number} the time {at_ms!r}; "
                        "it must be milliseconds from 0 on"
                    )


def _is_time(value: object) -> bool:
    """Return whether a value is a number of milliseconds, 0 or more, and neither NaN nor infinite."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < inf


class SpecialRecord(NamedTuple):
    """Holds the outcome of a special record, and the number of its deliveries."""

    offset: int
    deliveries: int
    outcome: str  # "accepted", "rejected", "archived" or "open"
    took_ms: float  # from its first delivery until its end; infinite if it has none


class ShareResult(NamedTuple):
    """Holds the numbers of records by how they ended, and the figures of the run."""

    group: ShareGroup
    seconds: float  # from the first delivery until the last accepted record was processed
    accepted: int
    rejected: int
    archived: int  # delivered as often as the limit allows, and never accepted
    open: int  # without an end, because no member is alive any more
    deliveries: int
    redeliveries: int
    late: int  # records processed in vain, because a lock had ended before they were acknowledged
    longest_hold_ms: float  # the longest time from the lock of a healthy record to its acknowledgement
    most_in_flight: int  # the highest value of end offset - start offset + 1
    special: tuple[SpecialRecord, ...]

    @property
    def per_second(self) -> float:
        """Records accepted per second."""
        return self.accepted / self.seconds if self.seconds else 0.0

    @property
    def dead_lettered(self) -> int:
        """Number of records for a dead-letter topic if the group has one (KIP-1191, from Kafka 4.4 on)."""
        return self.rejected + self.archived


def simulate_share(group: ShareGroup) -> ShareResult:
    """Return the end of a share group's records.

    The run lasts until each record has its final state or no member is alive.

    >>> simulate_share(ShareGroup(records=100, process_ms=20)).accepted
    100
    """
    return _Run(group).result()


def lock_that_suffices(group: ShareGroup) -> float:
    """Return the time in milliseconds that `lock_ms` has to exceed.

    With such a `lock_ms`, no lock ends before a healthy record under it is acknowledged.
    """
    return simulate_share(replace(group, lock_ms=inf)).longest_hold_ms


def members_that_help(group: ShareGroup) -> list[ShareResult]:
    """Return the results of the group with one member, with two and so on, as long as one more member helps.

    One more member helps if it adds at least half of the first member's records per second. Each run has
    enough records for ten polls of each member for which the limit of locks leaves room.

    Returns:
        A result for each number of members from 1 on, at most `MOST_MEMBERS`.
    """
    poll = ceil(group.max_poll_records / group.batch_records) * group.batch_records
    results: list[ShareResult] = []
    for members in range(1, MOST_MEMBERS + 1):
        # Members beyond the limit of locks get no records while others have them, so the log needs no records
        # for these members.
        records = min(_POLLS * min(members * poll, group.max_locks), MOST_RECORDS)
        # Members that die or fall silent would hide how much one more member adds.
        group = replace(group, members=members, records=records, killed={}, stopped={})
        result = simulate_share(group)
        if results:
            gain = result.per_second - results[-1].per_second
            # If records take no time, or no record is accepted, all rates are 0. A gain of 0 is then not
            # below half of the first rate, so `gain <= 0` is tested, too; otherwise the search would go on.
            if gain <= 0 or gain < _WORTH * results[0].per_second:
                break
        results.append(result)
    return results


class ShareAssessment(NamedTuple):
    """Holds the result of a share group, and the settings that would improve it.

    Attributes:
        result: the result of the group as it is.
        lock_ms: the time in ms that `group.share.record.lock.duration.ms` has to exceed, see
            `lock_that_suffices`.
        by_members: results of the group without its special records, with 1, 2 and so on members, as long as
            one more member helps.
        healthy: the result of the group without its special records.
    """

    result: ShareResult
    lock_ms: float
    by_members: tuple[ShareResult, ...]
    healthy: ShareResult


def assess_share(group: ShareGroup) -> ShareAssessment:
    """Return a group's result, the lock that suffices, how many members help, and what special records cost.

    >>> assess_share(ShareGroup(members=2, records=100, max_poll_records=10, process_ms=20)).lock_ms
    205.0
    """
    healthy = replace(group, special={})
    # The group itself is simulated before its variants, so that an error names the user's own number of
    # records.
    result = simulate_share(group)
    by_members = tuple(members_that_help(healthy))
    return ShareAssessment(result, lock_that_suffices(group), by_members, simulate_share(healthy))


@dataclass(slots=True, eq=False)
class _Member:
    """Holds the state of a member.

    `lease` has the records of the member's last fetch, `todo` the offsets of those that it has still to
    process, and `ends` the states of those that it has processed but not acknowledged. `processed_ms` is when
    it last finished a record.
    """

    alive: bool = True
    lease: AcquiredRecords = field(default_factory=lambda: AcquiredRecords([], 0.0))
    todo: list[int] = field(default_factory=list)
    ends: dict[int, int] = field(default_factory=dict)
    processed_ms: float = -inf


class _Run:
    """Runs one simulation; the constructor runs it to its end.

    `_events` has the clock and the events to come. `_waiting` are members whose fetch has no answer yet, in
    the order of their fetches. `_deliveries` counts all records of all fetches, to end a run that would take
    too long. `_began` is when the first record was delivered, and `_last` when the last accepted one was
    processed; both are infinite until then. `_hold` is the longest lock of a healthy record. Times are
    milliseconds.
    """

    def __init__(self, group: ShareGroup) -> None:
        self._group = group
        limits = group.delivery_limit, group.max_locks
        self._partition = SharePartition(group.records, group.batch_records, *limits)
        self._events = EventQueue()
        self._waiting: list[_Member] = []
        self._deliveries = 0
        self._began, self._last, self._hold, self._late, self._most = inf, -inf, 0.0, 0, 0
        self._first_ms: dict[int, float] = {}
        self._end_ms: dict[int, float] = {}
        members = [self._join() for _ in range(group.members)]
        for number, at_ms in group.killed.items():
            self._after(at_ms, partial(self._die, members[number]))
        for number, at_ms in group.stopped.items():
            self._after(at_ms, partial(self._stop, members[number]))
        while self._events:
            self._events.let_next_happen()
            self._serve()
            self._observe()

    def _after(self, wait_ms: float, happen: Callable[[], object]) -> None:
        """Plan an event `wait_ms` milliseconds from now; after an infinite wait the event never comes."""
        self._at(self._events.now + wait_ms, happen)

    def _at(self, at_ms: float, happen: Callable[[], object]) -> None:
        """Plan an event at a time in ms; an event at infinity is left out, or the run would not end."""
        if at_ms < inf:
            self._events.at(at_ms, happen)

    def _join(self) -> _Member:
        """Add a member, which polls at once."""
        member = _Member()
        self._poll(member)
        return member

    def _poll(self, member: _Member) -> None:
        """Let a member's fetch arrive at the leader, one round trip later."""
        self._after(self._group.round_trip_ms, partial(self._fetch, member))

    def _fetch(self, member: _Member) -> None:
        """Take a member's fetch, and the acknowledgements of its last poll that come with the fetch."""
        if member.alive:
            # The leader writes the acknowledgement only after the fetch, so it may give out new records
            # first. `_serve` replaces the member's lease, so the lease of the last poll is kept here.
            before = member.lease
            self._waiting.append(member)
            self._serve()
            self._acknowledge(member, before)

    def _serve(self) -> None:
        """Answer the fetches for which there are records."""
        # This iterates over a copy, because members that are served leave the list.
        for member in [*self._waiting]:
            lease = self._partition.acquire(self._group.max_poll_records, self._events.now)
            # If the first waiting member gets nothing, no later one does: all their fetches are alike.
            if not lease.offsets:
                return
            self._waiting.remove(member)
            self._deliveries += len(lease.offsets)
            if self._deliveries > MOST_DELIVERIES:
                raise _endless(self._group, self._events.now)
            self._most = max(self._most, self._partition.in_flight)
            self._began = min(self._began, self._events.now)
            member.lease, member.todo = lease, [*lease.offsets]
            self._after(self._group.lock_ms, partial(self._expire, lease))
            self._process(member)

    def _process(self, member: _Member) -> None:
        """Plan the end of the member's next record, or of all its records up to one that crashes the member.

        All records are one event if no acknowledgement and no renewal is sent before the last one is done.
        """
        at_ms, done = self._events.now, 0
        for offset in member.todo:
            kind = self._group.special.get(offset, self._group.process_ms)
            # A record that is released or rejected, or crashes its member, takes the usual time until that
            # happens.
            at_ms += self._group.process_ms if isinstance(kind, str) else kind
            done += 1
            if kind == "crash" or self._group.each or self._group.renew:
                break
        self._at(at_ms, partial(self._complete, member, done))

    def _complete(self, member: _Member, done: int) -> None:
        """Finish the next `done` records of a member; a crash among them ends the member."""
        if not member.alive:
            return
        offsets, member.todo = member.todo[:done], member.todo[done:]
        for offset in offsets:
            kind = self._group.special.get(offset)
            if kind == "crash":
                self._die(member)
                self._after(self._group.restart_ms, self._join)
                return
            member.ends[offset] = _STATES[kind] if isinstance(kind, str) else ACCEPTED
        member.processed_ms = self._events.now
        if self._group.each:
            self._after(self._group.round_trip_ms, partial(self._commit, member))
            return
        if self._group.renew:
            # A renewal ends one lock and begins the next, so a lock is as long as the time between two
            # renewals.
            self._hold = max(self._hold, self._events.now - member.lease.since_ms)
            member.lease.since_ms = self._events.now
        self._go_on(member)

    def _commit(self, member: _Member) -> None:
        """Take the acknowledgement of one record, and let the member continue."""
        if member.alive:
            self._acknowledge(member, member.lease)
            self._go_on(member)

    def _go_on(self, member: _Member) -> None:
        """Let a member process its remaining records, or poll if it has none."""
        (self._process if member.todo else self._poll)(member)

    def _acknowledge(self, member: _Member, lease: AcquiredRecords) -> None:
        """Acknowledge the records that a member has processed; if a lock has ended, all are refused."""
        ends, member.ends = member.ends, {}
        # Special records alone do not count, because the lock must suffice only for healthy records.
        if ends.keys() - self._group.special.keys():
            self._hold = max(self._hold, self._events.now - lease.since_ms)
        if not self._partition.acknowledge(lease, ends):
            self._late += len(ends)
        elif ACCEPTED in ends.values():
            self._last = max(self._last, member.processed_ms)

    def _expire(self, lease: AcquiredRecords) -> None:
        """End a lock; if the lock was renewed, plan this again for the end of the renewed lock."""
        rest_ms = lease.since_ms + self._group.lock_ms - self._events.now
        if rest_ms > 0:
            self._after(rest_ms, partial(self._expire, lease))
        else:
            self._partition.give_back(lease)

    def _die(self, member: _Member) -> None:
        """Stop a member whose process dies: its connection closes, and its records are released at once."""
        self._stop(member)
        self._partition.give_back(member.lease)

    def _stop(self, member: _Member) -> None:
        """Let a member fall silent: it fetches no more, and its records are free after its session."""
        member.alive = False
        self._waiting = [other for other in self._waiting if other is not member]
        # After `_die` the lease has no records any more, so giving it back does nothing.
        self._after(self._group.session_ms, lambda: self._partition.give_back(member.lease))

    def _observe(self) -> None:
        """Record when special records were first delivered, and when they had their end."""
        for offset in self._group.special:
            if self._partition.deliveries[offset]:
                self._first_ms.setdefault(offset, self._events.now)
            if self._partition.states[offset] >= ACCEPTED:
                self._end_ms.setdefault(offset, self._events.now)

    def result(self) -> ShareResult:
        """Return the end of all records; a special record without an end took an infinite time."""
        states, deliveries = self._partition.states, self._partition.deliveries
        special = [
            SpecialRecord(
                offset,
                deliveries[offset],
                _OUTCOMES.get(states[offset], "open"),
                self._end_ms.get(offset, inf) - self._first_ms.get(offset, 0.0),
            )
            for offset in sorted(self._group.special)
        ]
        return ShareResult(
            group=self._group,
            seconds=max(0.0, self._last - self._began) / 1_000,
            accepted=states.count(ACCEPTED),
            rejected=states.count(REJECTED),
            archived=states.count(ARCHIVED),
            open=states.count(AVAILABLE) + states.count(ACQUIRED),
            deliveries=sum(deliveries),
            redeliveries=sum(number - 1 for number in deliveries if number),
            late=self._late,
            longest_hold_ms=self._hold,
            most_in_flight=self._most,
            special=tuple(special),
        )


def _endless(group: ShareGroup, now_ms: float) -> ScenarioError:
    """Return the error for a run that has made more than `MOST_DELIVERIES` deliveries."""
    return ScenarioError(
        f"after {now_ms:g} ms the share group's {group.records:,} records were delivered more than "
        f"{MOST_DELIVERIES:,} times in all, which is where a run is given up: give it fewer records, a "
        f"delivery_limit below {group.delivery_limit:,}, or a lock_ms above {group.lock_ms:g}, so that "
        "records are acknowledged in time"
    )
