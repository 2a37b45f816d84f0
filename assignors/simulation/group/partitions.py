"""Every partition of a scenario: whether it exists, who was given it, and what happens to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assignors.simulation.inputs.events import Grow
from assignors.simulation.outcome.timeline import Phase, Recorder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from assignors.assignment import Assignment
    from assignors.simulation.inputs.scenario import Scenario
    from assignors.simulation.outcome.timeline import Timeline


class Partitions:
    """The partitions as columns; members are known by their serial numbers, -1 is nobody.

    Attributes:
        counts: how many partitions each topic has now.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.counts = [topic.partitions for topic in scenario.topics]
        self._number = {topic.name: number for number, topic in enumerate(scenario.topics)}
        most = {topic.name: topic.partitions for topic in scenario.topics}
        most |= {event.topic: event.partitions for event in scenario.events if isinstance(event, Grow)}
        self._first = np.concatenate([[0], np.cumsum([*most.values()], dtype=np.int64)])
        total = int(self._first[-1])
        self._recorder = Recorder(total)
        self._owner = np.full(total, -1, np.int64)
        self._last_consumer = np.full(total, -1, np.int64)
        self._recorder.change(np.flatnonzero(self._up_to(self.counts)), 0.0, Phase.PAUSED)

    @property
    def unread(self) -> int:
        """Partitions that exist and nobody reads."""
        phase = self._recorder.phase
        return int(np.count_nonzero((phase != Phase.ABSENT) & (phase != Phase.CONSUMING)))

    def grow(self, topic: str, count: int, now_ms: float) -> int:
        """A topic gets more partitions, unnoticed; gives the topic's number."""
        number = self._number[topic]
        start = int(self._first[number])
        new = np.arange(start + self.counts[number], start + count)
        self._recorder.change(new, now_ms, Phase.UNNOTICED)
        self.counts[number] = count
        return number

    def stop(self, member: int, at_ms: float, phase: Phase) -> None:
        """What the member reads, it no longer does."""
        self._recorder.change(self._of(member, Phase.CONSUMING), at_ms, phase)

    def notice(self, member: int, now_ms: float) -> None:
        """The group learns that what this member had is not read, or that there are partitions nobody had."""
        self._recorder.change(self._of(member, Phase.UNNOTICED), now_ms, Phase.PAUSED)

    def resume(self, member: int, consumer: int, now_ms: float) -> None:
        """The member reads what it was given again."""
        self._recorder.change(np.flatnonzero(self._owner == member), now_ms, Phase.CONSUMING, consumer)

    def owners(self, assignment: Assignment, serial_of: Mapping[str, int]) -> NDArray[np.int64]:
        """The member each partition goes to."""
        ids, topics, member, topic, partition = assignment.to_arrays()
        serials = np.array([serial_of[each] for each in ids], np.int64)
        first = np.array([self._first[self._number[name]] for name in topics], np.int64)
        owner = np.full(len(self._owner), -1, np.int64)
        owner[first[topic] + partition] = serials[member]
        return owner

    def losers(self, owner: NDArray[np.int64]) -> list[int]:
        """Members that must give something up for this."""
        lost = (self._owner >= 0) & (self._owner != owner)
        return np.unique(self._owner[lost]).tolist()  # type: ignore[no-any-return]

    def stop_all(self, at_ms: NDArray[np.float64]) -> None:
        """Everything that is read stops, each partition at the time of its owner."""
        read = np.flatnonzero(self._recorder.phase == Phase.CONSUMING)
        self._recorder.change(read, at_ms[self._owner[read]], Phase.PAUSED)

    def hand_over(
        self,
        owner: NDArray[np.int64],
        consumer: NDArray[np.int64],
        running: NDArray[np.bool_],
        seen: Sequence[int],
        now_ms: float,
    ) -> int:
        """Stop what stops and start what starts; gives the number of partitions that changed consumers.

        Args:
            owner: the member each partition goes to.
            consumer: the consumer behind each member, -1 behind member -1.
            running: whether each member reads what it is given.
            seen: partition counts as the leader knew them.
            now_ms: when.
        """
        reads = running[owner]
        phase = np.where(reads, Phase.CONSUMING, Phase.PAUSED).astype(np.int8)
        phase[((owner >= 0) & ~reads) | ~self._up_to(seen)] = Phase.UNNOTICED
        reader = np.where(reads, consumer[owner], -1).astype(np.int32)
        there = np.flatnonzero(self._up_to(self.counts))
        self._recorder.change(there, now_ms, phase[there], reader[there])
        given = owner >= 0
        moved = given & (self._last_consumer >= 0) & (self._last_consumer != consumer[owner])
        self._last_consumer[given] = consumer[owner][given]
        self._owner = owner
        return int(np.count_nonzero(moved))

    def timeline(self, now_ms: float, consumers: tuple[str, ...]) -> Timeline:
        """Everything up to now."""
        return self._recorder.finish(now_ms, tuple(self._number), self._first, consumers)

    def _of(self, member: int, phase: Phase) -> NDArray[np.intp]:
        return np.flatnonzero((self._owner == member) & (self._recorder.phase == phase))

    def _up_to(self, counts: Sequence[int]) -> NDArray[np.bool_]:
        """Partitions that exist where the topics have these counts."""
        mask = np.zeros(int(self._first[-1]), np.bool_)
        for first, count in zip(self._first.tolist(), counts, strict=False):
            mask[first : first + count] = True
        return mask
