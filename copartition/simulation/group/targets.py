"""The target assignments of a consumer group (KIP-848), and the rebalance that each one is.

A member that says nothing, dead or only standing still, is not waited for.

Indexes: a member is its number of `Memberships`, a partition its flat index, and a row of an assignor's
answer is a member's place in the list that the assignor got.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from assignors.assignment import Assignment
from assignors.group import Carried, Group, Member, Topic
from assignors.partition_list import PartitionColumns
from assignors.registry import is_built_in
from copartition.simulation.group.consumer_group import ConsumerGroup
from copartition.simulation.group.leader import Decision, Decisions
from copartition.simulation.group.timers import DONE, Beats, Timers
from copartition.simulation.group.world import World
from copartition.simulation.outcome.history import Change, Rebalance, Step
from partitioning.java import string_hash
from partitioning.kit.columns import bounds


class Targets:
    """The assignor of a consumer group, and its last answer as the coordinator's records have it.

    `strategy` returns the assignor's name, `topics` the topics the cluster has now, `describe` a member's id,
    instance id and rack by its number. `racks` has those of topics whose replicas have moved. `first` has
    the flat index of each topic's first partition, in the order of `names`, and the number of all.

    `position` has the place of each partition in its owner's target, shape (partitions,). A member's target
    is written anew only if it is another set of partitions, so an unchanged one keeps its order. Rows of
    `_members`, `_subscriptions` and `_hashes` are members; `_sizes` is the number of partitions in each
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
        self.position = np.zeros(int(first[-1]), np.int32)  # the place of each partition in its owner's list
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
        # Every `Member` by its number, None if it is not there, and what it subscribes to.
        self._members, self._subscriptions = np.full((2, 64), None)
        self._sizes: dict[int, int] = {}  # how many partitions a member has; 0 if it is not there
        self._hashes = np.zeros(64, np.int32)  # the hash code of each member's id

    def adopt(self, number: int, rows: NDArray[np.integer], position: NDArray[np.int32]) -> None:
        """Take over a member from another kind of group, with these partitions at these list positions.

        Positions only have to be in order; they are written down anew from 0. The tree of decisions is left
        here, as no other run has the same classic past.
        """
        self._make_room(number)
        self._members[number] = self._meet(number)
        self._sizes[number] = len(rows)
        self.position[rows[position.argsort()]] = np.arange(len(rows))
        self._decision = Decision()  # nobody else comes to this point

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

    def _carry(self, numbers: NDArray[np.int64], owner: NDArray[np.int64]) -> Carried:
        """Return these members, in this order, with the targets that the coordinator's records have.

        Partitions of members that are gone are left out. Each member's partitions stand together, in the
        order of `numbers`, and within a member in the order of its list.
        """
        row = np.full(int(numbers.max(initial=-1)) + 2, -1, np.int64)  # nobody, -1, is the last element
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
        return Carried(members, len(members), None, sizes, columns, hashes, {"topics": topics})

    def _make_room(self, number: int) -> None:
        """Make room for members up to this number."""
        if number >= len(self._hashes):
            more = np.full(number + 1, None)
            self._members = np.append(self._members, more)
            self._subscriptions = np.append(self._subscriptions, more)
            self._hashes = np.append(self._hashes, np.zeros(number + 1, np.int32))

    def _meet(self, number: int) -> Member:
        """Return a member that is new, so far without topics, and note its hash code.

        The hash code of its id decides its place in Java's maps, which the assignor repeats; it is computed
        once.
        """
        about = self._describe(number)
        self._hashes[number] = string_hash(about.id)
        self._subscriptions[number] = about.topics
        return about

    def _update(self, group: ConsumerGroup) -> tuple[object, ...]:
        """Bring the members up to the group's changes.

        Return everything that is new, as a key of decisions.
        """
        left: dict[int, Member] = {}
        self._make_room(max(group.changed, default=-1))
        for number in sorted(group.changed):
            about = self._members[number]
            # A target that is not what it was is that of a member that left and came back meanwhile.
            # Its size tells it apart: a member that stayed has as many partitions as were written down for
            # it.
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
                # A member may have been replaced several times since the last target; the assignor knows the
                # first of them only.
                while before is not None and before.number not in left:
                    before = before.replaces
                about = self._meet(number)
                self._sizes[number] = 0
                if before is not None:  # it takes the target, in the order in which it was written down
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
        """Write the new targets down, and return the owner of every partition.

        Args:
            assignment: the assignor's answer.
            numbers: the members in the order in which the assignor got them.
            before: the owner of every partition before.
        """
        ids, names, member, topic, partition = assignment.to_arrays()
        assert self._decision.assignor is not None
        if not is_built_in(self._decision.assignor):  # it may list the members in its own order
            place = {self._members[number].id: row for row, number in enumerate(numbers.tolist())}
            numbers = numbers[[place[id_] for id_ in ids]]
        # From (topic of the answer, partition) to flat indexes; topics of the answer may be fewer than those
        # of the run.
        rows = topic
        if len(topic):
            rows = self._first[[self._names.index(name) for name in names]][topic] + partition
        owner = np.full(len(self.position), -1, np.int64)
        owner[rows] = owners = numbers[member]
        different = owner != before
        # Members that won or lost a partition have their list written anew, from 0 in the order of the
        # answer; all others keep the order that they had.
        touched = np.zeros(int(numbers.max(initial=-1)) + 2, np.bool_)  # nobody, -1, is the last element
        touched[owner[different]] = touched[before[different]] = True
        sizes = np.bincount(member, minlength=len(ids))
        written = touched[owners].nonzero()[0]
        self.position[rows[written]] = written - bounds(sizes)[member[written]]
        places = touched[numbers].nonzero()[0]
        self._sizes.update(zip(numbers[places].tolist(), sizes[places].tolist(), strict=True))
        return owner


class Epochs:
    """The rebalances of a consumer group, each from the first request of its target until all reached it.

    A rebalance also ends if another target comes before. `_causes` are the requests since the last target;
    `_rebalance` is the one under way, None if there is none. Only members in `_waits_for` are watched, as the
    target changes something for them; for all others one heartbeat after the target suffices, the last of
    which is at `_others_ms`. A silent member is not waited for.
    """

    def __init__(self, world: World, group: ConsumerGroup, beats: Beats, timers: Timers) -> None:
        self.cause = 0  # the number of what the present target is for
        self._world = world
        self._group = group
        self._beats = beats
        self._timers = timers
        self._owner = world.ledger.now.owner.copy()
        self._position = world.ledger.now.position.copy()
        self._causes: list[tuple[str, int]] = []
        self._started_ms = 0.0
        # The present target, as if it were complete now; members that it waits for, as far as they are
        # watched, and when all others will have reached it.
        self._rebalance: Rebalance | None = None
        self._waits_for: set[int] = set()
        self._others_ms = 0.0
        self._completion = DONE

    def request(self, text: str, cause: int) -> None:
        """Note a reason for another target; the first one begins a rebalance.

        `text` and `cause` are the reason, in words and as a number. Reasons that come before the target is
        computed belong to one rebalance.
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

    def replace_target(self, position: NDArray[np.int32], touched: Iterable[int]) -> Change:
        """Begin the rebalance to a new target, which ends the one before; return the difference between them.

        `touched` are the members for which the new target changes something.

        `position` is the place of each partition in its owner's list, shape (partitions,). A rebalance that
        is not complete yet ends now, with the target that it had.
        """
        self.retire_target()
        self._rebalance, change = self._new_target(position)
        members, beats = self._group.members, self._beats
        self._waits_for = {member for member in touched if member in members and beats.speaks(member)}
        self._others_ms = beats.last_of_all(self._world.now_ms, self._waits_for)
        self._look()
        return change

    def on_reached(self, member: int) -> None:
        """Wait no longer for a member: it has reached the target, is gone, or says nothing."""
        if member in self._waits_for:
            self._waits_for.remove(member)
            self._look()

    def retire_target(self) -> None:
        """Complete the rebalance under way.

        All members reached its target, another one came, or none are left.

        Nothing happens if no rebalance is under way. A planned end is cancelled, since it has come or is no
        longer true.
        """
        if self._rebalance is not None:
            complete = replace(self._rebalance, completed_ms=self._world.now_ms)
            self._world.history.rebalances.append(complete)
            self._rebalance = None
        self._completion.cancel()

    def on_empty(self) -> None:
        """End the rebalance as the group has no members; reasons noted so far lead to no target."""
        self.retire_target()
        self._causes.clear()
        self._world.note("empty")

    def end(self) -> None:
        """End the rebalance as the group goes on as a classic one, which begins with what each member has."""
        self.retire_target()
        now = self._world.ledger.now
        self._world.history.goes_on(Change.between(self._owner, self._position, now.owner, now.position))

    def _new_target(self, position: NDArray[np.int32]) -> tuple[Rebalance, Change]:
        """Note a new target in the run's history.

        Return its rebalance, and the difference to the one before.
        """
        group, partitions = self._group, self._world.partitions
        owner = group.target.astype(np.int32)
        change = Change.between(self._owner, self._position, owner, position)
        self._owner, self._position = owner, position.copy()
        causes, self._causes = self._causes, []
        # Pauses of a target are put down to its first reason.
        self.cause = causes[0][1]
        step = Step(
            np.fromiter(group.members, np.int32, len(group.members)),
            change,
            tuple(partitions.counts),
            frozenset().union(*map(group.topics_of, group.subscriptions)),
            {},
        )
        texts, moved = tuple(text for text, _ in causes), self._world.history.count_moves(change)
        return self._world.note_rebalance(group.target_epoch, self._started_ms, texts, moved, step), change

    def _look(self) -> None:
        """Plan the end of the rebalance if no watched member is left to wait for."""
        if self._rebalance is not None and not self._waits_for and self._completion.is_done:
            at_ms = max(self._others_ms, self._world.now_ms)
            self._completion = self._timers.at(at_ms, self.retire_target)
