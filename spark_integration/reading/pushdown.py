"""Narrows a batch's read to the records that its query can want, by the filters that Spark offers.

Every filter is given back to Spark, which applies it again: what is narrowed here only saves reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from partitioning.clients.contact import Place
from spark_integration.reading.cluster import Cluster, Range

_MOST = 2**63
_EQUAL = ("EqualTo", "EqualNullSafe")


@dataclass(frozen=True)
class Bounds:
    """Bounds what a query can want of a partition.

    Attributes:
        partitions: its partition numbers; None for all.
        first: the first offset.
        end: the offset after the last one.
        since_ms: no record older than this, in ms since 1970; None for any age.
    """

    partitions: frozenset[int] | None = None
    first: int = 0
    end: int = _MOST
    since_ms: int | None = None

    def ranges(self, cluster: Cluster, starts: Mapping[Place, int], ends: Mapping[Place, int]) -> list[Range]:
        """Return what to read of each partition between `starts` and `ends`, in the order of partitions."""
        places = [place for place in sorted(ends) if self.partitions is None or place[1] in self.partitions]
        # All records before the first that is not older than a time are older. Nothing is known of those
        # after it, for producers set times and need not be in order: so later bounds narrow nothing.
        since = {} if self.since_ms is None else cluster.since(places, self.since_ms)
        return [
            Range(
                *place,
                max(starts[place], self.first, since.get(place, 0)),
                0 if since.get(place) == -1 else min(ends[place], self.end),
            )
            for place in places
        ]


def wanted_by(filters: Iterable[Any]) -> Bounds:
    """Return the bounds that all of these filters of Spark (`pyspark.sql.datasource.Filter`) leave."""
    partitions: frozenset[int] | None = None
    first, end, since_ms = 0, _MOST, None
    for condition in filters:
        column, kind = getattr(condition, "attribute", None), type(condition).__name__
        value: Any = getattr(condition, "value", None)
        if column == ("partition",) and kind in {"In", *_EQUAL}:
            numbers = frozenset(value if kind == "In" else [value])
            partitions = numbers if partitions is None else partitions & numbers
        elif column == ("offset",) and type(value) is int:
            low, high = _bounds(kind, value)
            first, end = max(first, low), min(end, high)
        elif column == ("timestamp",) and kind in {"GreaterThan", "GreaterThanOrEqual", *_EQUAL}:
            time_ms = int(value.timestamp() * 1000) - 1  # a float may round up
            since_ms = max(time_ms, 0 if since_ms is None else since_ms)
    return Bounds(partitions, first, end, since_ms)


def _bounds(kind: str, value: int) -> tuple[int, int]:
    """Return the first offset, and the one after the last, for which a comparison can be true."""
    return {
        "EqualTo": (value, value + 1),
        "EqualNullSafe": (value, value + 1),
        "GreaterThan": (value + 1, _MOST),
        "GreaterThanOrEqual": (value, _MOST),
        "LessThan": (0, value),
        "LessThanOrEqual": (0, value + 1),
    }.get(kind, (0, _MOST))
