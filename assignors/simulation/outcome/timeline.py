"""When every partition was consumed, by whom, and why it was not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Phase(IntEnum):
    """What a partition is doing."""

    ABSENT = 0
    """It does not exist yet."""
    CONSUMING = 1
    """Its owner is reading it."""
    PAUSED = 2
    """Barrier: the group is rebalancing, or has nobody for it."""
    UNNOTICED = 3
    """Detection: its owner is gone, or it is new, and the group does not know yet."""
    COMPUTING = 4
    """The assignor is at work, or its answer on the way."""
    HANDOVER = 5
    """Its next owner knows, and runs callbacks, opens it, fetches the first records."""


class Zombies(NamedTuple):
    """Stretches in which a partition was read by a consumer that no longer owned it, as columns."""

    partition: NDArray[np.int32]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    consumer: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """The life of every partition as columns: one row is one phase of one partition.

    Rows of a partition follow one another without a gap and without overlap; times are milliseconds.

    Attributes:
        topics: topic names.
        first: `first[t] + p` is the index of partition p of topic t, shape (len(topics) + 1,).
        consumers: consumer names.
        partition: partition index of each row; rows are grouped by it, in time order.
        start: when the phase begins.
        end: when it ends, always later.
        phase: a `Phase`, never ABSENT.
        consumer: index into `consumers` of who reads it, -1 outside CONSUMING.
        causes: what pauses were for, such as "worker-3 left".
        cause: index into `causes` of what the phase is due to, -1 in CONSUMING.
        zombies: rows in which a consumer reads a partition that the group has given to somebody else, or may
            at any time: its process stood still for longer than its session and does not know yet.
    """

    topics: tuple[str, ...]
    first: NDArray[np.int64]
    consumers: tuple[str, ...]
    partition: NDArray[np.int32]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    phase: NDArray[np.int8]
    consumer: NDArray[np.int32]
    causes: tuple[str, ...]
    cause: NDArray[np.int32]
    zombies: Zombies

    def pauses(self) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
        """Every stretch in which a partition existed and nobody read it: partition index, start and end."""
        still = self.phase != Phase.CONSUMING
        partition, start, end = self.partition[still], self.start[still], self.end[still]
        # Two rows of one pause touch: the group noticing is not the end of it.
        opens = np.ones(len(start), np.bool_)
        opens[1:] = (partition[1:] != partition[:-1]) | (start[1:] != end[:-1])
        closes = np.roll(opens, -1)
        return partition[opens], start[opens], end[closes]


class Recorder:
    """Collects phases while the simulation runs; the one owner of what a partition is doing now."""

    def __init__(self, partitions: int) -> None:
        self.phase = np.zeros(partitions, np.int8)
        self._consumer = np.full(partitions, -1, np.int32)
        self._since = np.zeros(partitions, np.float64)
        self._rows: list[
            tuple[
                NDArray[np.intp],
                NDArray[np.float64],
                NDArray[np.float64],
                NDArray[np.int8],
                NDArray[np.int32],
            ]
        ] = []

    def change(
        self,
        partitions: NDArray[np.intp],
        at_ms: float | NDArray[np.float64],
        phase: int | NDArray[np.int8],
        consumer: int | NDArray[np.int32] = -1,
    ) -> None:
        """From `at_ms` on these partitions are in this phase; those that are already stay as they are."""
        changed = (self.phase[partitions] != phase) | (self._consumer[partitions] != consumer)
        if not changed.all():
            partitions = partitions[changed]
            at_ms = at_ms[changed] if isinstance(at_ms, np.ndarray) else at_ms
            phase = phase[changed] if isinstance(phase, np.ndarray) else phase
            consumer = consumer[changed] if isinstance(consumer, np.ndarray) else consumer
        if len(partitions) == 0:
            return
        self._close(partitions, np.broadcast_to(np.float64(at_ms), partitions.shape))
        self.phase[partitions] = phase
        self._consumer[partitions] = consumer
        self._since[partitions] = at_ms

    def finish(
        self, at_ms: float, topics: tuple[str, ...], first: NDArray[np.int64], consumers: tuple[str, ...]
    ) -> Timeline:
        """The timeline up to `at_ms`."""
        everything = np.arange(len(self.phase))
        self._close(everything, np.full(len(everything), at_ms))
        partition, start, end, phase, consumer = map(np.concatenate, zip(*self._rows, strict=True))
        order = np.argsort(partition.astype(np.int32), kind="stable")
        return Timeline(
            topics,
            first,
            consumers,
            partition[order].astype(np.int32),
            start[order],
            end[order],
            phase[order],
            consumer[order],
            (),
            np.full(len(order), -1, np.int32),
            Zombies(*(np.empty(0, kind) for kind in (np.int32, np.float64, np.float64, np.int32))),
        )

    def _close(self, partitions: NDArray[np.intp], at_ms: NDArray[np.float64]) -> None:
        lasted = (self._since[partitions] < at_ms) & (self.phase[partitions] != Phase.ABSENT)
        rows = partitions[lasted]
        self._rows.append((rows, self._since[rows], at_ms[lasted], self.phase[rows], self._consumer[rows]))
