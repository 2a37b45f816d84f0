"""Keep the ledger of a run: every transition of every partition, in the order in which it was decided.

A group (`copartition.simulation.group`) makes the decisions and writes them here; nothing else changes a
partition. Everything else is computed from the ledger: what a partition is doing now, how long it stood
still, how many records wait in it, and its timeline. `PartitionStates` reads the transitions in their order,
and `RecordFlow` keeps who reads which partition since when. Both are brought up to the ledger's end only when
they are read, because many transitions together take less time than one by one.

A partition has a number within its topic, and a flat index over the partitions of all topics (`Partitions`).
The ledger and its folds know flat indexes only.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copartition.simulation.group.memberships import Memberships
from copartition.simulation.inputs.events import Create, Grow
from copartition.simulation.inputs.scenario import Scenario
from copartition.simulation.outcome.timeline import Phase, Rows, Timeline, Zombies
from copartition.simulation.partition_states import PartitionStates, Transition, TransitionKind, fold
from copartition.simulation.records.flow import RecordFlow
from copartition.simulation.records.readers import Zombie
from partitioning.kit.columns import bounds, range_numbers
from partitioning.topic_partition import TopicPartition

JOINING = (Phase.PAUSED, Phase.COMPUTING)
"""The phases that a partition goes through while its reader rejoins."""


def rows_where(mask: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return the flat indexes of a mask's partitions, ascending, as int32."""
    return mask.nonzero()[0].astype(np.int32)


def rows_of(partitions: Collection[int]) -> NDArray[np.int32]:
    """Return a set of flat indexes as a column, ascending, as int32."""
    return np.array(sorted(partitions), np.int32)


class Partitions:
    """The topics of a run, and their partitions by flat index, `first[topic] + number`.

    `counts` says how many partitions of each topic exist now. Flat indexes leave room for all partitions that
    a topic will ever get.
    """

    def __init__(self, scenario: Scenario) -> None:
        """Number the topics and partitions of a scenario.

        Each topic gets room for the largest number of partitions that any event gives it, so flat indexes
        never change during the run.
        """
        counts = {topic.name: topic.partitions for topic in scenario.topics}
        most = dict(counts)
        for event in scenario.events:
            if isinstance(event, Create | Grow):
                # A topic that an event creates has a number from the start, but no partition until that
                # event.
                counts.setdefault(event.topic, 0)
                most[event.topic] = max(most.get(event.topic, 0), event.partitions)
        self.topics = tuple(counts)  # names; topics created later at the end
        self.counts = list(counts.values())  # how many partitions each topic has now; 0 before it is created
        # Flat index of each topic's first partition, then the number of all; shape (topics + 1,).
        self.first = bounds(np.array([most[name] for name in self.topics], np.int64))
        self.total = int(self.first[-1])  # how many partitions there will ever be
        self._number = {name: number for number, name in enumerate(self.topics)}
        # `racks`: topic -> racks of the replicas of each partition, for topics whose replicas have moved.
        # `_moved`: numbers of topics whose last change was such a move.
        self.racks: dict[str, tuple[tuple[str, ...], ...]] = {}
        self._moved: set[int] = set()

    def present(self) -> NDArray[np.int32]:
        """Return the flat indexes of the partitions that exist now, ascending."""
        return range_numbers(self.first[:-1], np.array(self.counts, np.int64)).astype(np.int32)

    def topic(self, name: str) -> int:
        """Return the number of a topic, by its name."""
        return self._number[name]

    def name(self, partition: int) -> TopicPartition:
        """Return the topic and number of a partition, by its flat index."""
        topic = int(np.searchsorted(self.first, partition, side="right")) - 1
        return TopicPartition(self.topics[topic], partition - int(self.first[topic]))

    def matching(self, pattern: str, counts: Sequence[int]) -> tuple[str, ...]:
        """Return the existing topics whose whole name matches a pattern, in the order of `topics`.

        `counts` has the number of partitions of each topic, in the order of `topics`; a topic exists if its
        count is not 0. A leader may know older counts than those of the cluster.
        """
        return tuple(
            name
            for name, count in zip(self.topics, counts, strict=True)
            if count and re.fullmatch(pattern, name)
        )

    def growth(self, topics: Iterable[int]) -> str:
        """Return the text of a cause: the group has noticed that these topics have changed.

        A topic has changed if it has more partitions, or replicas in other racks. `topics` are topic numbers.
        """
        numbers = [*topics]
        grown = [
            f"{self.topics[topic]} to {self.counts[topic]}" for topic in numbers if topic not in self._moved
        ]
        moved = [self.topics[topic] for topic in numbers if topic in self._moved]
        texts = (f"partitions added ({', '.join(grown)})", f"racks changed ({', '.join(moved)})")
        return ", ".join(text for text, changed in zip(texts, (grown, moved), strict=True) if changed)

    def reassign(self, topic: str, racks: tuple[tuple[str, ...], ...]) -> int:
        """Move a topic's replicas to these racks, a tuple for each partition; return the topic's number."""
        number = self._number[topic]
        self.racks[topic] = racks
        self._moved.add(number)
        return number

    def grow(self, topic: str, count: int) -> NDArray[np.int32]:
        """Create a topic or add partitions, up to `count`; return their flat indexes, ascending."""
        number = self._number[topic]
        start = int(self.first[number])
        new = np.arange(start + self.counts[number], start + count, dtype=np.int32)
        self.counts[number] = count
        self._moved.discard(number)
        return new


class Ledger:
    """The transitions of a run, and what follows from them.

    Partitions are flat indexes, members are numbers of `Memberships`, causes are indexes into `causes`, and
    times are milliseconds. Transitions of one partition must come in the order of time; transitions of
    different partitions may come in any order.

    A transition may name its partitions as a collection or as a column (a NumPy array). Collections wait
    until the state is read, and are then folded together. So a group that changes a few partitions at a time
    passes collections, and one that changes many passes columns.
    """

    def __init__(self, scenario: Scenario, partitions: Partitions, memberships: Memberships) -> None:
        """Begin with all partitions of time 0, none of which has a reader.

        `partitions` and `memberships` are shared with the group, which adds to them during the run; the
        ledger only reads them.
        """
        # The causes of pauses in words, by number. The text of a cause may be made more exact during the run.
        self.causes: list[str] = []
        self._partitions = partitions
        self._memberships = memberships
        self._partition_ms = scenario.costs.partition_ms
        self.transitions: list[Transition] = []  # all of them; only methods of this class append
        self._folded = 0  # how many of `transitions` have been applied to `_states` and `_flow`
        self._flow = (
            None if scenario.load is None else RecordFlow(scenario, partitions.first, partitions.topics)
        )
        self._states = PartitionStates(partitions.total, memberships, self._partition_ms, flow=self._flow)
        # All second readers so far. If the process of a zombie ends before `end_ms`, `end_ms` is set to that
        # time.
        self._zombies: list[Zombie] = []
        self.add_partitions(partitions.present(), 0.0, Phase.PAUSED, self.cause("nobody in the group"))

    @property
    def now(self) -> PartitionStates:
        """The state of every partition after all transitions so far.

        Waiting transitions are folded first. So a loop that writes and reads this in turn pays for one fold
        each time.
        """
        if self._folded < len(self.transitions):
            self._fold()
        return self._states

    @property
    def flow(self) -> RecordFlow | None:
        """The records after all transitions so far; None without a load."""
        if self._folded < len(self.transitions):
            self._fold()
        return self._flow

    def cause(self, text: str) -> int:
        """Return the number of a new cause for which partitions are not read.

        The text in `causes[number]` may be reworded later.
        """
        self.causes.append(text)
        return len(self.causes) - 1

    def owned_partitions(self, member: int) -> NDArray[np.int32]:
        """Return the partitions that a member was given last, ascending; they may not be read yet.

        The partitions of a silent or dead member stay its own until the group gives them to another member.
        """
        return rows_where(self.now.owner == member)

    # The methods that write the seven kinds of transitions, as `TransitionKind` defines them.

    def add_partitions(self, partitions: NDArray[np.int32], at_ms: float, phase: Phase, cause: int) -> None:
        """Add partitions that exist from now on and have no reader."""
        self._write(TransitionKind.SETTLE, partitions, at_ms, phase, cause)

    def own(
        self,
        partitions: NDArray[np.integer],
        owner: NDArray[np.integer],
        position: NDArray[np.integer],
        at_ms: float,
        cause: int,
    ) -> None:
        """Give partitions to other members, or change their positions in their owners' lists.

        The three columns have equal length: `owner` has the member of each partition, -1 for none, and
        `position` has its index in that member's list. A partition that changes its owner stops for `cause`;
        one that only changes its position does not. The stop is written first, because the timeline row that
        the stop ends takes its reader from the old owner.
        """
        moved = partitions[self.now.owner[partitions] != owner].astype(np.int32)
        self._write(TransitionKind.STOP, moved, at_ms, Phase.PAUSED, cause)
        self._write(TransitionKind.OWN, partitions, at_ms, member=owner, position=position)

    def open(self, partitions: Collection[int], member: int, at_ms: float, begins_ms: float | None) -> None:
        """Let a member open these partitions, which are not read, in the order of their flat indexes.

        The member begins at `begins_ms`; None means at once. Opening takes `Costs.partition_ms` for each
        partition, one after another. Each partition is read as soon as it is open, not only when all are.
        """
        self._write(
            TransitionKind.OPEN, partitions, at_ms, Phase.HANDOVER, member=member, begins_ms=begins_ms
        )

    def open_all(
        self, members: NDArray[np.int32], at_ms: float, begins_ms: NDArray[np.float64] | None, cause: int
    ) -> None:
        """Let members open the partitions that they were given and that are not read yet.

        `begins_ms` has the time at which each member begins; None means at once. `cause` is the number of the
        cause for which the partitions are not read until then.
        """
        now = self.now
        partitions = now.waiting_for(members)
        if len(partitions) and begins_ms is not None:
            # Turn one time for each member into one for each partition. All these partitions have an owner.
            begins_ms = now.by_member(members, begins_ms)[now.owner[partitions]]
        self._write(TransitionKind.OPEN, partitions, at_ms, Phase.HANDOVER, cause, begins_ms=begins_ms)

    def read(
        self, rows: NDArray[np.int32], at_ms: float, phases: Sequence[Phase] = (Phase.UNNOTICED,)
    ) -> None:
        """Let the owners of these partitions read them again, if they stand still in one of these phases.

        Partitions in any other phase are left alone, so a caller may pass everything that a member owns. They
        are read at once, without callbacks, because nothing was taken from their owner.
        """
        again = rows[np.isin(self.now.phase[rows], phases)] if len(rows) else rows
        self._write(TransitionKind.READ, again, at_ms)

    def begin(self, now_ms: float) -> None:
        """Let all owners read their partitions, which they opened long before time 0."""
        rows = rows_where(self.now.owner >= 0)
        self._write(TransitionKind.READ, rows, now_ms)
        if self.flow is not None:
            self.flow.readers.has_read(rows, self._memberships.consumer[self.now.owner[rows]])

    def stop(self, members: NDArray[np.int32], at_ms: NDArray[np.float64], cause: int) -> None:
        """Stop the partitions of members that rejoin, those of each member at its time in `at_ms`."""
        now = self.now
        until = now.by_member(members, at_ms)
        # `until` is NaN for members that do not rejoin. Its last element, found by index -1 of partitions
        # without an owner, is NaN too.
        partitions = (~np.isnan(until[now.owner])).nonzero()[0]
        self._write(TransitionKind.STOP, partitions, until[now.owner[partitions]], Phase.PAUSED, cause)

    def halt(
        self, partitions: Collection[int], at_ms: float, phase: Phase, cause: int, *, committed: bool | None
    ) -> None:
        """Stop these partitions, also those that are being opened, and move all of them into this phase.

        `committed` is True if the reader could commit before it stopped, and False if it could not. It is
        None if the reader only stands still and may go on where it was.
        """
        self._halt(partitions, at_ms, phase, cause, committed, settles=True)

    def halt_member(
        self, member: int, at_ms: float, phase: Phase, cause: int, *, committed: bool | None
    ) -> NDArray[np.int32]:
        """Stop all that a member reads; return what it reads, or would read if it did not stand still.

        The arguments are as in `halt`, but a partition that stands still already keeps its phase. The result
        has flat indexes, ascending.
        """
        had = self.owned_partitions(member)
        # `read_by_owner` must be asked before the stop is written: afterwards the member reads none of these
        # partitions.
        read = had[self.now.read_by_owner(had, at_ms)]
        self._halt(had, at_ms, phase, cause, committed, settles=False)
        return read

    def suspend(
        self, partitions: NDArray[np.int32], at_ms: float, ends_ms: float | NDArray[np.float64], cause: int
    ) -> None:
        """Let the readers of these partitions stand still, and go on by themselves at `ends_ms`.

        Their applications run callbacks for other partitions. `ends_ms` is one time, or one for each
        partition. Partitions that stand still for another reason are left alone.
        """
        self._write(TransitionKind.STALL, partitions, at_ms, Phase.HANDOVER, cause, begins_ms=ends_ms)

    def suspend_members(
        self, members: NDArray[np.int32], at_ms: float, ends_ms: NDArray[np.float64], cause: int
    ) -> None:
        """Suspend everything that these members read, each member until its time in `ends_ms`."""
        now = self.now
        until = now.by_member(members, ends_ms)[now.owner]
        partitions = rows_where(~np.isnan(until))
        self.suspend(partitions, at_ms, until[partitions], cause)

    def settle(self, partitions: Collection[int], at_ms: float, phase: Phase, cause: int | None) -> None:
        """Move partitions that stand still into another phase; `cause` None keeps the cause of each."""
        self._write(TransitionKind.SETTLE, partitions, at_ms, phase, cause)

    def settle_all(
        self, old: Phase, at_ms: float, phase: Phase, cause: int, *, member: int | None = None
    ) -> None:
        """Move all partitions that stand still in phase `old` into another phase.

        With `member`, only the partitions of that member are moved; -1 means those without an owner. `old` is
        compared with the present phases, so everything written before counts.
        """
        still = self.now.phase == old
        if member is not None:
            still &= self.now.owner == member
        self._write(TransitionKind.SETTLE, rows_where(still), at_ms, phase, cause)

    def notice(self, member: int, at_ms: float, cause: int, *, committed: bool = False) -> None:
        """Let the group notice that partitions of a member (-1: partitions without an owner) are not read.

        Their phase changes from UNNOTICED to PAUSED, so the rest of their pause counts as waiting at the
        barrier and no longer as detection. Partitions in any other phase are left alone: the group knows of
        them already.
        """
        unnoticed = rows_where((self.now.owner == member) & (self.now.phase == Phase.UNNOTICED))
        self._halt(unnoticed, at_ms, Phase.PAUSED, cause, committed, settles=True)

    # Second readers.

    def zombie(
        self, partitions: NDArray[np.int32], member: int, start_ms: float, end_ms: float, *, reads: bool
    ) -> None:
        """Let a member go on reading partitions that are no longer its own, from `start_ms` to `end_ms`.

        If `reads` is False, the member gets no new records and only processes the ones it has fetched.
        Nothing happens unless `end_ms` is later than `start_ms`.
        """
        if len(partitions) == 0 or start_ms >= end_ms:
            return
        consumer = int(self._memberships.consumer[member])
        # From here on the reads of these partitions are kept, so that `finish` can compare them with the
        # zombie's.
        self.now.watch(partitions)
        zombie = Zombie(partitions, consumer, start_ms, end_ms)
        if reads and self.flow is not None:
            self.flow.zombie(zombie)
        self._zombies.append(zombie)

    def end_process(self, consumer: int, at_ms: float) -> None:
        """End a consumer's process, and with it all its reads as a zombie."""
        for zombie in self._zombies:
            if zombie.consumer == consumer and zombie.end_ms > at_ms:
                zombie.end_ms = at_ms

    # The effects of the transitions.

    def catch_up(self, now_ms: float) -> None:
        """Complete the handovers that are over by now, and bring the records up to now."""
        self.now.settle(now_ms)
        if self.flow is not None:
            self.flow.advance(now_ms)

    def finish(self, now_ms: float) -> float:
        """End the run; return the milliseconds for which partitions had two readers, summed over them.

        A stretch of time counts for each partition that a zombie and the owner read during it. Two zombies of
        one partition count separately.
        """
        self.now.finish(now_ms)
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
        """Return the phases of every partition up to the end of the run; `consumers` has the names by number.

        This folds all transitions once more from the beginning, now with rows kept. They are not kept during
        the run, because most callers ask for the summary only. The caller must have ended the run; `until_ms`
        is its end in milliseconds.
        """
        rows: Rows = []
        states = PartitionStates(self._partitions.total, self._memberships, self._partition_ms, rows=rows)
        fold(self.transitions, states, None)
        states.finish(until_ms)
        nothing = tuple(np.empty(0, kind) for kind in (np.int32, np.float64, np.int8, np.int32))
        parts = list(map(list, zip(nothing, *rows, strict=True)))
        rows.clear()

        def column() -> NDArray[Any]:
            # There may be millions of rows, so parts are freed as soon as they are joined.
            joined: NDArray[Any] = np.concatenate(parts.pop(0))
            return joined

        # Rows come in the order in which they ended; a stable sort brings each partition's rows together.
        partition = column()
        order = np.argsort(partition, kind="stable")
        partition, start, phase, cause = partition[order], column()[order], column()[order], column()[order]
        del order
        end = np.full(len(start), until_ms)
        # A row ends where the partition's next row begins. The last row of each partition ends with the run.
        end[:-1] = start[1:]
        end[:-1][partition[1:] != partition[:-1]] = until_ms
        # The fourth column has a membership in rows of CONSUMING and a cause in all others. Separate the two
        # here.
        read = phase == Phase.CONSUMING
        consumer = np.full(len(start), -1, np.int32)
        consumer[read] = self._memberships.consumer[cause[read]]
        cause[read] = -1
        topics, first, zombies = (
            self._partitions.topics,
            self._partitions.first,
            self._second_readers(until_ms),
        )
        columns = partition, start, end, phase, consumer
        return Timeline(topics, first, consumers, *columns, tuple(self.causes), cause, zombies)

    def _second_readers(self, until_ms: float) -> Zombies:
        """Return the stretches in which consumers read partitions that were not theirs.

        Stretches are cut at the end of the run. There is one row for each partition of each zombie, in the
        order in which the zombies began.
        """
        reading = [zombie for zombie in self._zombies if zombie.start_ms < min(zombie.end_ms, until_ms)]
        sizes = np.array([len(zombie.partitions) for zombie in reading], np.intp)
        ends_ms = [min(zombie.end_ms, until_ms) for zombie in reading]
        return Zombies(
            np.concatenate([np.empty(0, np.int32), *(zombie.partitions for zombie in reading)]),
            np.repeat(np.array([zombie.start_ms for zombie in reading], np.float64), sizes),
            np.repeat(np.array(ends_ms, np.float64), sizes),
            np.repeat(np.array([zombie.consumer for zombie in reading], np.int32), sizes),
        )

    def _halt(
        self,
        partitions: Collection[int] | NDArray[np.int32],
        at_ms: float,
        phase: Phase,
        cause: int,
        committed: bool | None,
        *,
        settles: bool,
    ) -> None:
        """Write that readers stall (`committed` is None) or lose these partitions; see `halt`."""
        kind = TransitionKind.STALL if committed is None else TransitionKind.LOSE
        self._write(kind, partitions, at_ms, phase, cause, committed=bool(committed), settles=settles)

    def _write(
        self,
        kind: TransitionKind,
        partitions: Collection[int] | NDArray[np.integer],
        at_ms: float | NDArray[np.float64],
        phase: Phase = Phase.CONSUMING,
        cause: int | None = None,
        **more: Any,
    ) -> None:
        """Append a transition, unless it names no partition."""
        if len(partitions):
            self.transitions.append(Transition(kind, partitions, at_ms, phase, cause, **more))

    def _fold(self) -> None:
        """Apply the transitions that `_states` and `_flow` have not seen yet."""
        new, self._folded = self.transitions[self._folded :], len(self.transitions)
        fold(new, self._states, self._flow)
