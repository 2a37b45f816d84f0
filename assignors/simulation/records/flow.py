"""How far behind every partition is, as a flow of records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class RecordsResult:
    """The records of one run; arrays have an element for each partition, in the order of `Timeline.first`.

    Attributes:
        lag_ms: times of the group's lag curve, increasing; the lag is linear between them.
        lag: records behind at these times, over all partitions.
        peak: the most records behind, by partition.
        peak_ms: when.
        recovery_ms: the longest time from the start of an outage until the partition was no further behind
            than before it, by partition; infinite where it never was.
        duplicates: records read twice.
        lost: records never processed though their offsets were committed.
        consumed: records processed, each counted once.
        waiting: records behind at the end.
        arrived: records that came; `consumed + waiting + lost`.
        uncommitted_ms: how long `read_committed` readers of what was made from the partition's records stood
            before an open transaction (the last stable offset did not move), by partition.
        catch_up_ms: how long the partition was read but further behind than before its outage, by partition.
    """

    lag_ms: NDArray[np.float64]
    lag: NDArray[np.float64]
    peak: NDArray[np.float64]
    peak_ms: NDArray[np.float64]
    recovery_ms: NDArray[np.float64]
    duplicates: NDArray[np.float64]
    lost: NDArray[np.float64]
    consumed: NDArray[np.float64]
    waiting: NDArray[np.float64]
    arrived: NDArray[np.float64]
    uncommitted_ms: NDArray[np.float64]
    catch_up_ms: NDArray[np.float64]
