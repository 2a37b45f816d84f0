"""The timeline of a run: when each partition was consumed and by which consumer, and why it was not."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Phase(IntEnum):
    """The state of a partition at a time."""

    ABSENT = 0
    """The partition does not exist yet."""
    CONSUMING = 1
    """The partition's owner is reading it."""
    PAUSED = 2
    """Barrier: the group is rebalancing, or has no member for the partition."""
    UNNOTICED = 3
    """Detection: the partition is new or its owner is gone, and the group has not noticed yet."""
    COMPUTING = 4
    """Compute: the assignor is at work, or its answer is on the way."""
    HANDOVER = 5
    """Handover: the next owner has the partition, and runs callbacks, opens it and fetches records.

    Or the owner keeps the partition, and runs a callback for other partitions.
    """


PHASE_NAMES = {
    Phase.UNNOTICED: "detection",
    Phase.PAUSED: "barrier",
    Phase.COMPUTING: "compute",
    Phase.HANDOVER: "handover",
}
"""Phases in which a partition stands still, in their order, with their names in outages and reports."""

Rows = list[tuple["NDArray[Any]", ...]]
"""Parts of a timeline as columns: partition, start, phase, and the reader or the cause of a pause."""


class Zombies(NamedTuple):
    """Stretches in which a partition was read by a consumer that no longer owned it, as columns.

    `partition` has flat indexes, `consumer` indexes into `Timeline.consumers`; times are milliseconds.
    """

    partition: NDArray[np.int32]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    consumer: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """The phases of every partition as columns: one row is one phase of one partition.

    The rows of a partition follow one another without a gap and without overlap. Times are milliseconds.

    Attributes:
        topics: topic names.
        first: `first[t] + p` is the flat index of partition p of topic t, shape (len(topics) + 1,).
        consumers: consumer names.
        partition: flat index of each row's partition; rows are grouped by it, in the order of time.
        start: when the phase begins.
        end: when it ends, always later than `start`.
        phase: a `Phase`, never ABSENT.
        consumer: index into `consumers` of the reader, -1 outside CONSUMING.
        causes: the causes of pauses in words, such as "worker-3 left".
        cause: index into `causes` of the phase's cause, -1 in CONSUMING.
        zombies: stretches in which a consumer reads a partition that the group has given to another member,
            or may give away at any time, because its process stood still for longer than its session and does
            not know it yet.
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
        """Return every stretch in which a partition existed and was not read: its flat index, start and end.

        The three columns are sorted by partition, then by time; times are milliseconds.
        """
        still = self.phase != Phase.CONSUMING
        partition, start, end = self.partition[still], self.start[still], self.end[still]
        # Two rows that touch belong to one pause, which only goes on in another phase or for another cause.
        opens = np.ones(len(start), np.bool_)
        opens[1:] = (partition[1:] != partition[:-1]) | (start[1:] != end[:-1])
        # A pause closes in the row before the one that opens the next pause. The first row opens a pause, so
        # `roll` makes the last row close one.
        closes = np.roll(opens, -1)
        return partition[opens], start[opens], end[closes]
