import time
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Row

from spark_integration import ColumnError, PartitionCountError, RecordError
from spark_integration.sinks.records import as_batches, check_columns, records

NOON = datetime(2013, 1, 1, 12, tzinfo=UTC)
NOON_MS = 1357041600000
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
TIMESTAMP = pa.timestamp("us", tz="UTC")


def batch(**columns: pa.Array) -> pa.RecordBatch:
    return pa.record_batch(columns)


def rows_of(arguments: list[Iterable[Any]]) -> list[tuple[Any, ...]]:
    """Topic, value, key and partition of each record, and timestamp and headers where a column has them."""
    return [(*row[:4], *row[6:]) for row in zip(*arguments, strict=False)]


def test_a_row_with_every_column_is_a_whole_record() -> None:
    rows = batch(
        key=pa.array([b"k"]),
        value=pa.array(["v"]),
        headers=pa.array([[{"key": "h", "value": b"1"}, {"key": "h", "value": None}]], HEADERS),
        timestamp=pa.array([NOON], TIMESTAMP),
        topic=pa.array(["t"]),
        partition=pa.array([3], pa.int32()),
    )
    assert rows_of(records(rows, {"t": 4}, None)) == [
        ("t", b"v", b"k", 3, NOON_MS, [("h", b"1"), ("h", None)])
    ]


def test_what_a_row_does_not_say_is_left_to_the_producer() -> None:
    assert rows_of(records(batch(value=pa.array([b"v", None])), {"t": 4}, "t")) == [
        ("t", b"v", None, -1),
        ("t", None, None, -1),
    ]


def test_nulls_are_left_to_the_producer_too() -> None:
    rows = batch(
        key=pa.array([None], pa.binary()),
        value=pa.array([b"v"]),
        headers=pa.array([None], HEADERS),
        timestamp=pa.array([None], TIMESTAMP),
        partition=pa.array([None], pa.int32()),
    )
    assert rows_of(records(rows, {"t": 4}, "t")) == [("t", b"v", None, -1, 0, None)]


def test_the_topic_of_the_write_wins_over_the_column() -> None:
    rows = batch(value=pa.array([b"v"]), topic=pa.array(["other"]))
    assert [record[0] for record in rows_of(records(rows, {"t": 4}, "t"))] == ["t"]


def test_the_latest_timestamp_of_python_is_a_records() -> None:
    """A float holds no microseconds after the year 2255."""
    rows = batch(value=pa.array([b"v"]), timestamp=pa.array([datetime.max.replace(tzinfo=UTC)], TIMESTAMP))
    assert [record[4] for record in rows_of(records(rows, {"t": 4}, "t"))] == [253_402_300_799_999]


def test_a_timestamp_is_cut_to_the_millisecond() -> None:
    times = [NOON + timedelta(microseconds=micros) for micros in (0, 1, 999, 1000, 1999)]
    rows = batch(value=pa.array([b"v"] * 5), timestamp=pa.array(times, TIMESTAMP))
    assert [record[4] - NOON_MS for record in rows_of(records(rows, {"t": 4}, "t"))] == [0, 0, 0, 1, 1]


@pytest.mark.parametrize(
    ("partition", "values"),
    [
        ([1, 0, 1, 0, 0], [1, 3, 4, 0, 2]),
        ([0, 0, 1, 1, 1], [0, 1, 2, 3, 4]),
        ([1, 0] * 50, [*range(1, 100, 2), *range(0, 100, 2)]),
        ([1, None, 1, 0, 0], [0, 1, 2, 3, 4]),
    ],
    ids=["mixed", "in order", "many", "left to the producer"],
)
def test_records_come_partition_by_partition_where_each_row_names_its_own(
    partition: list[int | None], values: list[int]
) -> None:
    numbers = [b"%d" % number for number in range(len(partition))]
    rows = batch(value=pa.array(numbers), partition=pa.array(partition, pa.int32()))
    assert [int(record[1]) for record in rows_of(records(rows, {"t": 2}, "t"))] == values


def test_the_records_of_a_partition_keep_their_order_in_a_large_batch() -> None:
    partition = [
        number * 7919 % 31 % 3 for number in range(1000)
    ]  # NumPy keeps the order of 16 rows by itself
    rows = batch(value=pa.array(map(str, range(1000))), partition=pa.array(partition, pa.int32()))
    found = [(record[3], int(record[1])) for record in rows_of(records(rows, {"t": 3}, "t"))]
    assert found == sorted(found)


def test_an_empty_batch_has_no_records() -> None:
    rows = batch(value=pa.array([], pa.binary()), timestamp=pa.array([], TIMESTAMP))
    assert rows_of(records(rows, {"t": 4}, "t")) == []


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (
            {"partition": pa.array([0, 4], pa.int32())},
            r"partition 4 of topic 't', which has 4 partitions \(0 to 3\)",
        ),
        ({"partition": pa.array([0, -1], pa.int32())}, "partition -1 of topic 't'"),
        (
            {"timestamp": pa.array([NOON, datetime(1969, 12, 31, tzinfo=UTC)], TIMESTAMP)},
            "before, or at, 1970",
        ),
        ({"timestamp": pa.array([NOON, datetime(1970, 1, 1, tzinfo=UTC)], TIMESTAMP)}, "before, or at, 1970"),
        ({"headers": pa.array([[], [{"key": None, "value": b""}]], HEADERS)}, "header without a name"),
        ({"headers": pa.array([[], [None]], HEADERS)}, "header without a name"),
    ],
)
def test_a_row_that_cannot_be_a_record_is_refused(column: dict[str, pa.Array], message: str) -> None:
    with pytest.raises(RecordError, match=message):
        rows_of(records(batch(value=pa.array([b"v", b"w"]), **column), {"t": 4}, "t"))


@pytest.mark.parametrize(
    ("topic", "message"),
    [(None, "null in column 'topic'"), ("u", "topic 'u', which the cluster does not have")],
)
def test_a_row_of_no_known_topic_is_refused(topic: str | None, message: str) -> None:
    with pytest.raises(RecordError, match=message):
        records(batch(value=pa.array([b"v"]), topic=pa.array([topic], pa.string())), {"t": 4}, None)


@pytest.mark.parametrize(("partition", "refused"), [(0, True), (None, False)])
def test_a_partition_computed_for_another_count_than_the_rows_topic_has_is_refused(
    partition: int | None, refused: bool
) -> None:
    rows = batch(value=pa.array([b"v"]), topic=pa.array(["t"]), partition=pa.array([partition], pa.int32()))
    message = "computed for 6 partitions, and topic 't' has 12"
    with pytest.raises(PartitionCountError, match=message) if refused else nullcontext():
        records(rows, {"t": 12}, None, 6)


@pytest.mark.parametrize(
    ("columns", "topic", "message"),
    [
        ({"value": "binary", "Partition": "int"}, "t", "did you mean 'partition'"),
        ({"value": "binary", "seq": "bigint"}, "t", "leave it out with select"),
        (
            {"value": "binary", "partition": "bigint"},
            "t",
            "'partition' is of type bigint; a record takes int",
        ),
        ({"value": "struct<a:int>"}, "t", "'value' is of type .*string or binary"),
        ({"value": "binary", "timestamp": "bigint"}, "t", "takes timestamp"),
        ({"key": "binary"}, "t", "needs a column 'value'"),
        ({"value": "binary"}, None, "no topic"),
    ],
)
def test_columns_that_make_no_record_are_refused(
    columns: dict[str, str], topic: str | None, message: str
) -> None:
    with pytest.raises(ColumnError, match=message):
        check_columns(columns, topic=topic)


@pytest.fixture(params=["UTC", "America/New_York", "Asia/Kolkata"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The machine's time zone."""
    with monkeypatch.context() as changed:
        changed.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("zone")
def test_rows_of_a_spark_without_arrow_writers_become_batches() -> None:
    local = NOON.astimezone().replace(tzinfo=None)
    rows = [
        Row(value=b"v", timestamp=local, headers=[Row(key="h", value=b"1")], partition=n % 4)
        for n in range(5)
    ]
    batches = list(as_batches(iter(rows), most_rows=2))
    assert [b.num_rows for b in batches] == [2, 2, 1]
    assert [record for b in batches for record in rows_of(records(b, {"t": 4}, "t"))] == [
        ("t", b"v", None, n % 4, NOON_MS, [("h", b"1")]) for n in range(5)
    ]


def test_rows_of_nulls_make_records_too() -> None:
    nulls = Row(key=None, value=None, headers=None, timestamp=None, partition=None, topic="t")
    (rows,) = as_batches(iter([nulls, nulls]))
    assert rows_of(records(rows, {"t": 4}, None)) == [("t", None, None, -1, 0, None)] * 2


def test_batches_pass_as_they_are() -> None:
    rows = batch(value=pa.array([b"v"]))
    assert list(as_batches(iter([rows]))) == [rows]


SIZES = [100, 1, 1, 1, 900, 1, None, 300, 300, 300, 300]


@pytest.mark.parametrize("form", ["rows", "batch"])
def test_no_more_bytes_are_held_than_were_asked_for_and_a_row(form: str) -> None:
    values = [size and bytes(size) for size in SIZES]
    columns = {"key": [b"k"] * len(values), "value": values}
    given = [Row(key=b"k", value=value) for value in values] if form == "rows" else [pa.record_batch(columns)]
    batches = list(as_batches(iter(given), most_bytes=400))
    assert pa.Table.from_batches(batches).to_pydict() == columns
    held = [sum(len(value or b"") for value in batch.column("value").to_pylist()) for batch in batches]
    assert max(held) <= 400 + 900
    assert len(batches) < len(values)


def test_a_batch_of_nothing_but_nulls_is_not_cut_for_its_other_columns() -> None:
    rows = batch(value=pa.array([None] * 3, pa.binary()), timestamp=pa.array([NOON] * 3, TIMESTAMP))
    assert list(as_batches(iter([rows]), most_bytes=1)) == [rows]
