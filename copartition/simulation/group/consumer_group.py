"""Model a group of the consumer protocol (KIP-848) as its coordinator keeps it.

The coordinator waits for no member. A member that joins, leaves or is dropped raises the epoch of the group.
The next heartbeat of any member then computes the target assignment of that epoch, unless the last target is
too young (`group.consumer.assignment.interval.ms`). Every member is led to its target at its own heartbeats.
It gets a partition only when the last owner has reported that it no longer has it, or is gone.

During a migration the group may have members of the classic protocol. The coordinator asks them to join again
when a member of the consumer protocol would get partitions, and no member waits for them.

Sources: GroupMetadataManager, ConsumerGroup and CurrentAssignmentBuilder of Kafka 4.4.
`tests/golden/assignors/coordinator` has their answers, with which this module is compared.
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
"""The epoch of a static member that has left and intends to be back before its session ends."""

REFRESH_MS = 10_000.0
"""The least milliseconds between two looks of the coordinator at the topics of regular expressions."""

NOTHING: frozenset[int] = frozenset()


class MemberState(Enum):
    """The next step of a member towards its target, by the names of the coordinator's `MemberState`."""

    STABLE = auto()
    UNREVOKED_PARTITIONS = auto()
    """The member has partitions to give up, and has not yet reported to the coordinator that it did."""
    UNRELEASED_PARTITIONS = auto()
    """Some partitions of the member's target still belong to other members."""


class Error(Enum):
    """The reason why a request is refused, by Kafka's name."""

    UNKNOWN_MEMBER_ID = auto()
    FENCED_MEMBER_EPOCH = auto()
    UNRELEASED_INSTANCE_ID = auto()
    INCONSISTENT_GROUP_PROTOCOL = auto()
    ILLEGAL_GENERATION = auto()
    REBALANCE_IN_PROGRESS = auto()


class Answer(NamedTuple):
    """The answer to a member: its epoch, and all its partitions if they have changed, else None."""

    epoch: int
    partitions: frozenset[int] | None


@dataclass(slots=True)
class GroupMember:
    """A member as the coordinator knows it; partitions are flat indexes, times are milliseconds.

    `assigned` and `revoking` have no partition in common, and `ConsumerGroup.holder` has this member for all
    partitions in them. Only `ConsumerGroup` writes them. A member is at its target if its state is STABLE and
    its epoch is that of the target.
    """

    number: int
    topics: tuple[str, ...] | str  # names, or a regular expression
    instance: int | None = None  # a number in place of its `group.instance.id`
    # The member's `max.poll.interval.ms`: how long it may take to give partitions up.
    rebalance_timeout_ms: float = 300_000
    classic: bool = False  # whether it speaks the classic protocol
    names: bool = False  # whether it names the assignor it wants; else it has no vote
    # The epoch of the target that the member was last led towards; `AWAY` for a static member that is away.
    epoch: int = 0
    previous_epoch: int = 0  # an epoch that it may still report if an answer got lost
    state: MemberState = MemberState.STABLE  # the member's next step towards its target
    assigned: frozenset[int] = NOTHING  # its partitions
    revoking: frozenset[int] = NOTHING  # partitions that it must give up and may still have
    # At this time the member is expelled, unless it has given up what is in `revoking` before. A classic
    # member must also have joined again and sent SyncGroup by then.
    deadline_ms: float = math.inf
    # At this time a classic member is expelled, unless it has joined again as the coordinator asked.
    join_by_ms: float = math.inf
    # The static member whose place this member took. The code that reads this field sets it back to None.
    replaces: GroupMember | None = None

    def move(self, epoch: int) -> None:
        """Record that the member has reached this epoch; it may still report the one before.

        An answer may get lost. So the previous epoch stays valid for a member whose report shows that it has
        no more partitions than it was assigned.
        """
        self.previous_epoch, self.epoch = self.epoch, epoch


@dataclass(slots=True)
class ConsumerGroup:
    """Epochs, targets and members of one group; partitions and members are numbers, times are milliseconds.

    Members are numbers of `Memberships`, partitions are flat indexes below `partitions`, and -1 is no member.
    `target` and `targets` hold the same assignment, by partition and by member. `holder` differs from
    `target` while members give up and get partitions. A partition has at most one holder, so it is never
    given to two members. `target_epoch` is at most `epoch`; if it is less, another target is due. The group
    draws nothing at random and sets no timers: its answers depend only on the requests and their times.
    """

    partitions: int  # how many partitions there can ever be
    interval_ms: float  # `group.consumer.assignment.interval.ms`
    assign: Callable[[ConsumerGroup], NDArray[np.int64]]  # returns the owner of every partition, -1 for none
    matching: Callable[[str], frozenset[str]]  # returns the topics that a regular expression matches
    # Members in the order of the coordinator's map; a new member is added only after its join is answered.
    order: TimelineKeys[int]
    epoch: int = NEW  # rises with everything that needs another target
    target_epoch: int = NEW  # the epoch of the present target
    target_ms: float = -math.inf  # when the target was computed; negative infinity: the next need not wait
    target: NDArray[np.int64] = field(init=False)  # the intended owner of each partition
    targets: dict[int, frozenset[int]] = field(default_factory=dict)  # member -> its partitions in `target`
    holder: list[int] = field(init=False)  # the member that has each partition until it reports otherwise
    members: dict[int, GroupMember] = field(default_factory=dict)
    static: dict[int, int] = field(default_factory=dict)  # instance -> its member
    # Topics that each regular expression matched at the coordinator's last look.
    resolved: dict[str, frozenset[str]] = field(default_factory=dict)
    # Members that came or went, or whose topics or target have changed since the last call of `assign`.
    changed: set[int] = field(default_factory=set)
    migrates: bool = False  # whether a member has ever spoken the classic protocol
    # Members whose next heartbeat may matter. The code that reads this set empties it.
    news: set[int] = field(default_factory=set)
    # Topics whose new partitions the coordinator has seen. The code that reads this set empties it.
    noticed: set[str] = field(default_factory=set)
    # Subscription (topic names, or a regular expression) -> how many members have it.
    subscriptions: Counter[tuple[str, ...] | str] = field(default_factory=Counter)
    # `_patterns`: the regular expressions that members subscribe to. `_resolved_ms`: when they were resolved
    # last. `_new_topics`: whether a topic was created since then. `_stale`: subscribed topics whose change
    # has not raised the epoch yet.
    _patterns: set[str] = field(default_factory=set)
    _resolved_ms: float = -math.inf
    _new_topics: bool = False
    _stale: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.target = np.full(self.partitions, -1, np.int64)
        self.holder = [-1] * self.partitions

    def begin(self, members: Iterable[GroupMember], target_ms: float) -> None:
        """Make these the members of a new group, and give each member its partitions by the assignor.

        `target_ms` is the time at which the target counts as computed, at or before time 0. The result is a
        group whose members reached their target long ago: all of them are at its epoch. No member has news,
        so `news` is empty.
        """
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
        """Make the members of a classic group the members of this one, with their assigned partitions.

        `generation` is the generation of the classic group. It becomes the epoch, as in Kafka's conversion.
        """
        for member in members:
            self._add(member)
            self.order.put(member.number)
            member.epoch = member.previous_epoch = generation
            self.targets[member.number] = assigned = member.assigned
            self.target[list(assigned)] = member.number
            # `assigned` is emptied first, because `_hold` sets the holder only of partitions that are new to
            # the member.
            member.assigned = NOTHING
            self._hold(member, assigned, NOTHING)
        self.epoch = self.target_epoch = generation
        self.news.clear()

    def join(self, member: GroupMember, now_ms: float, owned: Collection[int] = NOTHING) -> Answer | Error:
        """Let a member join, or join again; return the answer to its first heartbeat (epoch 0) or JoinGroup.

        Args:
            member: the member as its request describes it.
            now_ms: the time.
            owned: the partitions that the request reports, by flat index.
        """
        before = self.members.get(member.number)
        if before is not None and before.classic:
            member = before
        elif member.instance is not None and member.instance in self.static:
            before = self.members[self.static[member.instance]]
            # A second process with a static member's instance id is refused while the first one is there. A
            # member that left for a while is replaced, and so is a member of the classic protocol.
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
        """Answer a heartbeat of a member of the consumer protocol.

        Args:
            number: the member.
            epoch: the epoch it has.
            owned: its partitions, by flat index, if it has reached an assignment; else None.
            now_ms: the time.
        """
        member = self.members.get(number)
        if member is None:
            return Error.UNKNOWN_MEMBER_ID
        if epoch > member.epoch:
            return Error.FENCED_MEMBER_EPOCH
        if epoch < member.epoch:
            # The answer that told the member its present epoch may have been lost.
            lost = epoch == member.previous_epoch and owned is not None and member.assigned.issuperset(owned)
            if not lost:
                return Error.FENCED_MEMBER_EPOCH
        return self._answer(member, now_ms, owned, full=False)

    def classic_heartbeat(self, number: int, generation: int, now_ms: float) -> Error | None:
        """Return the error that tells a member of the classic protocol to join again; None if it need not.

        A member must join again in three cases: its target is newer than its epoch; it has partitions to give
        up; or all partitions that it lacks are free by now.
        """
        member = self.members.get(number)
        if member is None:
            return Error.UNKNOWN_MEMBER_ID
        if generation != member.epoch:
            return Error.ILLEGAL_GENERATION
        missing = self.targets[number] - member.assigned
        must = (
            member.epoch < self.target_epoch
            or member.state is MemberState.UNREVOKED_PARTITIONS
            or (
                member.state is MemberState.UNRELEASED_PARTITIONS
                and all(self.holder[partition] < 0 for partition in missing)
            )
        )
        return self._join_again(member, now_ms) if must else None

    def sync(self, number: int, generation: int, now_ms: float) -> frozenset[int] | Error:
        """Return the partitions of a classic member that has joined, or the error that refuses them.

        If a new target came between JoinGroup and SyncGroup, the member must join again, unless it must first
        give partitions up. From here on it has no deadline.
        """
        member = self.members.get(number)
        if member is None:
            return Error.UNKNOWN_MEMBER_ID
        if generation != member.epoch:
            return Error.ILLEGAL_GENERATION
        if self.target_epoch > member.epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
            return self._join_again(member, now_ms)
        member.deadline_ms = math.inf
        return member.assigned

    def leave(self, number: int) -> None:
        """Remove a member that left or was dropped, and free its partitions; see `only_classic`."""
        member = self.members.pop(number)
        self.order.remove(number)
        self._hold(member, NOTHING, NOTHING)
        if member.instance is not None:
            del self.static[member.instance]
        self.target[list(self.targets.pop(number))] = -1
        self._unsubscribe(member)
        # If only classic members are left, the group becomes a classic one, which rebalances by itself and
        # needs no new target.
        if self.only_classic:
            return
        self._bump()
        if not self.members:
            self.target_epoch, self.target_ms = self.epoch, -math.inf

    def leave_for_a_while(self, number: int) -> None:
        """Keep a static member's place and partitions, because it intends to be back before its session ends.

        Partitions that it had to give up are free at once, since its process has closed. Its epoch `AWAY`
        lets a second process with its instance id take the place.
        """
        member = self.members[number]
        self._hold(member, member.assigned, NOTHING)
        member.epoch = AWAY
        member.deadline_ms = math.inf

    def topic_changed(self, topic: str, *, created: bool) -> None:
        """Record that a topic has new partitions or was created; the next heartbeat raises the epoch for it.

        A topic without subscribers does not count. A created topic may match a regular expression, so these
        are resolved again.
        """
        if any(topic in self.topics_of(subscription) for subscription in self.subscriptions):
            self._stale.add(topic)
        self._new_topics |= created

    def topics_of(self, subscription: tuple[str, ...] | str) -> Collection[str]:
        """Return the topics of a subscription, as far as the coordinator knows them."""
        return subscription if isinstance(subscription, tuple) else self.resolved.get(subscription, ())

    @property
    def members_in_order(self) -> list[int]:
        """The members as the assignor gets them: in the coordinator's order, a joining member last."""
        listed = list(self.order)
        return listed if len(listed) == len(self.members) else [*listed, next(reversed(self.members))]

    @property
    def only_classic(self) -> bool:
        """True if the group has members and all of them are classic, which ends this kind of group."""
        return bool(self.members) and all(member.classic for member in self.members.values())

    def is_reconciled(self, member: GroupMember) -> bool:
        """Return whether this member is at its target.

        A member in state STABLE whose epoch is older does not know of the present target yet.
        """
        return member.state is MemberState.STABLE and member.epoch == self.target_epoch

    def due_ms(self) -> float:
        """Return the time from which a heartbeat of any member moves the group; infinite if none will.

        Negative infinity means that the very next heartbeat moves the group. Otherwise the coordinator waits
        for the assignment interval, or for the next look at regular expressions.
        """
        if self._stale:
            return -math.inf
        due_ms = self.target_ms + self.interval_ms if self.epoch > self.target_epoch else math.inf
        return min(due_ms, self._resolved_ms + REFRESH_MS) if self._must_resolve() else due_ms

    def _add(self, member: GroupMember) -> None:
        """Add a member; the epoch rises if the assignor must know of it."""
        self.members[member.number] = member
        self.migrates |= member.classic
        self.targets[member.number] = NOTHING
        if member.instance is not None:
            self.static[member.instance] = member.number
        self._subscribe(member)
        # A member whose pattern has not been resolved changes nothing until `_resolve` has done that.
        if isinstance(member.topics, tuple) or member.topics in self.resolved or self._names_first(member):
            self._bump()

    def _names_first(self, member: GroupMember) -> bool:
        """Return whether only this member names an assignor, so that the group's assignor may change."""
        return member.names and not any(other.names for other in self.members.values() if other is not member)

    def _replace(self, before: GroupMember, member: GroupMember) -> None:
        """Give a static member's place, target and partitions to the new member id under which it is back."""
        del self.members[before.number]
        self.order.remove(before.number)
        self.members[member.number] = member
        assert member.instance is not None
        self.static[member.instance] = member.number
        mine = self.targets[member.number] = self.targets.pop(before.number)
        self.target[list(mine)] = member.number
        for partition in before.assigned | before.revoking:
            self.holder[partition] = member.number
        # These fields are set without `_hold`, because the partitions go from one id of a member to another,
        # and are never free.
        member.assigned, member.revoking, member.state = before.assigned, before.revoking, before.state
        # `GroupTargets` uses `replaces` to find the target that the new id takes over.
        member.replaces = before
        self._subscribe(member)
        self._unsubscribe(before)
        if member.topics != before.topics or (not before.names and self._names_first(member)):
            self._bump()

    @staticmethod
    def _join_again(member: GroupMember, now_ms: float) -> Error:
        """Ask a classic member to join again, within its rebalance timeout from the first request."""
        member.join_by_ms = min(member.join_by_ms, now_ms + member.rebalance_timeout_ms)
        return Error.REBALANCE_IN_PROGRESS

    def _answer(
        self, member: GroupMember, now_ms: float, owned: Collection[int] | None, *, full: bool
    ) -> Answer:
        """Lead a member one step towards its target, after computing a due target; return the answer.

        `owned` is as in `heartbeat`. If `full`, the answer has the partitions even if they have not changed.
        """
        if self._stale:
            self._bump()
        if self.epoch > self.target_epoch and now_ms >= self.target_ms + self.interval_ms:
            self._compute(now_ms)
        before = member.assigned
        if not self.is_reconciled(member):
            self._reconcile(member, owned, now_ms)
        answer = Answer(member.epoch, member.assigned if full or member.assigned != before else None)
        # Expressions are resolved only after the answer is made, so the topics that they match matter only to
        # the next heartbeat.
        if self._must_resolve() and now_ms > self._resolved_ms + REFRESH_MS:
            self._resolve(now_ms)
        return answer

    def _bump(self) -> None:
        """Raise the epoch, so that another target becomes due; changed topics count as noticed now."""
        self.epoch += 1
        self.noticed |= self._stale
        self._stale.clear()

    def _compute(self, now_ms: float) -> None:
        """Call the assignor for the target of the present epoch, and record for which members it differs.

        `target` is replaced as a whole. `targets` is changed for the members whose target differs; these are
        also added to `changed` and `news`.
        """
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
        # -1 stands for no member: it has the partitions that had no owner before, or have none now.
        for member in (lost.keys() | won.keys()) - {-1}:
            self.targets[member] = (self.targets[member] - lost[member]) | won[member]
            self.changed.add(member)
            self.news.add(member)
        self.target, self.target_epoch, self.target_ms = target, self.epoch, now_ms

    def _reconcile(self, member: GroupMember, owned: Collection[int] | None, now_ms: float) -> None:
        """Lead a member one step towards its target, as CurrentAssignmentBuilder does.

        `owned` are the partitions that it reports; None if it reports none.
        """
        if member.state is MemberState.UNREVOKED_PARTITIONS and (
            owned is None or not member.revoking.isdisjoint(owned)
        ):
            return
        # The member first gives up the partitions that are not in its target. Only then does it reach the
        # target's epoch, and get the partitions that are free.
        target = self.targets[member.number]
        kept = member.assigned & target
        lost = member.assigned - target
        # A member that reports none of these partitions has given them up already, or never got them. It goes
        # on at once.
        if lost and (owned is None or not lost.isdisjoint(owned)):
            member.state = MemberState.UNREVOKED_PARTITIONS
            member.move(member.epoch)
            member.deadline_ms = now_ms + member.rebalance_timeout_ms
            self._hold(member, kept, lost)
            return
        wanted = target - kept
        # Partitions that the member itself had to revoke count as free: it reports that it has none of them,
        # and no other member holds them.
        free = {
            partition for partition in wanted if self.holder[partition] < 0 or partition in member.revoking
        }
        member.state = MemberState.STABLE if len(free) == len(wanted) else MemberState.UNRELEASED_PARTITIONS
        member.move(self.target_epoch)
        member.deadline_ms = math.inf
        self._hold(member, kept | free, NOTHING)

    def _hold(self, member: GroupMember, assigned: frozenset[int], revoking: frozenset[int]) -> None:
        """Set a member's partitions, and those it must give up; its other partitions become free."""
        before = member.assigned | member.revoking
        after = assigned | revoking
        for partition in before - after:
            self.holder[partition] = -1
            # The next owner by the target may be -1; the reader of `news` ignores numbers without a member.
            self.news.add(int(self.target[partition]))
        for partition in after - before:
            self.holder[partition] = member.number
        member.assigned, member.revoking = assigned, revoking

    def _subscribe(self, member: GroupMember) -> None:
        """Count a member's subscription."""
        self.changed.add(member.number)
        self.subscriptions[member.topics] += 1
        if isinstance(member.topics, str):
            self._patterns.add(member.topics)

    def _unsubscribe(self, member: GroupMember) -> None:
        """Remove a member's subscription from the counts; drop a regular expression that no member has."""
        self.changed.add(member.number)
        self.subscriptions[member.topics] -= 1
        if not self.subscriptions[member.topics]:
            del self.subscriptions[member.topics]
            if isinstance(member.topics, str):
                self._patterns.remove(member.topics)
                self.resolved.pop(member.topics, None)
            # If no expression is left, the least time between two looks starts again, so the next expression
            # is resolved at once.
            if not self.resolved:
                self._resolved_ms = -math.inf

    def _must_resolve(self) -> bool:
        """Return whether regular expressions must be resolved at the next heartbeat that is allowed to."""
        return bool(self._patterns) and (self._new_topics or self._patterns != self.resolved.keys())

    def _resolve(self, now_ms: float) -> None:
        """Resolve regular expressions to topics.

        The coordinator does this in the background, right after a heartbeat.
        """
        resolved = {pattern: self.matching(pattern) for pattern in self._patterns}
        before, self.resolved = self.resolved, resolved
        self._resolved_ms, self._new_topics = now_ms, False
        new = {pattern for pattern, topics in resolved.items() if topics != before.get(pattern, frozenset())}
        if new:
            self.changed |= {member.number for member in self.members.values() if member.topics in new}
            self.noticed.update(*(resolved[pattern] - before.get(pattern, frozenset()) for pattern in new))
        if new or self._stale:
            self._bump()
