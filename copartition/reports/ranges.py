"""Partitions, times and counts as people read them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assignors.partition_list import PartitionList


def ranges(numbers: NDArray[np.integer]) -> str:
    """Ascending numbers with runs drawn together: 0-4,7."""
    if len(numbers) == 0:
        return ""
    breaks = np.flatnonzero(np.diff(numbers) != 1)
    firsts = numbers[np.concatenate([[0], breaks + 1])].tolist()
    lasts = numbers[np.concatenate([breaks, [len(numbers) - 1]])].tolist()
    return ",".join(
        str(first) if first == last else f"{first}-{last}" for first, last in zip(firsts, lasts, strict=True)
    )


def partition_ranges(partitions: PartitionList) -> str:
    """Partitions sorted by topic and number: orders:15-19 pay:2."""
    topics = np.unique(partitions.topics)
    return " ".join(
        f"{partitions.names[topic]}:{ranges(partitions.partitions[partitions.topics == topic])}"
        for topic in topics.tolist()
    )


def duration(milliseconds: float) -> str:
    """A time in the unit that suits it: 850 ms, 2.9 s, 3 min 54 s, 2 h 05 min; one without end is never."""
    if milliseconds == math.inf:
        return "never"
    if milliseconds < 1_000:
        return f"{milliseconds:.0f} ms"
    if milliseconds < 59_950:
        return f"{milliseconds / 1_000:.1f} s"
    seconds = round(milliseconds / 1_000)
    if seconds < 3_600:
        return f"{seconds // 60} min {seconds % 60:02d} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min"


def count(number: int, noun: str) -> str:
    """1 partition, 2 partitions."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def clock(milliseconds: float) -> str:
    """A moment, to the millisecond: 0 s, 850 ms, 1 min 40 s, 12.926 s, 2 h 5 min."""
    left = round(milliseconds)
    if 0 < left < 1_000:
        return f"{left} ms"
    minutes, left = divmod(left, 60_000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{left // 1_000}.{left % 1_000:03d}".rstrip("0").rstrip(".")
    parts = ((f"{hours:,}", "h"), (f"{minutes}", "min"), (seconds, "s"))
    return " ".join(f"{number} {unit}" for number, unit in parts if number != "0") or "0 s"


def number(value: float | None) -> str:
    """A number with its thousands apart; unknown is said."""
    return "unknown" if value is None else f"{value:,}"
