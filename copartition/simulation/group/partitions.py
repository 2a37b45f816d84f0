"""Keep every partition of a scenario: whether it exists, its owner, and everything that happens to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assignors.group import Assignment
from copartition.simulation.group.memberships import Memberships
from copartition.simulation.inputs.events import Create, Grow
from copartition.simulation.inputs.scenario import Scenario
from copartition.simulation.outcome.phases import Call, Mergeable, Phases, do_all
from copartition.simulation.outcome.timeline import Phase, Rows, Timeline, Zombies
from copartition.simulation.records.flow import Flow
from copartition.simulation.records.readers import Zombie
from partitioning.kit.columns import bounds, range_numbers, ranks
from partitioning.topic_partition import TopicPartition

JOINING = (Phase.PAUSED, Phase.COMPUTING)
"""The phases that a partition goes through while its reader rejoins."""


class Change(NamedTuple):
    """The difference that one assignment makes, as columns of equal length.

    `partitions` are flat indexes, ascending; `owner` is the member that has each now, -1 for none; `position`
    is the place of each in the owner's list, from 0. A run keeps all changes, so they take two bytes a number
    if the numbers fit.
    """

    partitions: NDArray[np.integer]
    owner: NDArray[np.integer]
    position: NDArray[np.integer]

    @classmethod
    def between(
        cls,
        old_owner: NDArray[np.int32],
        old_position: NDArray[np.int32],
        owner: NDArray[np.int32],
        position: NDArray[np.int32],
    ) -> Change:
        """Return the difference between the assignment of all partitions before and now.

        All four columns have an element for each partition, by flat index.
        """
        rows = ((owner != old_owner) | (position != old_position)).nonzero()[0]
        # `position` is less than the number of partitions, so it fits if these do.
        fits = max(len(owner), int(owner.max(initial=0))) < 1 << 15
        kind = np.int16 if fits else np.int32
        return cls(rows.astype(kind), owner[rows].astype(kind), position[rows].astype(kind))


def rows_where(mask: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return the flat indexes of a mask's partitions, ascending, as int32."""
    return mask.nonzero()[0].astype(np.int32)


def rows_of(partitions: Collection[int]) -> NDArray[np.int32]:
    """Return a set of flat indexes as a column, ascending, as int32."""
    return np.array(sorted(partitions), np.int32)


class Partitions:
    """The partitions by flat index, `first[topic] + number`; members are numbers of `Memberships`.

    Every call is written to a log, from which a timeline is made if one is asked for. `Phases`, the present
    state, is brought up to the log's end when it is looked at: many calls together are faster. So the log
    must be in order of time for each partition, and `now` and `flow` are the only ways to the state. `counts`
    says which partitions exist now; topics keep room for all they will ever get.
    """

    def __init__(self, scenario: Scenario, memberships: Memberships) -> None:
        counts = {topic.name: topic.partitions for topic in scenario.topics}
        most = dict(counts)
        for event in scenario.events:
            if isinstance(event, Create | Grow):
                counts.setdefault(event.topic, 0)
                most[event.topic] = max(most.get(event.topic, 0), event.partitions)
        self.topics = tuple(counts)  # names; topics created later at the end
        self.counts = list(counts.values())  # how many partitions each topic has now; 0 before it is created
        # Index of each topic's first partition, and the number of all.
        self.first = bounds(np.array([most[name] for name in self.topics], np.int64))
        # What pauses are for, by number; a text may be bettered while the run goes on.
        self.causes: list[str] = []
        self._flow = None if scenario.load is None else Flow(scenario, self.first, self.topics)
        self._number = {name: number for number, name in enumerate(self.topics)}
        self._memberships = memberships
        self._partition_ms = scenario.costs.partition_ms
        self._total = int(self.first[-1])
        self._last_consumer = np.full(self._total, -1, np.int32)
        self._log: list[Call] = []
        self._done = 0  # how much of the log has been done
        self._zombies: list[Zombie] = []
        self._phases = Phases(self._total, memberships, self._partition_ms, flow=self._flow)
        there = range_numbers(self.first[:-1], np.array(self.counts, np.int64)).astype(np.int32)
        self._do(Phases.born, there, 0.0, Phase.PAUSED, self.cause("nobody in the group"))

    @property
    def now(self) -> Phases:
        """The state of every partition, after all calls made so far."""
        self._catch_up()
        return self._phases

    @property
    def flow(self) -> Flow | None:
        """The records, after all calls made so far; None without a load."""
        self._catch_up()
        return self._flow

    def topic(self, name: str) -> int:
        """Return the number of a topic, by its name."""
        return self._number[name]

    def name(self, partition: int) -> TopicPartition:
        """Return the topic and number of a partition, by its flat index."""
        topic = int(np.searchsorted(self.first, partition, side="right")) - 1
        return TopicPartition(self.topics[topic], partition - int(self.first[topic]))

    def matching(self, pattern: str, counts: Sequence[int]) -> tuple[str, ...]:
        """Return the existing topics that a pattern matches as a whole.

        A topic exists if `counts` is not 0 for it.
        """
        return tuple(
            name
            for name, count in zip(self.topics, counts, strict=True)
            if count and re.fullmatch(pattern, name)
        )

    def cause(self, text: str) -> int:
        """Return the number of a new cause for which partitions are not read.

        `causes[number]` may be reworded later.
        """
        self.causes.append(text)
        return len(self.causes) - 1

    def growth(self, topics: Iterable[int]) -> int:
        """Return the number of a new cause: the group has noticed that these topics have more partitions."""
        counts = (f"{self.topics[topic]} to {self.counts[topic]}" for topic in topics)
        return self.cause(f"partitions added ({', '.join(counts)})")

    def owned(self, member: int) -> NDArray[np.int32]:
        """Return the partitions that a member was given last, ascending; they may not be read yet."""
        return rows_where(self.now.owner == member)

    def grow(self, topic: str, count: int, now_ms: float) -> int:
        """Create a topic, or give it more partitions, which the group has not noticed yet.

        Return its number.
        """
        number = self._number[topic]
        start = int(self.first[number])
        new = np.arange(start + self.counts[number], start + count, dtype=np.int32)
        self.counts[number] = count
        self._do(Phases.born, new, now_ms, Phase.UNNOTICED, self.cause(f"{topic} has {count} partitions"))
        return number

    def stop(
        self, member: int, at_ms: float, phase: Phase, cause: int, *, committed: bool | None = True
    ) -> NDArray[np.int32]:
        """Stop a member's partitions, and return those that it read, or would if it did not stand still.

        Args:
            member: the member.
            at_ms: the time.
            phase: what they are doing from then on.
            cause: the number of the cause.
            committed: True if it could commit before; False if it could not; None if it stands still and may
                go on.
        """
        had = self.owned(member)
        read = had[self.now.read_by_owner(had, at_ms)]
        self._do(Phases.stop, had, at_ms, phase, cause, committed)
        return read

    def halt(
        self, partitions: Collection[int], at_ms: float, phase: Phase, cause: int, *, committed: bool | None
    ) -> None:
        """Stop these partitions, also those that are being opened.

        The arguments are as in `stop`; a reader that stands still may not go on, unless `committed` is None.
        """
        if len(partitions):
            self._log.append(Mergeable(Phases.halt, partitions, at_ms, (phase, cause, committed)))

    def stand(self, partitions: Collection[int], at_ms: float, phase: Phase, cause: int | None) -> None:
        """Move partitions that stand still into another phase; `cause` None keeps the cause of each."""
        if len(partitions):
            self._log.append(Mergeable(Phases.wait, partitions, at_ms, (phase, cause)))

    def hand(self, partitions: Collection[int], member: int, at_ms: float, begins_ms: float | None) -> None:
        """Let a member open these unread partitions, in the order of their numbers.

        It begins to read at `begins_ms`; None: at once.
        """
        self._log.append(Mergeable(Phases.hand, partitions, at_ms, (begins_ms is None,), member, begins_ms))

    def go_on(
        self, rows: NDArray[np.int32], at_ms: float, phases: Sequence[Phase] = (Phase.UNNOTICED,)
    ) -> None:
        """Let the owners of these partitions read them again, if they stand still in one of these phases."""
        again = rows[np.isin(self.now.phase[rows], phases)] if len(rows) else rows
        if len(again):
            self._do(Phases.resume, again, at_ms)

    def stop_all(self, members: NDArray[np.int32], at_ms: NDArray[np.float64], cause: int) -> None:
        """Stop the partitions of members that rejoin, those of each member at its time."""
        self._do(Phases.stop_all, members, at_ms, Phase.PAUSED, cause)

    def wait(self, member: int, old: Phase, at_ms: float, phase: Phase, cause: int) -> NDArray[np.int32]:
        """Move what a member (-1: no member) has in one phase into another phase from now on.

        Returns the partitions that are moved.
        """
        now = self.now
        partitions = rows_where((now.owner == member) & (now.phase == old))
        if len(partitions):
            self._do(Phases.wait, partitions, at_ms, phase, cause)
        return partitions

    def notice(self, member: int, at_ms: float, cause: int, *, committed: bool = False) -> None:
        """Let the group learn that the unread partitions of a member (-1: of no member) are not read."""
        partitions = self.wait(member, Phase.UNNOTICED, at_ms, Phase.PAUSED, cause)
        if self.flow is not None:
            self.flow.stops(partitions, at_ms, committed=committed)

    def start(self, now_ms: float) -> None:
        """Let all owners read their partitions, which they opened long before time 0."""
        rows = rows_where(self.now.owner >= 0)
        self._do(Phases.resume, rows, now_ms)
        if self.flow is not None:
            self.flow.readers.has_read(rows, self._memberships.consumer[self.now.owner[rows]])

    def turn(self, old: Phase, at_ms: float, phase: Phase, cause: int) -> None:
        """Move everything that stands still in one phase into another phase, for another cause."""
        self._do(Phases.turn, old, at_ms, phase, cause)

    def open_all(
        self, members: NDArray[np.int32], at_ms: float, begins_ms: NDArray[np.float64] | None, cause: int
    ) -> None:
        """Let members open the partitions that they were given; see `Phases.open_all`."""
        self._do(Phases.open_all, members, at_ms, begins_ms, cause)

    def zombie(
        self, partitions: NDArray[np.int32], member: int, start_ms: float, end_ms: float, *, reads: bool
    ) -> None:
        """A member reads on what is no longer its own.

        If not `reads`, it gets no new records and is only busy with the ones in its hands. Nothing happens
        unless `end_ms` is later than `start_ms`.
        """
        if len(partitions) == 0 or start_ms >= end_ms:
            return
        consumer = int(self._memberships.consumer[member])
        self.now.watch(partitions)
        zombie = Zombie(partitions, consumer, start_ms, end_ms)
        if reads and self.flow is not None:
            self.flow.zombie(zombie)
        self._zombies.append(zombie)

    def end_process(self, consumer: int, at_ms: float) -> None:
        """End a consumer's process; what it reads on without owning it, it no longer does."""
        for zombie in self._zombies:
            if zombie.consumer == consumer and zombie.end_ms > at_ms:
                zombie.end_ms = at_ms

    def settle(self, now_ms: float) -> None:
        """Complete the handovers that are over by now, and bring the records up to now."""
        self._do(Phases.settle, now_ms)
        if self.flow is not None:
            self.flow.advance(now_ms)

    def places(
        self, assignment: Assignment, members: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the member of each partition, -1 for none, and the partition's place in that member's list.

        Both have shape (partitions,). `members` are those of the assignment, most often in its order.
        """
        ids, topics, member, topic, partition = assignment.to_arrays()
        owner = np.full(self._total, -1, np.int32)
        position = np.zeros(self._total, np.int32)
        if len(member):
            rows = self.first[[self._number[name] for name in topics]][topic]
            rows += partition
            if tuple(map(self._memberships.ids.__getitem__, members.tolist())) != ids:
                members = np.array([self._memberships.serials[partition] for partition in ids], np.int32)
            owner[rows] = members[member]
            position[rows] = ranks(member)
        return owner, position

    def give(
        self, owner: NDArray[np.int32], position: NDArray[np.int32], at_ms: float, cause: int
    ) -> tuple[Change, int]:
        """Give partitions to these members; return the difference, and how many partitions changed consumers.

        Args:
            owner: the member of each partition, -1 for none.
            position: the place of each in its owner's list.
            at_ms: the time; a partition that its owner loses stops then.
            cause: the number of the cause.
        """
        change = Change.between(self.now.owner, self.now.position, owner, position)
        self._do(Phases.own, *change, at_ms, cause)
        return change, self.count_moves(change)

    def count_moves(self, change: Change) -> int:
        """Return how many of a change's partitions go from one consumer to another.

        A partition that had no owner for a while counts from the last consumer that had it.
        """
        owned = change.owner >= 0
        partitions = change.partitions[owned]
        consumer = self._memberships.consumer[change.owner[owned]]
        last = self._last_consumer[partitions]
        self._last_consumer[partitions] = consumer
        return int(np.count_nonzero((last >= 0) & (last != consumer)))

    def finish(self, now_ms: float) -> float:
        """End the run; return the time for which partitions had two readers, in milliseconds, summed."""
        self._do(Phases.finish, now_ms)
        if not self._zombies:
            return 0.0
        partition, start, end = self.now.reads_of_watched()
        twice = 0.0
        for zombie in self._zombies:
            of = np.isin(partition, zombie.partitions)
            both = np.minimum(end[of], min(zombie.end_ms, now_ms)) - np.maximum(start[of], zombie.start_ms)
            twice += float(both[both > 0].sum())
        return twice

    def timeline(self, consumers: tuple[str, ...], until_ms: float) -> Timeline:
        """Return the life of every partition up to the end of the run, from the log.

        `consumers` are the names by number.
        """
        rows: Rows = []
        do_all(self._log, Phases(self._total, self._memberships, self._partition_ms, rows=rows), None)
        nothing = tuple(np.empty(0, kind) for kind in (np.int32, np.float64, np.int8, np.int32))
        parts = list(map(list, zip(nothing, *rows, strict=True)))
        rows.clear()

        def column() -> NDArray[Any]:
            # There may be millions of rows: parts are let go of as soon as they are joined.
            joined: NDArray[Any] = np.concatenate(parts.pop(0))
            return joined

        partition = column()  # rows are in the order in which they ended: when the partition's next one began
        order = np.argsort(partition, kind="stable")
        partition, start, phase, cause = partition[order], column()[order], column()[order], column()[order]
        del order
        end = np.full(len(start), until_ms)
        end[:-1] = start[1:]
        end[:-1][partition[1:] != partition[:-1]] = until_ms
        read = phase == Phase.CONSUMING
        consumer = np.full(len(start), -1, np.int32)
        consumer[read] = self._memberships.consumer[cause[read]]
        cause[read] = -1
        causes, zombies = tuple(self.causes), self._second_readers(until_ms)
        columns = partition, start, end, phase, consumer
        return Timeline(self.topics, self.first, consumers, *columns, causes, cause, zombies)

    def _second_readers(self, until_ms: float) -> Zombies:
        """Return the stretches in which consumers read partitions that were not theirs."""
        reading = [zomby for zomby in self._zombies if zomby.start_ms < min(zomby.end_ms, until_ms)]
        sizes = np.array([len(partition.partitions) for partition in reading], np.intp)
        return Zombies(
            np.concatenate([np.empty(0, np.int32), *(partition.partitions for partition in reading)]),
            np.repeat(np.array([partition.start_ms for partition in reading], np.float64), sizes),
            np.repeat(
                np.array([min(partition.end_ms, until_ms) for partition in reading], np.float64), sizes
            ),
            np.repeat(np.array([partition.consumer for partition in reading], np.int32), sizes),
        )

    def _do(self, method: Callable[..., None], *arguments: object) -> None:
        """Queue a call of a method of `Phases` with these arguments; `_catch_up` makes it."""
        self._log.append((method, arguments))

    def _catch_up(self) -> None:
        """Make the calls that were queued since the state was looked at last."""
        if self._done < len(self._log):
            waiting, self._done = self._log[self._done :], len(self._log)
            do_all(waiting, self._phases, self._flow)
