"""Transactions that a process left open, and those who wait for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class OpenTransactions:
    """Read-process-write as clients do it since KIP-447: a transactional id for each process.

    What a process left open holds the last stable offset of what it wrote until its `transaction.timeout.ms`
    is over, or until the process is back: `initTransactions` aborts what its transactional id had open. A
    process that wakes up and has lost its partitions aborts by itself, since the offsets it sends with its
    group metadata are refused.
    """

    def __init__(self) -> None:
        self._rows: list[tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]] = []
        self._of: dict[int, list[int]] = {}

    def left(
        self,
        partitions: NDArray[np.intp],
        consumers: NDArray[np.intp],
        at: NDArray[np.float64],
        until: NDArray[np.float64],
    ) -> None:
        """These consumers stop and leave a transaction open over these partitions that lasts until then."""
        for consumer in np.unique(consumers).tolist():
            its = consumers == consumer
            self._of.setdefault(consumer, []).append(len(self._rows))
            self._rows.append((partitions[its], at[its], until[its]))

    def ended(self, consumer: int, at: float) -> None:
        """What this consumer had left open ends at that time, if it has not before."""
        for number in self._of.pop(consumer, ()):
            _, since, until = self._rows[number]
            np.minimum(until, np.maximum(at, since), out=until)

    def of(self, consumers: NDArray[np.intp]) -> list[int]:
        """Those of the consumers that left something open."""
        return [consumer for consumer in np.unique(consumers).tolist() if consumer in self._of]

    def waited(self, partitions: int, at: float) -> NDArray[np.float64]:
        """How long each partition has been under at least one of them, up to `at`."""
        if not self._rows:
            return np.zeros(partitions)
        where, since, until = map(np.concatenate, zip(*self._rows, strict=True))
        where = np.concatenate([where, where])
        times = np.minimum(np.concatenate([since, until]), at)
        change = np.repeat([1, -1], len(since))
        order = np.lexsort((times, where))
        # How many are open between one time and the next; none are between two partitions.
        lasting = np.diff(times[order]) * (np.cumsum(change[order])[:-1] > 0)
        return np.bincount(where[order][:-1], lasting, partitions).astype(np.float64)
