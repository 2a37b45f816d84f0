"""Read less for a batch whose query filters by partition, offset or timestamp.

Every filter is given back to Spark, which applies it to the rows. So a record that the filters exclude may be
read all the same, but a record that they let through must never be left out here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from partitioning.clients.contact import Place
from spark_integration.reading.cluster import ClusterReader, OffsetRange

_MOST = 2**63
_EQUAL = ("EqualTo", "EqualNullSafe")


@dataclass(frozen=True)
class QueryBounds:
    """Holds which records a query's filters can let through; the bounds are the same for each partition.

    Attributes:
        partitions: numbers of the partitions to read; None for all.
        first: the first offset to read.
        end: the offset after the last one to read.
        since_ms: records with an older timestamp need not be read, in ms since 1970; None for any age.
    """

    partitions: frozenset[int] | None = None
    first: int = 0
    end: int = _MOST
    since_ms: int | None = None

    def ranges(
        self, cluster: ClusterReader, starts: Mapping[Place, int], ends: Mapping[Place, int]
    ) -> list[OffsetRange]:
        """Return the range to read of each partition, sorted by topic and partition; a range may be empty.

        Args:
            cluster: asked for the offset of a time, if a filter names one.
            starts: (topic, partition) -> the first offset that the read would take without filters.
            ends: (topic, partition) -> the offset after the last one that the read would take without
                filters, for the same partitions.

        Raises:
            BrokerUnreachableError: a partition's leader does not answer in time.
        """
        places = [place for place in sorted(ends) if self.partitions is None or place[1] in self.partitions]
        # The broker finds the first record that is not older than the time: every record before it is older.
        # Records after it may have any time, because producers set the times. So a filter for times *before*
        # a given time cannot make the range shorter.
        since = {} if self.since_ms is None else cluster.since(places, self.since_ms)
        return [
            OffsetRange(
                *place,
                max(starts[place], self.first, since.get(place, 0)),
                0 if since.get(place) == -1 else min(ends[place], self.end),
            )
            for place in places
        ]


def wanted_by(filters: Iterable[Any]) -> QueryBounds:
    """Return the bounds that all of these filters together allow; an unknown filter narrows nothing.

    Args:
        filters: objects of `pyspark.sql.datasource.Filter`.
    """
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
            # The bound is one millisecond earlier, because the float of `timestamp()` may be rounded up.
            time_ms = int(value.timestamp() * 1000) - 1
            since_ms = max(time_ms, 0 if since_ms is None else since_ms)
    return QueryBounds(partitions, first, end, since_ms)


def _bounds(kind: str, value: int) -> tuple[int, int]:
    """Return the first offset that a comparison with `value` lets through, and the offset after the last.

    Args:
        kind: class name of Spark's filter; an unknown one allows every offset.
        value: the offset with which the filter compares.
    """
    return {
        "EqualTo": (value, value + 1),
        "EqualNullSafe": (value, value + 1),
        "GreaterThan": (value + 1, _MOST),
        "GreaterThanOrEqual": (value, _MOST),
        "LessThan": (0, value),
        "LessThanOrEqual": (0, value + 1),
    }.get(kind, (0, _MOST))
