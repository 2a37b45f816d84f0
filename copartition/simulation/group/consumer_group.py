"""A group of the consumer protocol (KIP-848) as its coordinator keeps it.

The coordinator never waits for anybody. Whoever joins, leaves or is missed raises the epoch of the group; the
next heartbeat of any member computes the target assignment of that epoch, unless the last one is too young
(`group.consumer.assignment.interval.ms`). Every member is then led to its target at its own heartbeats, and
gets a partition only when its last owner has said that it no longer has it, or is gone.

Members of the classic protocol may be in such a group while it is migrated. The coordinator lets
them join again where a member of the consumer protocol would get its partitions, and nobody waits for them.

Sources: GroupMetadataManager, ConsumerGroup and CurrentAssignmentBuilder of Kafka 4.4, to whose answers
`tests/golden/assignors/coordinator` holds this module.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from partitioning.java import TimelineKeys

NEW = 1
"""The epoch of a group before its first member."""

AWAY = -2
"""The epoch of a static member that has left and means to be back before its session ends."""

REFRESH_MS = 10_000.0
"""How long the coordinator lets pass before it looks again which topics a regular expression matches."""

NOTHING: frozenset[int] = frozenset()


class State(Enum):
    """What a member is waiting for."""

    STABLE = auto()
    UNREVOKED = auto()
    """It has partitions to give up and has not said yet that it did."""
    UNRELEASED = auto()
    """Some of its partitions still belong to others."""


class Error(Enum):
    """Why a request was refused."""

    UNKNOWN_MEMBER_ID = auto()
    FENCED_MEMBER_EPOCH = auto()
    UNRELEASED_INSTANCE_ID = auto()
    INCONSISTENT_GROUP_PROTOCOL = auto()
    ILLEGAL_GENERATION = auto()
    REBALANCE_IN_PROGRESS = auto()


class Answer(NamedTuple):
    """What a member is answered: its epoch, and all its partitions where they have changed."""

    epoch: int
    partitions: frozenset[int] | None


@dataclass(slots=True)
class GroupMember:
    """A member as the coordinator knows it."""

    number: int
    topics: tuple[str, ...] | str  # names, or a regular expression
    instance: int | None = None  # stands for its `group.instance.id`
    # Its `max.poll.interval.ms`: how long it may take to give partitions up.
    rebalance_timeout_ms: float = 300_000
    classic: bool = False  # speaks the classic protocol
    names: bool = False  # names the assignor it wants; else the coordinator's default counts
    epoch: int = 0  # the target it was last led towards; `AWAY` for a static member that is away
    previous_epoch: int = 0  # by which it may still speak where an answer got lost
    state: State = State.STABLE  # what it is waiting for
    assigned: frozenset[int] = NOTHING  # its partitions
    revoking: frozenset[int] = NOTHING  # partitions it must give up and may still have
    # When it is expelled unless it gave them up; a classic one, unless it joined and sent SyncGroup.
    deadline_ms: float = math.inf
    # When a classic member is expelled unless it joins again, as the coordinator demanded.
    join_by_ms: float = math.inf
    # The static member whose place it took; whoever looks at it forgets it.
    replaces: GroupMember | None = None

    def move(self, epoch: int) -> None:
        """It has reached this epoch."""
        self.previous_epoch, self.epoch = self.epoch, epoch


@dataclass(slots=True)
class ConsumerGroup:
    """Epochs, targets and members; partitions and members are numbers, times milliseconds."""

    partitions: int  # how many there can ever be
    interval_ms: float  # `group.consumer.assignment.interval.ms`
    assign: Callable[[ConsumerGroup], NDArray[np.int64]]  # gives the owner of every partition, -1: nobody
    matching: Callable[[str], frozenset[str]]  # gives the topics a regular expression matches
    # Members as the coordinator's map gives them; one that joins is added after the answer.
    order: TimelineKeys[int]
    epoch: int = NEW  # rises with everything that asks for another target
    target_epoch: int = NEW  # that of the target
    target_ms: float = -math.inf  # when the target was computed; negative infinity: the next need not wait
    target: NDArray[np.int64] = field(init=False)  # the owner each partition is meant to have
    targets: dict[int, frozenset[int]] = field(default_factory=dict)  # the same by member
    holder: list[int] = field(init=False)  # who has each partition until it says otherwise
    members: dict[int, GroupMember] = field(default_factory=dict)
    static: dict[int, int] = field(default_factory=dict)  # the member behind each instance
    # Topics of each regular expression at the coordinator's last look.
    resolved: dict[str, frozenset[str]] = field(default_factory=dict)
    # Members that came, went, or have other topics or another target than `assign` knows.
    changed: set[int] = field(default_factory=set)
    migrates: bool = False  # whether a member has ever spoken the classic protocol
    # Members whose next heartbeat may matter; whoever looks at it empties it.
    news: set[int] = field(default_factory=set)
    # Topics whose new partitions the coordinator has seen; whoever looks at it empties it.
    noticed: set[str] = field(default_factory=set)
    # How many members subscribe to these names, or to what this expression matches.
    subscriptions: Counter[tuple[str, ...] | str] = field(default_factory=Counter)
    _patterns: set[str] = field(default_factory=set)
    _resolved_ms: float = -math.inf
    _new_topics: bool = False
    _stale: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.target = np.full(self.partitions, -1, np.int64)
        self.holder = [-1] * self.partitions

    def begin(self, members: Iterable[GroupMember], target_ms: float) -> None:
        """These are the members of a new group, and all have what the assignor gives them."""
        for member in members:
            self._add(member)
            self.order.put(member.number)
        self.resolved = {pattern: self.matching(pattern) for pattern in self._patterns}
        self._bump()
        self._compute(target_ms)
        for member in self.members.values():
            member.move(self.target_epoch)
            self._hold(member, self.targets[member.number], NOTHING)
        self.news.clear()

    def adopt(self, members: Iterable[GroupMember], generation: int) -> None:
        """These were the members of a classic group, each with the partitions it has been assigned."""
        for member in members:
            self._add(member)
            self.order.put(member.number)
            member.epoch = member.previous_epoch = generation
            self.targets[member.number] = assigned = member.assigned
            self.target[list(assigned)] = member.number
            member.assigned = NOTHING
            self._hold(member, assigned, NOTHING)
        self.epoch = self.target_epoch = generation
        self.news.clear()

    def join(self, member: GroupMember, now_ms: float, owned: Collection[int] = NOTHING) -> Answer | Error:
        """Return a member joins, or one that is known joins again: a heartbeat with epoch 0, or JoinGroup."""
        before = self.members.get(member.number)
        if before is not None and before.classic:
            member = before
        elif member.instance is not None and member.instance in self.static:
            before = self.members[self.static[member.instance]]
            if not (before.classic or member.classic or before.epoch == AWAY):
                return Error.UNRELEASED_INSTANCE_ID
            self._replace(before, member)
            self.migrates |= member.classic
        elif before is None:
            self._add(member)
        else:
            member = before
        answer = self._answer(member, now_ms, owned, full=True)
        self.order.put(member.number)
        if member.classic:
            member.deadline_ms, member.join_by_ms = now_ms + member.rebalance_timeout_ms, math.inf
        return answer

    def heartbeat(
        self, number: int, epoch: int, owned: Collection[int] | None, now_ms: float
    ) -> Answer | Error:
        """Take a heartbeat: the member is alive and, if it finished with an assignment, says what it has."""
        member = self.members.get(number)
        if member is None:
            return Error.UNKNOWN_MEMBER_ID
        if epoch > member.epoch:
            return Error.FENCED_MEMBER_EPOCH
        if epoch < member.epoch:
            # The answer with its present epoch may have been lost.
            lost = epoch == member.previous_epoch and owned is not None and member.assigned.issuperset(owned)
            if not lost:
                return Error.FENCED_MEMBER_EPOCH
        return self._answer(member, now_ms, owned, full=False)

    def classic_heartbeat(self, number: int, generation: int, now_ms: float) -> Error | None:
        """Return a member of the classic protocol asks whether it must join again."""
        member = self.members.get(number)
        if member is None:
            return Error.UNKNOWN_MEMBER_ID
        if generation != member.epoch:
            return Error.ILLEGAL_GENERATION
        missing = self.targets[number] - member.assigned
        must = (
            member.epoch < self.target_epoch
            or member.state is State.UNREVOKED
            or (member.state is State.UNRELEASED and all(self.holder[partition] < 0 for partition in missing))
        )
        return self._join_again(member, now_ms) if must else None

    def sync(self, number: int, generation: int, now_ms: float) -> frozenset[int] | Error:
        """Return a member of the classic protocol that has joined asks for its partitions."""
        member = self.members.get(number)
        if member is None:
            return Error.UNKNOWN_MEMBER_ID
        if generation != member.epoch:
            return Error.ILLEGAL_GENERATION
        if self.target_epoch > member.epoch and member.state is not State.UNREVOKED:
            return self._join_again(member, now_ms)
        member.deadline_ms = math.inf
        return member.assigned

    def leave(self, number: int) -> None:
        """A member is gone, by its own word or because it was missed; see `only_classic`."""
        member = self.members.pop(number)
        self.order.remove(number)
        self._hold(member, NOTHING, NOTHING)
        if member.instance is not None:
            del self.static[member.instance]
        self.target[list(self.targets.pop(number))] = -1
        self._unsubscribe(member)
        if self.only_classic:
            return
        self._bump()
        if not self.members:
            self.target_epoch, self.target_ms = self.epoch, -math.inf

    def leave_for_a_while(self, number: int) -> None:
        """A static member is gone and means to be back before its session ends."""
        member = self.members[number]
        self._hold(member, member.assigned, NOTHING)
        member.epoch = AWAY
        member.deadline_ms = math.inf

    def topic_changed(self, topic: str, *, created: bool) -> None:
        """A topic has new partitions or is new; the group learns of it at the next heartbeat."""
        if any(topic in self.topics_of(subscription) for subscription in self.subscriptions):
            self._stale.add(topic)
        self._new_topics |= created

    def topics_of(self, subscription: tuple[str, ...] | str) -> Collection[str]:
        """Return the topics of a subscription, as far as the coordinator knows."""
        return subscription if isinstance(subscription, tuple) else self.resolved.get(subscription, ())

    @property
    def members_in_order(self) -> list[int]:
        """The members as the assignor gets them: in the coordinator's order, one that joins last."""
        listed = list(self.order)
        return listed if len(listed) == len(self.members) else [*listed, next(reversed(self.members))]

    @property
    def only_classic(self) -> bool:
        """Whether the last member of the consumer protocol has left others behind, which ends the group."""
        return bool(self.members) and all(member.classic for member in self.members.values())

    def is_reconciled(self, member: GroupMember) -> bool:
        """Return whether this member is at its target."""
        return member.state is State.STABLE and member.epoch == self.target_epoch

    def due_ms(self) -> float:
        """Return from when on a heartbeat of no matter whom moves the group."""
        if self._stale:
            return -math.inf
        due_ms = self.target_ms + self.interval_ms if self.epoch > self.target_epoch else math.inf
        return min(due_ms, self._resolved_ms + REFRESH_MS) if self._must_resolve() else due_ms

    def _add(self, member: GroupMember) -> None:
        self.members[member.number] = member
        self.migrates |= member.classic
        self.targets[member.number] = NOTHING
        if member.instance is not None:
            self.static[member.instance] = member.number
        self._subscribe(member)
        # One whose pattern nobody has looked up yet changes nothing until somebody has.
        if isinstance(member.topics, tuple) or member.topics in self.resolved or self._names_first(member):
            self._bump()

    def _names_first(self, member: GroupMember) -> bool:
        """Return whether the group's assignor becomes another one by this member."""
        return member.names and not any(other.names for other in self.members.values() if other is not member)

    def _replace(self, before: GroupMember, member: GroupMember) -> None:
        """A static member is back under another member id and takes over what is its."""
        del self.members[before.number]
        self.order.remove(before.number)
        self.members[member.number] = member
        assert member.instance is not None
        self.static[member.instance] = member.number
        mine = self.targets[member.number] = self.targets.pop(before.number)
        self.target[list(mine)] = member.number
        for partition in before.assigned | before.revoking:
            self.holder[partition] = member.number
        member.assigned, member.revoking, member.state = before.assigned, before.revoking, before.state
        member.replaces = before
        self._subscribe(member)
        self._unsubscribe(before)
        if member.topics != before.topics or (not before.names and self._names_first(member)):
            self._bump()

    @staticmethod
    def _join_again(member: GroupMember, now_ms: float) -> Error:
        member.join_by_ms = min(member.join_by_ms, now_ms + member.rebalance_timeout_ms)
        return Error.REBALANCE_IN_PROGRESS

    def _answer(
        self, member: GroupMember, now_ms: float, owned: Collection[int] | None, *, full: bool
    ) -> Answer:
        if self._stale:
            self._bump()
        if self.epoch > self.target_epoch and now_ms >= self.target_ms + self.interval_ms:
            self._compute(now_ms)
        before = member.assigned
        if not self.is_reconciled(member):
            self._reconcile(member, owned, now_ms)
        answer = Answer(member.epoch, member.assigned if full or member.assigned != before else None)
        if self._must_resolve() and now_ms > self._resolved_ms + REFRESH_MS:
            self._resolve(now_ms)
        return answer

    def _bump(self) -> None:
        self.epoch += 1
        self.noticed |= self._stale
        self._stale.clear()

    def _compute(self, now_ms: float) -> None:
        target = self.assign(self)
        self.changed.clear()
        lost: defaultdict[int, set[int]] = defaultdict(set)
        won: defaultdict[int, set[int]] = defaultdict(set)
        changed = np.flatnonzero(target != self.target)
        for partition, old, new in zip(
            changed.tolist(), self.target[changed].tolist(), target[changed].tolist(), strict=True
        ):
            lost[old].add(partition)
            won[new].add(partition)
        for member in (lost.keys() | won.keys()) - {-1}:
            self.targets[member] = (self.targets[member] - lost[member]) | won[member]
            self.changed.add(member)
            self.news.add(member)
        self.target, self.target_epoch, self.target_ms = target, self.epoch, now_ms

    def _reconcile(self, member: GroupMember, owned: Collection[int] | None, now_ms: float) -> None:
        """One step of a member towards its target."""
        if member.state is State.UNREVOKED and (owned is None or not member.revoking.isdisjoint(owned)):
            return
        target = self.targets[member.number]
        kept = member.assigned & target
        lost = member.assigned - target
        if lost and (owned is None or not lost.isdisjoint(owned)):
            member.state = State.UNREVOKED
            member.move(member.epoch)
            member.deadline_ms = now_ms + member.rebalance_timeout_ms
            self._hold(member, kept, lost)
            return
        wanted = target - kept
        free = {
            partition for partition in wanted if self.holder[partition] < 0 or partition in member.revoking
        }
        member.state = State.STABLE if len(free) == len(wanted) else State.UNRELEASED
        member.move(self.target_epoch)
        member.deadline_ms = math.inf
        self._hold(member, kept | free, NOTHING)

    def _hold(self, member: GroupMember, assigned: frozenset[int], revoking: frozenset[int]) -> None:
        before = member.assigned | member.revoking
        after = assigned | revoking
        for partition in before - after:
            self.holder[partition] = -1
            self.news.add(int(self.target[partition]))
        for partition in after - before:
            self.holder[partition] = member.number
        member.assigned, member.revoking = assigned, revoking

    def _subscribe(self, member: GroupMember) -> None:
        self.changed.add(member.number)
        self.subscriptions[member.topics] += 1
        if isinstance(member.topics, str):
            self._patterns.add(member.topics)

    def _unsubscribe(self, member: GroupMember) -> None:
        self.changed.add(member.number)
        self.subscriptions[member.topics] -= 1
        if not self.subscriptions[member.topics]:
            del self.subscriptions[member.topics]
            if isinstance(member.topics, str):
                self._patterns.remove(member.topics)
                self.resolved.pop(member.topics, None)
            if not self.resolved:
                self._resolved_ms = -math.inf

    def _must_resolve(self) -> bool:
        return bool(self._patterns) and (self._new_topics or self._patterns != self.resolved.keys())

    def _resolve(self, now_ms: float) -> None:
        """Look which topics match; the coordinator does it in the background, right after the heartbeat."""
        resolved = {pattern: self.matching(pattern) for pattern in self._patterns}
        before, self.resolved = self.resolved, resolved
        self._resolved_ms, self._new_topics = now_ms, False
        new = {pattern for pattern, topics in resolved.items() if topics != before.get(pattern, frozenset())}
        if new:
            self.changed |= {member.number for member in self.members.values() if member.topics in new}
            self.noticed.update(*(resolved[pattern] - before.get(pattern, frozenset()) for pattern in new))
        if new or self._stale:
            self._bump()
