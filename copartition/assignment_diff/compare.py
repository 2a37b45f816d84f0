"""Compare two states of a group.

Index spaces: a row is a partition that either side knows, sorted by topic and number. A place is the index of
a member in `AssignmentDiff.members`. A number is the index of a member in its own side's state. A place or
number of -1 stands for nobody. Arrays that translate numbers into places end with one more element, which is
-1, so that index -1 gives -1.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assignors.assignment import Assignment
from assignors.interface import Reason
from assignors.optimal.quality import AssignmentQuality
from assignors.partition_list import PartitionList
from assignors.registry import protocol_of
from assignors.state import CONNECT, UNKNOWN_LAG, GroupState
from assignors.weighted.weights import GivenWeights, weights_of
from copartition.assignment_diff.changes import (
    Action,
    Change,
    Conflict,
    Flow,
    Identity,
    Matching,
    MemberChange,
    Presence,
    match_members,
    order_members,
)
from copartition.assignment_diff.needed import (
    CO_PARTITIONED,
    Columns,
    NeededMoves,
    balance_of,
    certificate_of,
    find_needed,
)
from copartition.assignment_diff.summary import Summary, summarize
from copartition.deploys.answer import Stops
from copartition.deploys.pace import Pace
from copartition.kit.evidence import Missing
from copartition.kit.words import first_of
from partitioning.errors import UnknownStrategyError
from partitioning.topic_partition import TopicPartition

State = GroupState | Assignment | Mapping[str, Sequence[TopicPartition] | PartitionList]
"""The forms in which a side of a diff can be given."""


_BY_CHANCE = {"roundrobin", "sticky", "cooperative-sticky", "uniform"}
"""Kafka's strategies that give partitions with equal numbers to one member only by chance."""

_LISTED = 5
"""The most members or topics that a remark names."""


@dataclass(frozen=True, eq=False)
class AssignmentDiff:
    """Two states of a group compared, one row a partition, sorted by topic and partition.

    >>> change = diff({"a": [("orders", 0), ("orders", 1)]}, {"a": [("orders", 0)], "b": [("orders", 1)]})
    >>> [member.name for member in change.members], change.source.tolist(), change.target.tolist()
    (['a', 'b'], [0, 0], [0, 1])

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
        lag: records that wait in each row, `UNKNOWN_LAG` if unknown; None if neither side shows any lag.
        conflicts: partitions with two owners.
        summary: the diff in numbers.
        pace: the timeouts, costs and times of a deploy that `stops` depends on.
        alone: True if both sides are the same state; then reports judge only how even its loads are.
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
    pace: Pace = field(default_factory=Pace)
    alone: bool = False

    @cached_property
    def balance(self) -> AssignmentQuality | None:
        """The loads of the members of a single state, and the most even loads that are possible.

        None if the diff has two sides, or if a partition has two owners.
        """
        return balance_of(self.after) if self.alone else None

    @property
    def same(self) -> bool:
        """True if nothing changed.

        A member with a new id is no change if its instance id, client id or host shows that it is the same
        member. It is a change if only the partitions of the member show that (`Matching.renames`).
        """
        came_or_went = any(member.presence in {Presence.JOINED, Presence.LEFT} for member in self.members)
        return not (came_or_went or self.matching.renames or self.action.any())

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences to read before believing the numbers, each once.

        If the side before is a plan, its warnings are left out. They say how the plan would be carried out,
        which is over when the plan is compared with the group.
        """
        before = () if self.before.status == "planned" else self.before.warnings
        return tuple(dict.fromkeys((*before, *self.after.warnings)))

    @cached_property
    def separated(self) -> tuple[tuple[str, ...], ...]:
        """Groups of topics that were read together by partition number before and no longer are after.

        In such a group, one member had partition n of every topic, for each n. Empty if the strategy before
        is one of Kafka's that does not aim at this.
        """
        # If the topics were read together by chance, a report must not blame the plan for ending this.
        if self.before.strategy in _BY_CHANCE:
            return ()
        after = self._owners_by_topic(self.target, Action.REMOVED)
        return tuple(
            tuple(self.topics[topic] for topic in topics)
            for topics in self._read_together
            if len({after[topic].tobytes() for topic in topics}) > 1
        )

    @property
    def not_kept(self) -> tuple[tuple[str, ...], ...]:
        """Groups of topics that are still read together, under a new strategy that does not aim at this."""
        together = {*CO_PARTITIONED.values()}
        if not self.new_strategy or self.before.strategy not in together or self.after.strategy in together:
            return ()
        groups = (tuple(self.topics[topic] for topic in topics) for topics in self._read_together)
        return tuple(names for names in groups if names not in self.separated)

    @cached_property
    def _read_together(self) -> list[list[int]]:
        """Groups of topics that were read together before, as indices into `topics`.

        Topics with a single owner do not count: one member that has all partitions proves nothing.
        """
        together: dict[bytes, list[int]] = {}
        for topic, owners in enumerate(self._owners_by_topic(self.source, Action.ADDED)):
            if len(np.unique(owners)) > 1 and (owners >= 0).all():
                # Topics with equal columns of owners are read together by number; their bytes are the key.
                together.setdefault(owners.tobytes(), []).append(topic)
        return [topics for topics in together.values() if len(topics) > 1]

    def _owners_by_topic(self, owner: NDArray[np.int32], missing: Action) -> Sequence[NDArray[np.int32]]:
        """Return the owners of each topic's partitions in the order of their numbers, on one side.

        Args:
            owner: place of the owner of each row, on this side.
            missing: the action of the rows that this side does not have.
        """
        there = self.action != missing
        ends = np.searchsorted(self.topic[there], np.arange(1, len(self.topics)))
        return np.split(owner[there], ends)

    @property
    def assumed(self) -> tuple[str, ...]:
        """Sentences about everything that the diff assumes because no source tells it.

        No sentence is repeated. Those of the two sides come first.
        """
        ids, later = (
            dict(zip(side.topics, side.topic_ids, strict=False)) for side in (self.before, self.after)
        )
        # If the id of a topic has changed, the topic was deleted, and another one was created with its name.
        anew = sorted(name for name, id_ in ids.items() if id_ and later.get(name) not in {None, id_})
        sentences = []
        if anew:
            which = first_of(anew, _LISTED)
            sentences.append(f"{which} deleted and made anew in between; partitions are compared by number")
        if self.before.name and self.after.name and self.before.name != self.after.name:
            sentences.append(
                f"{self.before.name!r} before and {self.after.name!r} after are taken for one group"
            )
        for side, presence in (("before", Presence.UNKNOWN_BEFORE), ("after", Presence.UNKNOWN_AFTER)):
            names = [member.name for member in self.members if member.presence is presence]
            if names:
                sentences.append(
                    f"not all members {side} are known; {first_of(names, _LISTED)} taken to be there without "
                    "partitions"
                )
        return tuple(dict.fromkeys((*self.before.assumed, *self.after.assumed, *sentences)))

    @cached_property
    def stops(self) -> tuple[Stops, ...] | Missing:
        """The costs of the change in the simulator; the first item is the change as it is planned.

        If members left without a deploy, a second item is the same change with a crash of these members.
        There is no item if nothing happens to the group, and `Missing` if the simulator cannot tell.
        """
        from copartition.assignment_diff.happenings import find_stops  # noqa: PLC0415 - few diffs need the simulator

        return find_stops(self)

    @property
    def protocols(self) -> tuple[str, ...]:
        """The rebalance protocols that the group may have; a single one if a side or its strategy tells it.

        The later side is asked first. Empty for Kafka Connect, which has other protocols.
        """
        sides = (self.after, self.before)
        kinds = {side.protocol for side in sides}
        if CONNECT in kinds:
            return ()
        # The later side is asked first, because it shows the protocol that the group has now.
        own = next(filter(None, map(_protocol_of, sides)), None)
        if own is not None:
            return (own,)
        return ("eager", "cooperative") if "classic" in kinds else ("eager", "cooperative", "consumer")

    @property
    def new_strategy(self) -> bool:
        """True if the plan has another strategy than the group, so that every member has to restart."""
        own, planned = self.before.strategy, self.after.strategy
        return self.after.status == "planned" and own is not None and own != planned

    def changes(self, *, every: bool = False) -> Iterator[Change]:
        """Yield the rows as objects, in order: only changed ones, or all with `every`.

        If the side after is a plan, each row has the reason for its change. The first row then takes long,
        because the assignor decides the whole group once more to find the reasons.
        """
        rows = np.arange(len(self.action)) if every else np.flatnonzero(self.action)
        names = [*(member.name for member in self.members), None]
        lags = [UNKNOWN_LAG] * len(rows) if self.lag is None else self.lag[rows].tolist()
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
                None if lag == UNKNOWN_LAG else lag,
                self._reason(self.topics[topic], partition),
            )

    @cached_property
    def flows(self) -> tuple[Flow, ...]:
        """Moved partitions by (old owner, new owner), in member order.

        An unassigned side is None and sorts last.
        """
        rows = np.flatnonzero((self.action != Action.KEEP) & (self.source != self.target))
        if len(rows) == 0:
            return ()
        nobody = len(self.members)
        source, target = (np.where(side[rows] < 0, nobody, side[rows]) for side in (self.source, self.target))
        pair = source.astype(np.int64) * (nobody + 1) + target
        order = np.argsort(pair, kind="stable")
        # One int64 for each pair, so that sorting groups the rows of a million partitions at once.
        pairs, starts = np.unique(pair[order], return_index=True)
        names = [*(member.name for member in self.members), None]
        return tuple(
            Flow(
                names[int(pair) // (nobody + 1)],
                names[int(pair) % (nobody + 1)],
                PartitionList(self.topics, self.topic[chosen], self.partition[chosen]),
            )
            for pair, chosen in zip(pairs, np.split(rows[order], starts[1:]), strict=True)
        )

    @cached_property
    def flows_by_reason(self) -> tuple[Flow, ...]:
        """The flows, split by the reason why the plan moves their partitions.

        They are in the order of `flows`. The flows of one pair of members are sorted by their first
        partition.
        """
        sentences = []
        for flow in self.flows:
            by_reason: dict[Reason | None, list[TopicPartition]] = {}
            for partition in flow.partitions:
                by_reason.setdefault(self._reason(*partition), []).append(partition)
            sentences += [
                Flow(flow.source, flow.target, PartitionList.of(partitions), reason)
                for reason, partitions in by_reason.items()
            ]
        return tuple(sentences)

    def _reason(self, topic: str, partition: int) -> Reason | None:
        """Return the reason for what happens to a partition; None if the side after is not a plan."""
        explainer = self.after.explainer
        return None if explainer is None else explainer.explain((topic, partition)).cause


class _Side(NamedTuple):
    """A state with one row for each partition of the diff.

    Attributes:
        here: True if the state knows the partition.
        owner: number of the partition's owner, -1 if it has none; if it has two, the lower number.
        second: number of the second owner, -1 if there is none.
        lag: records that wait in the partition, `UNKNOWN_LAG` if unknown; None if the state shows no lag.
    """

    here: NDArray[np.bool_]
    owner: NDArray[np.int32]
    second: NDArray[np.int32]
    lag: NDArray[np.int64] | None


def diff(
    before: State,
    after: State,
    *,
    match: str = "auto",
    pace: Pace | None = None,
    weights: GivenWeights | None = None,
) -> AssignmentDiff:
    """Return the changes from one assignment of a group to another; a million partitions take half a second.

    >>> change = diff({"a": [("orders", 0), ("orders", 1)]}, {"a": [("orders", 0)], "b": [("orders", 1)]})
    >>> change.summary.moved, change.summary.members_joined
    (1, 1)

    Args:
        before: an `Assignment`, a mapping from member id to partitions, or a `GroupState`.
        after: the same, later.
        match: how members are paired, see `match_members`.
        pace: the group's timeouts and how fast a deploy goes; None: Kafka's default timeouts and the pace of
            a usual deployment.
        weights: the weights of partitions, as the assignor "weighted" takes them. `Summary.peak` needs them.

    Raises:
        DiffError: the members cannot be paired by the rule `match`.
        InvalidConfigError: the weights are invalid.
    """
    weighing = None if weights is None else weights_of(weights)
    old, new = GroupState.of(before), GroupState.of(after)
    topics = tuple(sorted({*old.topics, *new.topics}))
    keys = [_keys(state, topics) for state in (old, new)]
    # `key` has each partition of either side once, in order. `row` has the index into `key` of each partition
    # of the side before, then of each partition of the side after.
    key, row = np.unique(np.concatenate(keys), return_inverse=True)
    sides = [
        _spread(state, rows, len(key))
        for state, rows in zip((old, new), np.split(row, [len(keys[0])]), strict=True)
    ]
    # Before rows can be compared, each member must have the same place on both sides.
    matching = match_members(old.members, new.members, sides[0].owner, sides[1].owner, match)
    names, identities = order_members(matching.after_of, old.members, new.members)
    of_old = _places([one for one, _ in identities], len(old.members))
    of_new = _places([other for _, other in identities], len(new.members))
    source, target = of_old[sides[0].owner], of_new[sides[1].owner]
    # The inverse of `_keys`.
    topic, partition = np.divmod(key, 2**32)
    action = _actions(
        sides, source, target, [_lists_whole_topics(state, topics)[topic] for state in (old, new)]
    )
    rows, all_known = Columns(topic, action, source, target), (old.members_complete, new.members_complete)
    members = _members(names, identities, matching, rows, (old, new))
    # A state in which a partition has two owners is no valid assignment, so it cannot be compared with the
    # best one.
    if (sides[1].second >= 0).any():
        needed = NeededMoves(None, None, exact=False)
    else:
        # The side after does not have the subscription of a member that left, so its subscription before
        # counts.
        subscriptions = [
            new.members[other].topics if other >= 0 else old.members[one].topics for one, other in identities
        ]
        needed = find_needed(rows, topics, members, subscriptions, all_known=new.members_complete)
    # The next owner has to read what waits now, so the later lag counts if there is one.
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
                _owners(names, of_old, sides[0], index),
                _owners(names, of_new, sides[1], index),
            )
            for index in np.flatnonzero(action == Action.CONFLICT).tolist()
        ),
        summary=summarize(
            members,
            rows,
            needed,
            lag,
            None if weighing is None else certificate_of(new, weighing),
            all_known=all_known,
            moves=new.moves,
        ),
        pace=pace or Pace(),
    )


def _keys(state: GroupState, topics: tuple[str, ...]) -> NDArray[np.int64]:
    """Return each partition of a state as one int64: index into `topics` times 2**32, plus the number."""
    number = {name: index for index, name in enumerate(topics)}
    # int64, because an index times 2**32 does not fit into the int32 of the state's columns.
    numbers = np.array([number[name] for name in state.topics], np.int64)
    return numbers[state.topic] * 2**32 + state.partition


def _lists_whole_topics(state: GroupState, topics: tuple[str, ...]) -> NDArray[np.bool_]:
    """Return True for each topic of which the state lists every partition.

    A topic that a state does not name may exist without being read there.
    """
    named = set(state.topics) if state.complete else ()
    return np.array([name in named for name in topics], np.bool_)


def _spread(state: GroupState, rows: NDArray[np.intp], partitions: int) -> _Side:
    """Return a state as columns over the rows of the diff.

    Args:
        state: the state.
        rows: the row of each partition that the state has.
        partitions: the number of rows.
    """
    here = np.zeros(partitions, np.bool_)
    here[rows] = True
    owned = state.member >= 0
    nobody = len(state.members)
    lowest = np.full(partitions, nobody, np.int32)
    highest = np.full(partitions, -1, np.int32)
    # Lowest and highest differ exactly if two members claim the partition.
    np.minimum.at(lowest, rows[owned], state.member[owned])
    np.maximum.at(highest, rows[owned], state.member[owned])
    owner = np.where(highest < 0, -1, lowest).astype(np.int32)
    lag = None
    if state.lag is not None:
        lag = np.full(partitions, UNKNOWN_LAG, np.int64)
        np.maximum.at(lag, rows, state.lag)
    return _Side(here, owner, np.where(highest != owner, highest, -1).astype(np.int32), lag)


def _places(numbers: list[int], members: int) -> NDArray[np.int32]:
    """Return the place of each member of a side by its number, -1 for a number without a place.

    The result has one more element than the side has members, so that index -1, nobody, gives -1.

    Args:
        numbers: for each place, the number of its member on this side; -1 if the member is not there.
        members: how many members the side has.
    """
    places = np.full(members + 1, -1, np.int32)  # the last element serves index -1, nobody
    for place, number in enumerate(numbers):
        if number >= 0:
            places[number] = place
    return places


def _members(
    names: list[str],
    identities: list[Identity],
    matching: Matching,
    rows: Columns,
    states: tuple[GroupState, GroupState],
) -> tuple[MemberChange, ...]:
    """Return the change of each member, in the order of `names`.

    Args:
        names: the name of each member, by place.
        identities: (number before, number after) of each member, by place.
        matching: the rule that paired each member.
        rows: the rows of the diff, whose owners are places.
        states: both sides.
    """
    old, new = states
    before, after, kept = (
        np.bincount(column[column >= 0], minlength=len(names)).tolist()
        for column in (rows.source, rows.target, rows.source[rows.action == Action.KEEP])
    )
    return tuple(
        MemberChange(
            name,
            old.members[one].id if one >= 0 else None,
            new.members[other].id if other >= 0 else None,
            matching.rule_of[one] if one >= 0 else None,
            before[place],
            after[place],
            kept[place],
            _presence(one, other, old, new),
        )
        for place, (name, (one, other)) in enumerate(zip(names, identities, strict=True))
    )


def _actions(
    sides: list[_Side], source: NDArray[np.int32], target: NDArray[np.int32], listed: list[NDArray[np.bool_]]
) -> NDArray[np.int8]:
    """Return the `Action` of each row.

    A partition is new or removed only if the other side lists all partitions of its topic; else it is
    compared as a partition without an owner there.
    """
    old, new = sides
    # `np.select` takes the first condition that holds, so a row with two owners is a conflict in any case.
    absent = (listed[0] & ~old.here, listed[1] & ~new.here)
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


def _presence(one: int, other: int, old: GroupState, new: GroupState) -> Presence:
    """Return the sides on which a member is; unknown if the other side does not show all its members."""
    if one >= 0 and other >= 0:
        return Presence.STAYED
    if one < 0:
        return Presence.JOINED if old.members_complete else Presence.UNKNOWN_BEFORE
    return Presence.LEFT if new.members_complete else Presence.UNKNOWN_AFTER


def _owners(names: list[str], place_of: NDArray[np.int32], side: _Side, index: int) -> tuple[str, ...]:
    """Return the names of the owners of a row on one side: none, one or two.

    Args:
        names: the name of each member, by place.
        place_of: for each number of a member on this side, the place of that member.
        side: the side.
        index: the row.
    """
    owners = (int(side.owner[index]), int(side.second[index]))
    return tuple(names[place_of[owner]] for owner in owners if owner >= 0)


def _protocol_of(state: GroupState) -> str | None:
    """Return the rebalance protocol of a group: "eager", "cooperative" or "consumer".

    None if neither the state nor its strategy tells it.
    """
    if state.protocol == "consumer":
        return "consumer"
    try:
        return None if state.strategy is None else protocol_of(state.strategy)
    except UnknownStrategyError:
        return None
