"""The bounds that a query's filters leave of a topic."""

from datetime import UTC, datetime
from importlib import import_module
from typing import Any

import pytest

from spark_integration.reading.cluster import OffsetRange
from spark_integration.reading.pushdown import QueryBounds, wanted_by

pytestmark = pytest.mark.needs("filter pushdown")

TIME = datetime(2026, 11, 28, 12, 0, 0, 123_456, UTC)
TIME_MS = 1_795_867_200_123


def condition(kind: str, column: str, value: Any) -> Any:
    return getattr(import_module("pyspark.sql.datasource"), kind)((column,), value)


@pytest.mark.parametrize(
    ("conditions", "wanted"),
    [
        ([], QueryBounds()),
        ([("EqualTo", "partition", 7)], QueryBounds(frozenset({7}))),
        ([("EqualNullSafe", "partition", 7)], QueryBounds(frozenset({7}))),
        ([("In", "partition", (7, 9))], QueryBounds(frozenset({7, 9}))),
        ([("In", "partition", (7, 9)), ("EqualTo", "partition", 9)], QueryBounds(frozenset({9}))),
        ([("EqualTo", "partition", 7), ("EqualTo", "partition", 9)], QueryBounds(frozenset())),
        ([("GreaterThan", "partition", 7)], QueryBounds()),
        ([("EqualTo", "offset", 5)], QueryBounds(first=5, end=6)),
        ([("GreaterThan", "offset", 5), ("LessThanOrEqual", "offset", 9)], QueryBounds(first=6, end=10)),
        ([("GreaterThanOrEqual", "offset", 5), ("LessThan", "offset", 9)], QueryBounds(first=5, end=9)),
        ([("GreaterThanOrEqual", "timestamp", TIME)], QueryBounds(since_ms=TIME_MS - 1)),
        ([("LessThan", "timestamp", TIME)], QueryBounds()),
        ([("EqualTo", "topic", "orders"), ("EqualTo", "key", b"a")], QueryBounds()),
    ],
)
def test_filters_leave(conditions: list[tuple[str, str, Any]], wanted: QueryBounds) -> None:
    assert wanted_by([condition(*given) for given in conditions]) == wanted


def test_a_filter_that_is_turned_round_leaves_all() -> None:
    turned = import_module("pyspark.sql.datasource").Not(condition("EqualTo", "partition", 7))
    assert wanted_by([turned]) == QueryBounds()


class Clock:
    """A cluster whose partition 0 has the first late record at offset 40, and partition 1 has none."""

    def since(self, places: list[tuple[str, int]], time_ms: int) -> dict[tuple[str, int], int]:
        return {place: 40 if place[1] == 0 else -1 for place in places}


@pytest.mark.parametrize(
    ("wanted", "ranges"),
    [
        (QueryBounds(), [OffsetRange("t", 0, 10, 50), OffsetRange("t", 1, 20, 60)]),
        (QueryBounds(frozenset({1, 5})), [OffsetRange("t", 1, 20, 60)]),
        (QueryBounds(first=15, end=55), [OffsetRange("t", 0, 15, 50), OffsetRange("t", 1, 20, 55)]),
        (QueryBounds(since_ms=1), [OffsetRange("t", 0, 40, 50), OffsetRange("t", 1, 20, 0)]),
    ],
)
def test_a_read_is_narrowed_to(wanted: QueryBounds, ranges: list[OffsetRange]) -> None:
    cluster: Any = Clock()
    assert wanted.ranges(cluster, {("t", 0): 10, ("t", 1): 20}, {("t", 0): 50, ("t", 1): 60}) == ranges


def test_a_reader_passes_for_one_that_takes_no_filters() -> None:
    from pyspark.sql.datasource import DataSourceReader

    from spark_integration.reading.source import KafkaDataSource

    source = KafkaDataSource({"bootstrap.servers": "nowhere:1", "subscribe": "t"})
    reader: Any = source.reader(source.schema())
    assert reader.pushFilters.__func__ is DataSourceReader.pushFilters  # as Spark looks while it is off
    conditions = [condition("EqualTo", "partition", 7)]
    assert reader.pushFilters(conditions) == conditions
    assert reader.wanted == QueryBounds(frozenset({7}))
