"""Keep the transactions that stopped consumers left open, and for how long partitions wait for them."""

import numpy as np
from numpy.typing import NDArray


class OpenTransactions:
    """The transactions that consumers left open when they stopped (read-process-write since KIP-447).

    Each process has one transactional id. A transaction that a process left open holds the last stable offset
    of its output until its `transaction.timeout.ms` is over or the process is back: `initTransactions` aborts
    the open transaction of its transactional id. A process that wakes up and has lost its partitions aborts
    its transaction itself, since the offsets it sends with its group metadata are refused.

    An element of `_rows` is a transaction that one consumer left open, as three columns: its partitions, and
    for each of them the begin and the end of the transaction. `_of` maps a consumer to the indexes of those
    of its rows whose transactions may still end earlier.
    """

    def __init__(self) -> None:
        self._rows: list[tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]] = []
        self._of: dict[int, list[int]] = {}

    def leave_open(
        self,
        partitions: NDArray[np.intp],
        consumers: NDArray[np.intp],
        at: NDArray[np.float64],
        until: NDArray[np.float64],
    ) -> None:
        """Record that these consumers stop and leave transactions open.

        Each consumer leaves one transaction open over its partitions. The columns have an element for each
        partition: its consumer, and the times in milliseconds at which the transaction is left open and times
        out.
        """
        for consumer in np.unique(consumers).tolist():
            its = consumers == consumer
            self._of.setdefault(consumer, []).append(len(self._rows))
            self._rows.append((partitions[its], at[its], until[its]))

    def end(self, consumer: int, at: float) -> None:
        """End at `at` the transactions that a consumer left open, if they have not ended before.

        A transaction cannot end before it was left open. An earlier `at` gives it the length 0.
        """
        for number in self._of.pop(consumer, ()):
            _, since, until = self._rows[number]
            np.minimum(until, np.maximum(at, since), out=until)

    def of(self, consumers: NDArray[np.intp]) -> list[int]:
        """Return the consumers among these that left a transaction open."""
        return [consumer for consumer in np.unique(consumers).tolist() if consumer in self._of]

    def ends_ms(self) -> float:
        """Return when the last transaction ends, in milliseconds, if nothing else happens; 0 without any."""
        return max((float(until.max(initial=0.0)) for _, _, until in self._rows), default=0.0)

    def waits_ms(self, partitions: int, at: float) -> NDArray[np.float64]:
        """Return for how many milliseconds, up to `at`, each partition was under an open transaction."""
        if not self._rows:
            return np.zeros(partitions)
        where, since, until = map(np.concatenate, zip(*self._rows, strict=True))
        where = np.concatenate([where, where])
        times = np.minimum(np.concatenate([since, until]), at)
        # +1 where a transaction begins and -1 where it ends; a partition waits while the sum is above 0.
        change = np.repeat([1, -1], len(since))
        order = np.lexsort((times, where))
        # The sum is the number of open transactions of a partition between one time and the next. From the
        # last time of one partition to the first time of the next partition the sum is 0.
        lasting = np.diff(times[order]) * (np.cumsum(change[order])[:-1] > 0)
        return np.bincount(where[order][:-1], lasting, partitions).astype(np.float64)
