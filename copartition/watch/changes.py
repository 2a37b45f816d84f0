"""Look at a group again and again, and find the changes from one step to the next.

A step is a look at which the group was not as before, or at which the ends of partitions were read. Times and
lengths of time are in seconds; points in time count from 1970.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple, TypeVar

import numpy as np

from assignors.partition_list import NOTHING, PartitionList
from assignors.state import GroupState, MemberIdentity
from copartition.assignment_diff.changes import Flow
from copartition.assignment_diff.compare import diff
from copartition.groups.kinds.model import ShareGroupState, StreamsGroupState
from copartition.groups.names import Names
from copartition.groups.snapshot import RecordStep
from copartition.kit.words import natural
from partitioning.errors import OtherGroupKindError, SourceError
from partitioning.topic_partition import TopicPartition

Reading = tuple[GroupState, GroupState | None]
"""A group's state at a look, and the target assignment that it moves to, if it has one (KIP-848)."""
ENDS_S = 600.0
"""Seconds after which ends of partitions are read again, even if the group has not changed.

Rates are computed from the ends.
"""
ROLES = ("partitions", "active", "standby", "warmup")
"""The roles in which a member has something: "partitions" in a share group, the others in a Streams group.

A role is the name of the attribute of a member in `kinds.model` that lists its partitions or tasks.
"""
_DOING = {"partitions", "active"}
"""The roles in which a member processes records; in the others it keeps copies of state."""
_T = TypeVar("_T")


def _steady_clock() -> Callable[[], float]:
    """Return a clock in seconds since 1970 that goes on steadily even if somebody sets the machine's clock.

    By the machine's clock itself, a duration could then be wrong by an hour.
    """
    # The machine's clock is read only once, for the start.
    offset = time.time() - time.monotonic()
    return lambda: offset + time.monotonic()


class Trouble(NamedTuple):
    """Tells that a part of the group cannot be read at the moment, or can be read again.

    Attributes:
        away: True if the group itself could not be read; False if only its offsets could not be read.
        since: when the group was last read, in seconds since 1970.
        why: the error; None if the part can be read again.
    """

    away: bool
    since: float
    why: str | None


@dataclass(eq=False)
class Looks:
    """Looks at a group again and again, until `for_s` or `count` ends it, and yields a step for each change.

    The first look must succeed. If a later look fails, the next one follows as usual. An error that repeats
    is reported once until a look succeeds. Without `for_s` and `count` the looks never end.

    Attributes:
        read: returns the group; the same object as before if nothing has changed.
        interval_s: seconds from the beginning of one look to the beginning of the next.
        for_s: seconds after which no further look begins; None for no limit.
        count: number of looks; None for no limit.
        ends: reads the ends of partitions. If it is given, each step has the ends, and there is a step at
            least every `ENDS_S` seconds, even if nothing else has changed.
        committed: reads the committed offsets whenever ends are read.
        tell: called with each `Trouble` once, and with another one when it is over.
        clock: returns the time in seconds since 1970.
        sleep: waits for a number of seconds.
        begun: the time at which the first look was answered; 0 before that.
        ended: the time at which the last look was answered; 0 before that.
        blind_s: the longest time from one look to the answer of the next one. A change that began and ended
            within this time may not have been seen.
    """

    read: Callable[[], Reading]
    _: KW_ONLY
    interval_s: float
    for_s: float | None = None
    count: int | None = None
    ends: Callable[[], dict[str, dict[int, int]]] | None = None
    committed: Callable[[], dict[str, dict[int, int]]] | None = None
    tell: Callable[[Trouble], None]
    clock: Callable[[], float] = field(default_factory=_steady_clock)
    sleep: Callable[[float], None] = time.sleep
    begun: float = field(default=0, init=False)
    ended: float = field(default=0, init=False)
    blind_s: float = field(default=0, init=False)
    _reported: dict[bool, set[str]] = field(default_factory=lambda: {True: set(), False: set()}, init=False)

    def __iter__(self) -> Iterator[RecordStep]:
        """Yield the steps. A look that shows no change yields no step, unless it is time to read the ends.

        Raises:
            SourceError: the first look failed.
        """
        latest: Reading | None = None
        ends_s = 0.0
        since: float | None = None
        tried = 0
        start = self.clock()
        while True:
            # An answer may be as old as its question, so a change may have happened right after the earlier
            # question. Therefore `since` is the time of a question and not of its answer.
            asked_s = self.clock()
            reading = self._look(self.read, away=True, required=latest is None)
            tried += 1
            if reading is not None:
                self.begun = self.begun or self.ended
                self.blind_s = max(self.blind_s, self.ended - (asked_s if since is None else since))
                if reading is not latest or (self.ends and self.ended >= ends_s + ENDS_S):
                    # Commits are read before ends, so that no commit is beyond its partition's end.
                    committed = self._look(self.committed, away=False) if self.committed else None
                    ends = self._look(self.ends, away=False, required=latest is None) if self.ends else None
                    ends_s = self.ended
                    yield RecordStep(self.ended, since, *reading, ends, committed)
                # The answer is no older than its question, so a later change began after `asked_s`.
                latest, since = reading, asked_s
            wait_s = max(asked_s + self.interval_s - self.clock(), 0)
            last = tried == self.count
            if last or (self.for_s is not None and self.clock() + wait_s > start + self.for_s):
                return
            self.sleep(wait_s)

    def _look(self, read: Callable[[], _T], *, away: bool, required: bool = False) -> _T | None:
        """Return the result of `read`; None if it fails, after telling the error to `tell` if it is new.

        Args:
            read: reads the group, its ends, or its committed offsets.
            away: True if `read` reads the group itself, so that its success counts as an answer.
            required: True to raise the error, because there is nothing to show yet.

        Raises:
            SourceError: `read` failed, and `required` is True or the group is of a kind that it cannot read.
        """
        reported = self._reported[away]
        try:
            reading = read()
        except SourceError as error:
            # A group of the wrong kind stays so, and another look would not help. Other errors may pass,
            # because a broker may come back.
            if required or isinstance(error, OtherGroupKindError):
                raise
            if str(error) not in reported:
                reported.add(str(error))
                self.tell(Trouble(away, self.ended, str(error)))
            return None
        last, now = self.ended, self.clock()
        if away:
            self.ended = now
        # The first look that succeeds ends all troubles of this kind.
        if reported:
            reported.clear()
            self.tell(Trouble(away, last, None))
        return reading


_HIDING = {"PreparingRebalance", "CompletingRebalance"}
"""States in which the coordinator of a classic group tells the members, but not their partitions."""

_SETTLED = {"Stable", "Empty", "Dead"}
"""The states in which no rebalance is under way."""


class ChangeKind(StrEnum):
    """The kind of a change."""

    STATE = "state"
    """The group's state has changed. If it is settled again, the change tells how long it was unsettled."""
    STRATEGY = "strategy"
    """The group has another assignor."""
    JOINED = "joined"
    """A member is in the group that was not there before."""
    LEFT = "left"
    """A member has left the group: it closed, or its session timed out."""
    RESTARTED = "restarted"
    """A member is back under a new member id."""
    GREW = "grew"
    """A topic has more partitions than before."""
    MOVED = "moved"
    """Partitions have another owner, or none; in a share or Streams group, a member got or lost some."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupChange:
    """One change of a group between two steps."""

    at: float  # when the change was seen, seconds since 1970
    step: int  # the number of the step that showed it
    kind: ChangeKind
    state: GroupState | ShareGroupState | StreamsGroupState  # the group's state at this step
    name: str | None = None  # the member or the topic that changed
    before: str | int | None = None  # the former state, strategy, or number of partitions
    after: str | int | None = None
    source: str | None = None  # the owner before, None for no owner
    target: str | None = None  # the owner now, None for no owner
    # The partitions that moved, or the tasks in a Streams group.
    partitions: PartitionList = field(default_factory=lambda: NOTHING)
    role: str | None = None  # the member's role in a share or Streams group, one of `ROLES`
    # The shortest time for which the partitions can have had no owner, or the group not have been settled.
    # None if it is 0 or unknown.
    least_s: float | None = None
    # The longest such time. Looks show only these two bounds. None if the time began before the first look.
    most_s: float | None = None


class _Spell(NamedTuple):
    """Holds a time in which a partition has no owner, or the group is not settled, until a step ends it.

    Attributes:
        owner: the partition's owner before this time; None if it had none, and for a group.
        until: when a look last showed the partition with `owner`, or the group as settled, in seconds since
            1970; None if no look did.
        first: when a step first showed that this was no longer so, in seconds since 1970.
    """

    owner: str | None
    until: float | None
    first: float

    def lengths(self, step: RecordStep) -> tuple[float | None, float | None]:
        """Return the length of the spell in seconds, as (least, most), if this step ends it.

        A bound is None if it is unknown; the least one also if it is 0.
        """
        least = None if step.since is None else max(step.since - self.first, 0)
        return least or None, None if self.until is None else step.at - self.until


class Watch:
    """Follows a group; the same steps give the same changes.

    During a rebalance of a classic group, the coordinator does not tell which member has which partitions.
    Until the rebalance ends, members that are still in the group are taken to have the partitions that they
    had. But they may have given them up as soon as the rebalance began. So the longest time for which a
    partition can have had no owner begins when its owner was last shown.

    Attributes:
        _steps: the number of the last step; -1 before the first.
        _names: stable names of members, which outlive their ids.
        _ids: name of a member of the last step -> its member id.
        _state: the group at the last step.
        _owned: the owners as far as they are known, with names in place of ids; None before the first step
            that shows them.
        _held: (role, name) -> the partitions that a member of a share group has, or the tasks that a member
            of a Streams group has, with the id of a subtopology in place of the topic. None for other groups.
        _shown_until: when a look last showed the owners in `_owned`, in seconds since 1970.
        _free: partition or task without an owner -> since when it has none.
        _unsettled: since when the group is not settled; None while it is.
    """

    def __init__(self) -> None:
        self._steps = -1
        self._names = Names()
        self._ids: dict[str, str] = {}
        self._state: GroupState | ShareGroupState | StreamsGroupState | None = None
        self._owned: GroupState | None = None
        self._held: dict[tuple[str, str], set[TopicPartition]] | None = None
        self._shown_until: float | None = None
        self._free: dict[TopicPartition, _Spell] = {}
        self._unsettled: _Spell | None = None

    def see(self, step: RecordStep) -> list[GroupChange]:
        """Return the changes that the step shows; the first step gives the group's state as a change.

        Args:
            step: the next step; steps are given once each, in the order of time.

        Returns:
            The state first, then members, then partitions that were added or moved.
        """
        self._steps += 1
        # Names come first: members, owners and changes are told by name, because a restart gives a member a
        # new id.
        names = self._names.of(step.state.members or ())
        # The changes are found before `_ids` and `_state` are replaced, because they compare with the step
        # before.
        changes = [
            *self._status(step),
            *self._members(step, names),
            *self._partitions(step, names),
        ]
        self._ids = dict(zip(names, (member.id for member in step.state.members or ()), strict=True))
        self._state = step.state
        return changes

    def _change(self, step: RecordStep, kind: ChangeKind, **what: object) -> GroupChange:
        """Return a change of this step; `what` are the other attributes of `GroupChange`."""
        return replace(GroupChange(step.at, self._steps, kind, step.state), **what)  # type: ignore[arg-type]

    def _status(self, step: RecordStep) -> Iterator[GroupChange]:
        """Yield a change of the group's state, and one of its assignor, if there are any."""
        status, old = step.state.status, self._state
        if old is None or status != old.status:
            least = most = None
            if status not in _SETTLED:
                # A group may go through several unsettled states in a row; the spell begins with the first of
                # them.
                self._unsettled = self._unsettled or _Spell(None, step.since, step.at)
            elif self._unsettled is not None:
                least, most = self._unsettled.lengths(step)
                self._unsettled = None
            before = None if old is None else old.status
            yield self._change(
                step, ChangeKind.STATE, before=before, after=status, least_s=least, most_s=most
            )
        strategy = None if old is None else old.strategy
        # A group that rebalances has no assignor for a moment, which is no change.
        if strategy is not None and step.state.strategy not in {None, strategy}:
            yield self._change(step, ChangeKind.STRATEGY, before=strategy, after=step.state.strategy)

    def _members(self, step: RecordStep, names: list[str]) -> Iterator[GroupChange]:
        """Yield the members that came, went, or have a new member id; members that left come last."""
        if self._state is None:
            return
        for name, member in zip(names, step.state.members or (), strict=True):
            if name not in self._ids:
                yield self._change(step, ChangeKind.JOINED, name=name)
            elif self._ids[name] != member.id:
                # Looks do not show how long the member was away. The coordinator goes on listing a member
                # that is gone until the member's session ends.
                yield self._change(step, ChangeKind.RESTARTED, name=name)
        for name in sorted(self._ids.keys() - {*names}, key=natural):
            yield self._change(step, ChangeKind.LEFT, name=name)

    def _partitions(self, step: RecordStep, names: list[str]) -> Iterator[GroupChange]:
        """Yield topics that grew and partitions that moved, and keep the owners of this step for the next."""
        state = step.state
        if self._held is not None or not isinstance(state, GroupState):
            yield from self._shares(step, names)
            return
        if self._state is not None and self._state.status not in _HIDING:
            self._shown_until = step.since
        if state.status in _HIDING:
            if self._owned is None:
                return
            # A member with an unchanged id has not left since, so it still has its partitions. A static
            # member keeps its partitions, too, and may have a new id (KIP-345).
            here = {
                name
                for name, member in zip(names, state.members, strict=True)
                if self._ids.get(name) == member.id or member.instance_id
            }
            owned = self._owned
            stays = np.array([*(member.id in here for member in owned.members), False])
            now = replace(owned, member=np.where(stays[owned.member], owned.member, -1).astype(np.int32))
        else:
            now = replace(state, members=tuple(map(MemberIdentity, names)))
        before, self._owned = self._owned, now
        if before is None:
            # A partition without an owner at the first step may have had none for any time, so no length is
            # known.
            nobodys = now.member < 0
            free = PartitionList(now.topics, now.topic[nobodys], now.partition[nobodys])
            self._free = dict.fromkeys(free, _Spell(None, None, step.at))
            return
        yield from self._growth(step, before, now)
        for flow in diff(before, now, match="member-id").flows:
            yield from self._flow(step, flow)

    def _shares(self, step: RecordStep, names: list[str]) -> Iterator[GroupChange]:
        """Yield the partitions or tasks that members of a share or Streams group got or lost, losses first.

        Several members may have one partition of a share group, and standby tasks are copies. So only the
        time in which no member at all had a partition of a share group, or an active task, is measured. If
        it passes from one member to another between two looks, that time is at most the time since the
        earlier look. If any member had it at both looks, there was no such time.
        """
        now = {
            (role, name): {TopicPartition(topic, number) for topic in held for number in held[topic]}
            for name, member in zip(names, step.state.members or (), strict=True)
            for role in ROLES
            if (held := getattr(member, role, None))
        }
        before, self._held = self._held, now
        if before is None:
            return
        had, have = (
            {place for key in held if key[0] in _DOING for place in held[key]} for held in (before, now)
        )
        both = [key for key in before.keys() & now.keys() if key[0] in _DOING]
        kept = {place for key in both for place in before[key] & now[key]}
        # A partition that passes from one member to another between two looks may have had no owner in
        # between.
        passed = dict.fromkeys(had - kept, _Spell(None, step.since, step.at))
        self._free |= {place: passed[place] for place in had - have}
        for (role, name), places in before.items():
            if lost := places - now.get((role, name), set()):
                yield self._change(
                    step, ChangeKind.MOVED, role=role, source=name, partitions=PartitionList.of(sorted(lost))
                )
        for (role, name), places in now.items():
            gained = sorted(places - before.get((role, name), set()))
            timed = role in _DOING
            spells = [self._free.get(place, passed.get(place)) if timed else None for place in gained]
            yield from self._taken_over(step, zip(gained, spells, strict=True), role=role, target=name)
        self._free = {place: self._free[place] for place in self._free.keys() - have}

    def _growth(self, step: RecordStep, before: GroupState, now: GroupState) -> Iterator[GroupChange]:
        """Yield the topics that have more partitions than before; nothing if a state lacks partitions."""
        if not (before.complete and now.complete):
            return
        old, new = before.counts_by_topic, now.counts_by_topic
        for topic in old.keys() & new.keys():
            if old[topic] < new[topic]:
                yield self._change(step, ChangeKind.GREW, name=topic, before=old[topic], after=new[topic])

    def _flow(self, step: RecordStep, flow: Flow) -> Iterator[GroupChange]:
        """Yield the changes of a flow: one for each former owner and time without an owner."""
        if flow.target is None:
            spell = _Spell(flow.source, self._shown_until, step.at)
            # The spell of these partitions goes on, through any number of steps, until a member takes them
            # over.
            self._free.update(dict.fromkeys(flow.partitions, spell))
            yield self._change(step, ChangeKind.MOVED, source=flow.source, partitions=flow.partitions)
            return
        # A new partition has no former owner, and looks do not show since when the partition exists.
        handover = _Spell(flow.source, None if flow.source is None else self._shown_until, step.at)
        ended = ((partition, self._free.pop(partition, handover)) for partition in flow.partitions)
        yield from self._taken_over(step, ended, target=flow.target)

    def _taken_over(
        self, step: RecordStep, ended: Iterable[tuple[TopicPartition, _Spell | None]], **what: object
    ) -> Iterator[GroupChange]:
        """Yield the changes of partitions that one member got: one for each spell that they end.

        Args:
            step: the step that shows it.
            ended: pairs of a partition or task and the time in which it had no owner, None if unknown.
            what: the other attributes of `GroupChange`; `target` is the member.
        """
        by_spell: dict[_Spell | None, list[TopicPartition]] = {}
        for partition, spell in ended:
            by_spell.setdefault(spell, []).append(partition)
        for spell, partitions in by_spell.items():
            # Without a spell neither a former owner nor a length is known.
            owner, lengths = (None, (None, None)) if spell is None else (spell.owner, spell.lengths(step))
            yield self._change(
                step,
                ChangeKind.MOVED,
                source=owner,
                partitions=PartitionList.of(partitions),
                least_s=lengths[0],
                most_s=lengths[1],
                **what,
            )
