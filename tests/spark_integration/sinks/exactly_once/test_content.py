"""The digest of records: the same for the same records, and for no others."""

import pyarrow as pa
import pytest
from pyspark.sql import Row

from spark_integration.sinks.exactly_once.target import Content
from spark_integration.sinks.records import as_batches

pytestmark = pytest.mark.needs("time")

HEADERS = pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()}))
TIME = pa.timestamp("us", "UTC")
ROWS = pa.record_batch(
    {
        "key": pa.array([b"a", None, b"", b"ab", b"b"]),
        "value": pa.array(["", "one", None, "three", "x"]),
        "headers": pa.array(
            [None, [], [{"key": "h", "value": None}], [{"key": "", "value": b"v"}] * 2, None], HEADERS
        ),
        "timestamp": pa.array([1, None, 2, 3, None], pa.int64()).cast(TIME),
        "partition": pa.array([4] * 5, pa.int32()),
    }
)

SCHEMA = pa.schema({"key": pa.binary(), "value": pa.binary(), "timestamp": TIME})


def digest(rows: pa.RecordBatch, size: int = 100) -> str:
    content = Content()
    for first in range(0, rows.num_rows, size):
        content.add(rows.slice(first, size))
    assert content.records == rows.num_rows
    return content.digest()


def changed(column: str, values: pa.Array) -> pa.RecordBatch:
    return ROWS.set_column(ROWS.schema.get_field_index(column), column, values)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_it_does_not_depend_on_batches(size: int) -> None:
    assert digest(ROWS, size) == digest(ROWS)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.large_binary()])
def test_it_does_not_depend_on_how_bytes_are_held(kind: pa.DataType) -> None:
    assert digest(changed("key", ROWS["key"].cast(kind)), 2) == digest(ROWS)


@pytest.mark.parametrize("column", ["key", "headers", "timestamp"])
def test_a_column_of_nulls_is_no_column(column: str) -> None:
    nulls = changed(column, pa.nulls(5, ROWS[column].type))
    assert digest(nulls, 2) == digest(nulls.drop_columns([column]))


@pytest.mark.parametrize("column", ["key", "value", "timestamp"])
def test_rows_of_nulls_are_hashed_however_spark_hands_them_over(column: str) -> None:
    rows = [Row(**{"key": "a", "value": b"v", column: None})] * 2
    (batch,) = as_batches(iter(rows))
    assert digest(batch, 1) == digest(pa.RecordBatch.from_pylist(2 * [rows[0].asDict()], schema=SCHEMA))


OTHERS = {
    "a byte": changed("key", pa.array([b"A", None, b"", b"ab", b"b"])),
    "null and empty": changed("key", pa.array([b"a", b"", None, b"ab", b"b"])),
    "where a key ends": changed("key", pa.array([b"a", None, b"", b"a", b"bb"])),
    "key and value": changed("value", ROWS["key"]).set_column(0, "key", ROWS["value"]),
    "order": ROWS.take([1, 0, 2, 3, 4]),
    "one fewer": ROWS.slice(0, 4),
    "a header's name": changed(
        "headers",
        pa.array([None, [], [{"key": "g", "value": None}], [{"key": "", "value": b"v"}] * 2, None], HEADERS),
    ),
    "whose header": changed(
        "headers",
        pa.array([None, [{"key": "h", "value": None}], [], [{"key": "", "value": b"v"}] * 2, None], HEADERS),
    ),
    "a time": changed("timestamp", pa.array([1, None, 2, 4, None], pa.int64()).cast(TIME)),
}


@pytest.mark.parametrize("rows", OTHERS.values(), ids=OTHERS)
def test_it_tells_records_apart(rows: pa.RecordBatch) -> None:
    assert digest(rows) != digest(ROWS)
