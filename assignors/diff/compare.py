"""Compare two states of a group."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assignors.diff.changes import Action, Change, Conflict, Flow
from assignors.diff.matching import Matching, match_members
from assignors.diff.state import GroupState
from assignors.diff.summary import Summary, needed_moves
from assignors.partition_list import PartitionList

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from assignors.assignment import Assignment
    from assignors.diff.state import MemberIdentity
    from assignors.diff.stops import Stop
    from assignors.reasons import Reason
    from partitioning.topic_partition import TopicPartition

    State = GroupState | Assignment | Mapping[str, Sequence[TopicPartition] | PartitionList]


class MemberChange(NamedTuple):
    """One member over both sides.

    Attributes:
        name: what the diff calls it: its instance id, else its client id where unique, else its member id.
        before_id: member id before, None for one that joined.
        after_id: member id after, None for one that left.
        rule: the rule by which both ids are one member.
        before: number of partitions before.
        after: number of partitions after.
        kept: partitions it had before and after.
    """

    name: str
    before_id: str | None
    after_id: str | None
    rule: str | None
    before: int
    after: int
    kept: int


@dataclass(frozen=True, eq=False)
class AssignmentDiff:
    """Two states of a group compared, one row a partition, sorted by topic and partition.

    Attributes:
        before: the first state.
        after: the second state.
        matching: how members were paired.
        members: every member of either side, in natural order of their names.
        topics: topic names, sorted.
        topic: index into `topics` of each row.
        partition: partition number of each row.
        action: an `Action` of each row.
        source: index into `members` of the owner before, -1 for nobody.
        target: index into `members` of the owner after, -1 for nobody.
        lag: records waiting, -1 where unknown; None where no side knows any.
        conflicts: partitions with two owners.
        summary: the diff in numbers.
    """

    before: GroupState
    after: GroupState
    matching: Matching
    members: tuple[MemberChange, ...]
    topics: tuple[str, ...]
    topic: NDArray[np.int32]
    partition: NDArray[np.int32]
    action: NDArray[np.int8]
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    lag: NDArray[np.int64] | None
    conflicts: tuple[Conflict, ...]
    summary: Summary

    @property
    def same(self) -> bool:
        """Whether nothing changed; a member under a new id is the same member."""
        joined_or_left = self.summary.members_joined + self.summary.members_left
        return not joined_or_left and not self.action.any()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before believing the numbers."""
        return tuple(dict.fromkeys((*self.before.warnings, *self.after.warnings)))

    @property
    def assumed(self) -> tuple[str, ...]:
        """What was taken for granted because no source tells."""
        return tuple(dict.fromkeys((*self.before.assumed, *self.after.assumed)))

    @cached_property
    def stops(self) -> tuple[Stop, ...]:
        """What the change costs, by what happens and by protocol; nothing where it stops nobody."""
        return ()

    def changes(self, *, every: bool = False) -> Iterator[Change]:
        """The rows as objects: those that changed, or all.

        A planned side after gives each its reason; the first row then waits until all reasons are known.
        """
        rows = np.arange(len(self.action)) if every else np.flatnonzero(self.action)
        names = [*(member.name for member in self.members), None]
        lags = [-1] * len(rows) if self.lag is None else self.lag[rows].tolist()
        for topic, partition, action, source, target, lag in zip(
            self.topic[rows].tolist(),
            self.partition[rows].tolist(),
            self.action[rows].tolist(),
            self.source[rows].tolist(),
            self.target[rows].tolist(),
            lags,
            strict=True,
        ):
            yield Change(
                self.topics[topic],
                partition,
                Action(action),
                names[source],
                names[target],
                None if lag < 0 else lag,
                self._reason(self.topics[topic], partition),
            )

    @cached_property
    def flows(self) -> tuple[Flow, ...]:
        """Partitions that changed owners, by pair of members, in member order; nobody comes last."""
        rows = np.flatnonzero((self.action != Action.KEEP) & (self.source != self.target))
        if len(rows) == 0:
            return ()
        nobody = len(self.members)
        source, target = (np.where(side[rows] < 0, nobody, side[rows]) for side in (self.source, self.target))
        pair = source.astype(np.int64) * (nobody + 1) + target
        order = np.argsort(pair, kind="stable")
        pairs, starts = np.unique(pair[order], return_index=True)
        names = [*(member.name for member in self.members), None]
        return tuple(
            Flow(
                names[int(each) // (nobody + 1)],
                names[int(each) % (nobody + 1)],
                PartitionList(self.topics, self.topic[chosen], self.partition[chosen]),
            )
            for each, chosen in zip(pairs, np.split(rows[order], starts[1:]), strict=True)
        )

    @cached_property
    def flows_by_reason(self) -> tuple[Flow, ...]:
        """The flows, those of one pair of members apart by what set their partitions in motion."""
        told = []
        for flow in self.flows:
            by_reason: dict[Reason | None, list[TopicPartition]] = {}
            for partition in flow.partitions:
                by_reason.setdefault(self._reason(*partition), []).append(partition)
            told += [
                Flow(flow.source, flow.target, PartitionList.of(partitions), reason)
                for reason, partitions in by_reason.items()
            ]
        return tuple(told)

    def _reason(self, topic: str, partition: int) -> Reason | None:
        explainer = self.after.explainer
        return None if explainer is None else explainer.explain((topic, partition)).cause


class _Side(NamedTuple):
    """A state with one row for each partition of the diff."""

    here: NDArray[np.bool_]
    owner: NDArray[np.int32]
    second: NDArray[np.int32]
    lag: NDArray[np.int64] | None


def diff(before: State, after: State, *, match: str = "auto") -> AssignmentDiff:
    """What changes from one assignment of a group to another; a million partitions take half a second.

    Args:
        before: an `Assignment`, a mapping from member id to partitions, or a `GroupState`.
        after: the same, later.
        match: how members are paired, see `match_members`.

    Raises:
        DiffError: the members cannot be paired as asked.
    """
    old, new = GroupState.of(before), GroupState.of(after)
    topics = tuple(sorted({*old.topics, *new.topics}))
    keys = [_keys(state, topics) for state in (old, new)]
    key, row = np.unique(np.concatenate(keys), return_inverse=True)
    sides = [
        _spread(state, rows, len(key))
        for state, rows in zip((old, new), np.split(row, [len(keys[0])]), strict=True)
    ]
    matching = match_members(old.members, new.members, sides[0].owner, sides[1].owner, match)
    joined = sorted(set(range(len(new.members))).difference(matching.after_of))
    identities: list[tuple[int, int]] = [*enumerate(matching.after_of), *((-1, index) for index in joined)]
    names = _names(identities, old.members, new.members)
    order = sorted(range(len(identities)), key=lambda index: _natural(names[index]))
    # The last element serves index -1, nobody.
    of_old, of_new = np.full(len(old.members) + 1, -1, np.int32), np.full(len(new.members) + 1, -1, np.int32)
    for place, index in enumerate(order):
        one, other = identities[index]
        if one >= 0:
            of_old[one] = place
        if other >= 0:
            of_new[other] = place

    source, target = of_old[sides[0].owner], of_new[sides[1].owner]
    action = _actions(sides, source, target, complete=(old.complete, new.complete))
    counts = [np.bincount(side[side >= 0], minlength=len(order)) for side in (source, target)]
    kept = np.bincount(source[(action == Action.KEEP) & (source >= 0)], minlength=len(order))
    members = tuple(
        MemberChange(
            names[index],
            old.members[one].id if one >= 0 else None,
            new.members[other].id if other >= 0 else None,
            matching.rule_of[one] if one >= 0 else None,
            int(counts[0][place]),
            int(counts[1][place]),
            int(kept[place]),
        )
        for place, (index, (one, other)) in enumerate((index, identities[index]) for index in order)
    )
    topic, partition = np.divmod(key, 2**32)
    lag = sides[0].lag if sides[1].lag is None else sides[1].lag
    return AssignmentDiff(
        before=old,
        after=new,
        matching=matching,
        members=members,
        topics=topics,
        topic=topic.astype(np.int32),
        partition=partition.astype(np.int32),
        action=action,
        source=source,
        target=target,
        lag=lag,
        conflicts=tuple(
            Conflict(
                topics[topic[index]],
                int(partition[index]),
                _owners(names, order, of_old, sides[0], index),
                _owners(names, order, of_new, sides[1], index),
            )
            for index in np.flatnonzero(action == Action.CONFLICT).tolist()
        ),
        summary=_summary(members, action, source, target, lag),
    )


def _keys(state: GroupState, topics: tuple[str, ...]) -> NDArray[np.int64]:
    number = {name: index for index, name in enumerate(topics)}
    numbers = np.array([number[name] for name in state.topics], np.int64)
    return numbers[state.topic] * 2**32 + state.partition


def _spread(state: GroupState, rows: NDArray[np.intp], partitions: int) -> _Side:
    here = np.zeros(partitions, np.bool_)
    here[rows] = True
    owned = state.member >= 0
    nobody = len(state.members)
    lowest = np.full(partitions, nobody, np.int32)
    highest = np.full(partitions, -1, np.int32)
    np.minimum.at(lowest, rows[owned], state.member[owned])
    np.maximum.at(highest, rows[owned], state.member[owned])
    owner = np.where(highest < 0, -1, lowest).astype(np.int32)
    lag = None
    if state.lag is not None:
        lag = np.full(partitions, -1, np.int64)
        np.maximum.at(lag, rows, state.lag)
    return _Side(here, owner, np.where(highest != owner, highest, -1).astype(np.int32), lag)


def _actions(
    sides: list[_Side], source: NDArray[np.int32], target: NDArray[np.int32], *, complete: tuple[bool, bool]
) -> NDArray[np.int8]:
    old, new = sides
    # On a side that lists everything, a partition without a row does not exist.
    absent = (complete[0] & ~old.here, complete[1] & ~new.here)
    return np.select(
        [
            (old.second >= 0) | (new.second >= 0),
            absent[0],
            absent[1],
            source == target,
            source < 0,
            target < 0,
        ],
        [Action.CONFLICT, Action.ADDED, Action.REMOVED, Action.KEEP, Action.ASSIGN, Action.UNASSIGN],
        Action.MOVE,
    ).astype(np.int8)


def _summary(
    members: tuple[MemberChange, ...],
    action: NDArray[np.int8],
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    lag: NDArray[np.int64] | None,
) -> Summary:
    times = np.bincount(action, minlength=len(Action)).tolist()
    before = [member.before for member in members if member.before_id is not None]
    after = [member.after for member in members if member.after_id is not None]
    movable = ((action == Action.KEEP) | (action == Action.MOVE)) & (source >= 0) & (target >= 0)
    had = np.bincount(source[movable], minlength=len(members))
    stays = np.array([member.after_id is not None for member in members], np.bool_)
    loads = np.array(after, np.int64)
    moved, owned_twice = times[Action.MOVE], int(np.count_nonzero(movable))
    needed = needed_moves(had[stays], loads, owned_twice)
    known = None if lag is None else lag[(action == Action.MOVE) & (lag >= 0)]
    return Summary(
        members_before=len(before),
        members_after=len(after),
        members_joined=sum(member.before_id is None for member in members),
        members_left=sum(member.after_id is None for member in members),
        idle_before=before.count(0),
        idle_after=after.count(0),
        partitions=len(action),
        kept=owned_twice - moved,
        moved=moved,
        moved_pct=100 * moved / max(1, len(action)),
        assigned=times[Action.ASSIGN],
        unassigned=times[Action.UNASSIGN],
        added=times[Action.ADDED],
        removed=times[Action.REMOVED],
        conflicts=times[Action.CONFLICT],
        unowned=int(np.count_nonzero((target < 0) & (action != Action.REMOVED))),
        needed_moves=needed,
        avoidable_moves=moved - needed,
        spread_before=max(before, default=0) - min(before, default=0),
        spread_after=max(after, default=0) - min(after, default=0),
        stickiness=1 - moved / max(1, owned_twice),
        lag_moved=None if known is None else int(known.sum()),
    )


def _names(
    identities: list[tuple[int, int]], before: tuple[MemberIdentity, ...], after: tuple[MemberIdentity, ...]
) -> list[str]:
    """What each member is called: short where that is unique, never the same for two."""
    clients = [Counter(member.client_id for member in side) for side in (before, after)]

    def short(one: int, other: int) -> str:
        member, times = (after[other], clients[1]) if other >= 0 else (before[one], clients[0])
        if member.instance_id:
            return member.instance_id
        return member.client_id if member.client_id and times[member.client_id] == 1 else member.id

    names = [short(*identity) for identity in identities]
    times = Counter(names)
    for index, (one, other) in enumerate(identities):
        if times[names[index]] > 1:
            names[index] = after[other].id if other >= 0 else before[one].id
    times = Counter(names)
    return [
        f"{name} ({'before' if other < 0 else 'after'})" if times[name] > 1 else name
        for name, (_, other) in zip(names, identities, strict=True)
    ]


def _natural(name: str) -> list[tuple[int, str]]:
    """worker-9 before worker-10: of two numbers the longer one is the greater, whatever their length."""
    parts = re.split(r"([0-9]+)", name)
    parts[1::2] = [number.lstrip("0") for number in parts[1::2]]
    return [(len(part) if place % 2 else -1, part) for place, part in enumerate(parts)]


def _owners(
    names: list[str], order: list[int], place_of: NDArray[np.int32], side: _Side, index: int
) -> tuple[str, ...]:
    owners = (int(side.owner[index]), int(side.second[index]))
    return tuple(names[order[place_of[owner]]] for owner in owners if owner >= 0)
