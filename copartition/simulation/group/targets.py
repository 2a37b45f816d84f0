"""Keep the target assignments of a consumer group (KIP-848), and the rebalance to each of them.

A rebalance does not wait for a silent member, whether it is dead or only stands still.

Members are numbers of `Memberships`, partitions are flat indexes, and a row of an assignor's answer is the
index of a member in the list that the assignor got.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from assignors.assignment import Assignment
from assignors.group import CarriedMembers, Group, Member, Topic
from assignors.partition_list import PartitionColumns
from assignors.registry import is_built_in
from copartition.simulation.group.consumer_group import ConsumerGroup
from copartition.simulation.group.leader import Decision, Decisions
from copartition.simulation.group.timers import DONE, Beats, Timers
from copartition.simulation.group.world import World
from copartition.simulation.outcome.history import AssignmentDelta, HistoryStep, Rebalance
from partitioning.java import string_hash
from partitioning.kit.columns import bounds


class GroupTargets:
    """The assignor of a consumer group, and its last answer as in the coordinator's records.

    `strategy` returns the assignor's name, and `topics` the topics that the cluster has now. `describe`
    returns a member's id, instance id and rack by the member's number. `racks` has the racks of topics whose
    replicas have moved. `first` has the flat index of each topic's first partition, in the order of `names`,
    and then the number of all.

    `position` has the index of each partition in its owner's target, shape (partitions,). A member's target
    is written again only if its partitions have changed, so an unchanged target keeps its order. `_members`,
    `_subscriptions` and `_hashes` are indexed by member; `_sizes` has the number of partitions in each
    target.
    """

    def __init__(
        self,
        decisions: Decisions,
        strategy: Callable[[], str],
        topics: Callable[[], Sequence[Topic]],
        first: NDArray[np.int64],
        names: Sequence[str],
        racks: Mapping[str, Hashable],
        describe: Callable[[int], Member],
    ) -> None:
        self.position = np.zeros(int(first[-1]), np.int32)  # the index of each partition in its owner's list
        self._decisions = decisions
        self._decision = decisions.start
        self._strategy = strategy
        self._topics = topics
        self._names = tuple(names)
        self._racks = racks
        self._first = first
        self._topic_of = np.repeat(np.arange(len(names), dtype=np.int32), np.diff(first))
        self._number_of = (np.arange(len(self._topic_of)) - first[self._topic_of]).astype(np.int32)
        self._describe = describe
        # The `Member` of each number, None if it is not a member, and its subscription.
        self._members, self._subscriptions = np.full((2, 64), None)
        self._sizes: dict[int, int] = {}  # member -> its number of partitions; 0 if it is no member
        self._hashes = np.zeros(64, np.int32)  # the hash code of each member's id

    def adopt(self, number: int, rows: NDArray[np.integer], position: NDArray[np.int32]) -> None:
        """Take over a member from another kind of group, with these partitions at these list positions.

        Positions only have to be ascending; they are stored from 0. Decisions are no longer shared from here
        on, because no other run has the same classic past.
        """
        self._make_room(number)
        self._members[number] = self._meet(number)
        self._sizes[number] = len(rows)
        self.position[rows[position.argsort()]] = np.arange(len(rows))
        self._decision = Decision()  # the root of a new tree

    def __call__(self, group: ConsumerGroup) -> NDArray[np.int64]:
        """Return the owner of every partition by the assignor, shape (partitions,), -1 for none."""
        change = self._update(group)
        numbers = np.array(group.members_in_order, np.int64)
        topics = self._topics()
        self._decision = self._decisions.decide(
            self._decision,
            # The order of members is part of the key, since the assignor's answer depends on it.
            (
                change,
                hash(numbers.tobytes()),
                tuple((topic.name, topic.partitions) for topic in topics),
                tuple(self._racks.items()),
            ),
            self._strategy(),
            lambda: Group(topics, self._carry(numbers, group.target)),
            new_leader=False,
        )
        assert self._decision.assignment is not None
        return self._write(self._decision.assignment, numbers, group.target)

    def _carry(self, numbers: NDArray[np.int64], owner: NDArray[np.int64]) -> CarriedMembers:
        """Return these members, in this order, with their targets from the coordinator's records.

        Partitions of members that are gone are left out. Each member's partitions are contiguous, in the
        order of `numbers`, and within a member in the order of its list.
        """
        row = np.full(int(numbers.max(initial=-1)) + 2, -1, np.int64)  # the last element is for -1, no member
        row[numbers] = np.arange(len(numbers))
        member = row[owner]
        rows = (member >= 0).nonzero()[0]
        member = member[rows]
        sizes = np.bincount(member, minlength=len(numbers))
        in_order = np.empty(len(rows), np.intp)
        in_order[bounds(sizes)[member] + self.position[rows]] = rows
        columns = PartitionColumns(self._names, self._topic_of[in_order], self._number_of[in_order])
        members = self._members[numbers].tolist()
        topics = tuple(self._subscriptions[numbers].tolist())
        hashes = self._hashes[numbers]
        return CarriedMembers(members, len(members), None, sizes, columns, hashes, {"topics": topics})

    def _make_room(self, number: int) -> None:
        """Make room for members up to this number."""
        if number >= len(self._hashes):
            more = np.full(number + 1, None)
            self._members = np.append(self._members, more)
            self._subscriptions = np.append(self._subscriptions, more)
            self._hashes = np.append(self._hashes, np.zeros(number + 1, np.int32))

    def _meet(self, number: int) -> Member:
        """Return a member that is new, so far without topics, and store its hash code.

        The hash code of its id decides its place in Java's maps, which the assignor imitates. It is computed
        only once.
        """
        about = self._describe(number)
        self._hashes[number] = string_hash(about.id)
        self._subscriptions[number] = about.topics
        return about

    def _update(self, group: ConsumerGroup) -> tuple[object, ...]:
        """Update the members by the group's changes; return all that is new, as part of a decision's key."""
        left: dict[int, Member] = {}
        self._make_room(max(group.changed, default=-1))
        for number in sorted(group.changed):
            about = self._members[number]
            # If the size of a member's target differs from the stored one, the member has left and come back
            # meanwhile. A member that stayed has as many partitions as were stored for it.
            there = number in group.members
            if about and not (there and self._sizes.get(number, 0) == len(group.targets[number])):
                left[number] = about
                self._members[number] = None
        news: list[object] = [tuple(about.id for about in left.values())]
        for number in sorted(group.changed & group.members.keys()):
            member, about = group.members[number], self._members[number]
            topics = tuple(group.topics_of(member.topics))
            if about is None:
                before = member.replaces
                # A member may have been replaced several times since the last target. The assignor knows only
                # the first of them.
                while before is not None and before.number not in left:
                    before = before.replaces
                about = self._meet(number)
                self._sizes[number] = 0
                if before is not None:  # the new id takes over the target, in the stored order
                    self._sizes[number] = self._sizes[before.number]
                    news.append(left[before.number].id)
            elif about.topics == topics:
                continue
            self._members[number] = replace(about, topics=topics)
            self._subscriptions[number] = topics
            news.append((about.id, topics))
            member.replaces = None
        return tuple(news)

    def _write(
        self, assignment: Assignment, numbers: NDArray[np.int64], before: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Store the new targets, and return the owner of every partition.

        Args:
            assignment: the assignor's answer.
            numbers: the members in the order in which the assignor got them.
            before: the previous owner of every partition.
        """
        ids, names, member, topic, partition = assignment.to_arrays()
        assert self._decision.assignor is not None
        # An assignor that is not built in may list the members in an order of its own.
        if not is_built_in(self._decision.assignor):
            place = {self._members[number].id: row for row, number in enumerate(numbers.tolist())}
            numbers = numbers[[place[id_] for id_ in ids]]
        # Turn (topic of the answer, partition) into flat indexes. The answer may have fewer topics than the
        # run.
        rows = topic
        if len(topic):
            rows = self._first[[self._names.index(name) for name in names]][topic] + partition
        owner = np.full(len(self.position), -1, np.int64)
        owner[rows] = owners = numbers[member]
        different = owner != before
        # The list of a member that won or lost a partition is rewritten, from 0 in the order of the answer.
        # The lists of all other members keep their order.
        touched = np.zeros(int(numbers.max(initial=-1)) + 2, np.bool_)  # the last element is for -1: none
        touched[owner[different]] = touched[before[different]] = True
        sizes = np.bincount(member, minlength=len(ids))
        written = touched[owners].nonzero()[0]
        self.position[rows[written]] = written - bounds(sizes)[member[written]]
        places = touched[numbers].nonzero()[0]
        self._sizes.update(zip(numbers[places].tolist(), sizes[places].tolist(), strict=True))
        return owner


class Epochs:
    """The rebalances of a consumer group, each from the first reason for its target until all reached it.

    A rebalance also ends if another target is computed before all members have reached its own.

    `_causes` has the reasons since the last target was computed, and `_rebalance` the rebalance that is under
    way, None if there is none. The members whose partitions the target changes are in `_waits_for` until they
    have reached it. Every other member reaches the target with its next heartbeat, the last of them at
    `_others_ms`. The rebalance does not wait for a member that sends no heartbeats.
    """

    def __init__(self, world: World, group: ConsumerGroup, beats: Beats, timers: Timers) -> None:
        self.cause = 0  # the number of the cause of the present target
        self._world = world
        self._group = group
        self._beats = beats
        self._timers = timers
        self._owner = world.ledger.now.owner.copy()
        self._position = world.ledger.now.position.copy()
        self._causes: list[tuple[str, int]] = []
        self._started_ms = 0.0
        # `_rebalance` always has the values that it would have if the rebalance were complete now.
        self._rebalance: Rebalance | None = None
        self._waits_for: set[int] = set()
        self._others_ms = 0.0
        self._completion = DONE

    def request(self, text: str, cause: int) -> None:
        """Record a reason for another target; the first one begins a rebalance.

        `text` and `cause` are the reason, in words and as a number. All reasons that come before the target
        is computed belong to one rebalance.
        """
        if not self._causes:
            self._started_ms = self._world.now_ms
            self._world.note("rebalance", cause=text)
        self._causes.append((text, cause))

    def begin(self, position: NDArray[np.int32]) -> None:
        """Make the target of the group at time 0 its assignment, complete from the start."""
        text = "the group at the start"
        self._causes = [(text, self._world.ledger.cause(text))]
        self._world.history.start, _ = self._new_target(position)

    def replace_target(self, position: NDArray[np.int32], touched: Iterable[int]) -> AssignmentDelta:
        """Begin the rebalance to a new target, which ends the previous one; return how the targets differ.

        `touched` are the members for which the new target changes something. `position` is the index of each
        partition in its owner's list, shape (partitions,). A rebalance that is not complete yet ends now,
        with the target that it had.
        """
        self.retire_target()
        self._rebalance, change = self._new_target(position)
        members, beats = self._group.members, self._beats
        self._waits_for = {member for member in touched if member in members and beats.speaks(member)}
        self._others_ms = beats.last_of_all(self._world.now_ms, self._waits_for)
        self._look()
        return change

    def on_reached(self, member: int) -> None:
        """Stop waiting for a member: it has reached the target, is gone, or is silent."""
        if member in self._waits_for:
            self._waits_for.remove(member)
            self._look()

    def retire_target(self) -> None:
        """Complete the present rebalance: all members reached its target, another one came, or none are left.

        Nothing happens without a present rebalance. A planned end is cancelled, since it has come or is no
        longer right.
        """
        if self._rebalance is not None:
            complete = replace(self._rebalance, completed_ms=self._world.now_ms)
            self._world.history.rebalances.append(complete)
            self._rebalance = None
        self._completion.cancel()

    def on_empty(self) -> None:
        """End the rebalance because the group has no members; reasons recorded so far lead to no target."""
        self.retire_target()
        self._causes.clear()
        self._world.note("empty")

    def end(self) -> None:
        """End the rebalance as the group becomes a classic one, which begins with what each member has."""
        self.retire_target()
        now = self._world.ledger.now
        self._world.history.goes_on(
            AssignmentDelta.between(self._owner, self._position, now.owner, now.position)
        )

    def _new_target(self, position: NDArray[np.int32]) -> tuple[Rebalance, AssignmentDelta]:
        """Record a new target in the run's history; return its rebalance and its difference."""
        group, partitions = self._group, self._world.partitions
        owner = group.target.astype(np.int32)
        change = AssignmentDelta.between(self._owner, self._position, owner, position)
        self._owner, self._position = owner, position.copy()
        causes, self._causes = self._causes, []
        # The first reason of a target is the cause of its pauses.
        self.cause = causes[0][1]
        step = HistoryStep(
            np.fromiter(group.members, np.int32, len(group.members)),
            change,
            tuple(partitions.counts),
            frozenset().union(*map(group.topics_of, group.subscriptions)),
            {},
        )
        texts, moved = tuple(text for text, _ in causes), self._world.history.count_moves(change)
        return self._world.note_rebalance(group.target_epoch, self._started_ms, texts, moved, step), change

    def _look(self) -> None:
        """Plan the end of the rebalance if it waits for no watched member."""
        if self._rebalance is not None and not self._waits_for and self._completion.is_done:
            at_ms = max(self._others_ms, self._world.now_ms)
            self._completion = self._timers.at(at_ms, self.retire_target)
