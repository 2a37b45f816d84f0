"""The timeline of a run: when every partition was consumed, by whom, and why it was not."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Phase(IntEnum):
    """The state of a partition at a time."""

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


PHASE_NAMES = {
    Phase.UNNOTICED: "detection",
    Phase.PAUSED: "barrier",
    Phase.COMPUTING: "compute",
    Phase.HANDOVER: "handover",
}
"""Every phase in which a partition stands still, in their order, as outages and reports call it."""

Rows = list[tuple["NDArray[Any]", ...]]
"""Parts of a timeline as columns: partition, start, phase, and who reads, or the cause that nobody does."""


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
        """Return every stretch in which a partition existed and was not read: its flat index, start and end.

        The three columns are in the order of `partition`, and then of time; times are milliseconds.
        """
        still = self.phase != Phase.CONSUMING
        partition, start, end = self.partition[still], self.start[still], self.end[still]
        # Two rows of one pause touch: the group noticing is not the end of it.
        opens = np.ones(len(start), np.bool_)
        opens[1:] = (partition[1:] != partition[:-1]) | (start[1:] != end[:-1])
        # A pause closes in the row before the next one opens; the first row opens one, so the last one
        # closes.
        closes = np.roll(opens, -1)
        return partition[opens], start[opens], end[closes]
