"""Turn rows of a DataFrame into records: their columns, their types, and the arguments of `produce`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC
from itertools import islice, pairwise, repeat
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from spark_integration.errors import ColumnError, RecordError, key_type_error
from spark_integration.sinks.cluster import check_partition_count
from spark_integration.sinks.placement import KeyRule

TYPES = {
    "key": ("string", "binary"),
    "value": ("string", "binary"),
    "headers": ("array<struct<key:string,value:binary>>",),
    "timestamp": ("timestamp",),
    "topic": ("string",),
    "partition": ("int",),
}
"""The columns of a record and their Spark types.

These are the columns of Spark's own Kafka sink, and `timestamp`, which that sink lacks.
"""

ARROW_TYPES = {
    "key": pa.binary(),
    "value": pa.binary(),
    "headers": pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    "timestamp": pa.timestamp("us", "UTC"),
    "topic": pa.string(),
    "partition": pa.int32(),
}
"""The same columns with their Arrow types; keys and values are bytes."""

NO_PARTITION = -1
"""The partition number with which librdkafka chooses the partition itself."""

NOW = 0
"""The timestamp that librdkafka replaces with the time of the call."""

HELD_BYTES = 16 << 20
"""At most about this many bytes of rows become records at a time.

Spark 4.0 bounds only the number of rows.
"""


def check_columns(columns: Mapping[str, str], *, topic: str | None) -> None:
    """Raise ColumnError unless rows with these columns can be written as records.

    Args:
        columns: column name -> `simpleString` of its Spark type.
        topic: the topic of every record; None if a column `topic` must name it.
    """
    for name, spark_type in columns.items():
        if name not in TYPES:
            close = difflib.get_close_matches(name.lower(), TYPES, n=1)
            hint = f"did you mean {close[0]!r}?" if close else "leave it out with select()"
            raise ColumnError(f"a Kafka record has no {name!r}, only {', '.join(TYPES)}; {hint}")
        if name == "key" and spark_type not in TYPES[name]:
            raise key_type_error(name, spark_type)
        if spark_type not in TYPES[name]:
            raise ColumnError(
                f"column {name!r} is of type {spark_type}; a record takes {' or '.join(TYPES[name])}: cast it"
            )
    if "value" not in columns:
        raise ColumnError("a record needs a column 'value' (string or binary; it may be null)")
    if topic is None and "topic" not in columns:
        raise ColumnError("the records have no topic: give the option 'topic' or a column 'topic'")


def records(
    batch: pa.RecordBatch,
    counts: Mapping[str, int],
    topic: str | None,
    computed_for: int | None = None,
    rule: KeyRule | None = None,
) -> list[Iterable[Any]]:
    """Check a batch's rows, and return them as one iterable for each argument of `Producer.produce`.

    If every row names its partition, the records come sorted by partition, and the records of each partition
    keep their order.

    Args:
        batch: rows with the columns of `TYPES`.
        counts: partition count of each topic that may be written.
        topic: the topic of all rows; None if a column names it.
        computed_for: the partition count for which the rows' partitions were computed; None if unknown.
        rule: the rule that gives each key its partition; None if rows are not checked.

    Returns:
        Topic, value, key and partition (-1: the producer chooses). If the rows have a timestamp or headers,
        two iterables of None follow (the callbacks), then the timestamps in ms (0: now) and the headers. An
        iterable may be endless (`repeat`); the one of partitions is a list.

    Raises:
        RecordError: a row has no topic, names a topic or partition that the cluster does not have, has a
            timestamp that Kafka does not accept, or has a header without a name.
        PartitionCountError: a topic has another count than `computed_for`.
        RoutingError: a keyed row has another partition than `rule` gives it.
    """
    columns: dict[str, pa.Array] = dict(zip(batch.schema.names, batch.columns, strict=True))
    names, which = _topics(columns.get("topic"), topic, counts, batch.num_rows)
    partition = np.full(batch.num_rows, NO_PARTITION, np.int32)
    if "partition" in columns:
        named = columns["partition"].is_valid().to_numpy(zero_copy_only=False)
        partition[named] = columns["partition"].drop_null().to_numpy()
        limits = np.array([counts[name] for name in names], np.int32)[which]
        for number in np.flatnonzero(np.bincount(which[named])).tolist():
            check_partition_count(names[number], counts[names[number]], computed_for)
        # A null means that the producer chooses. A -1 in the column is refused as a mistake.
        outside = named & ((partition < 0) | (partition >= limits))
        if outside.any():
            row = int(outside.argmax())
            raise RecordError(
                f"a row names partition {partition[row]} of topic {names[which[row]]!r}, which has "
                f"{limits[row]} partitions (0 to {limits[row] - 1}): compute the column with "
                f"kafka_partition(key, {limits[row]})"
            )
        if rule is not None:
            rule.check(columns["key"], partition, limits)
        # Rows are sorted by partition, which saves librdkafka a third of its work. If a row names no
        # partition, no row is moved: such a row may go to any partition, and must not overtake the records
        # there.
        if named.all() and (partition[1:] < partition[:-1]).any():
            # The partitions get the smallest type, because NumPy sorts integers of 16 bits and fewer by
            # radix. The sort is stable, so the records of a partition keep their order.
            order = partition.astype(np.min_scalar_type(partition.max())).argsort(kind="stable")
            partition, which = partition[order], which[order]
            columns = {name: column.take(order) for name, column in columns.items()}
    arguments: list[Iterable[Any]] = [
        repeat(topic) if topic is not None else np.array(names, object)[which].tolist(),
        _bytes(columns["value"]),
        _bytes(columns["key"]) if "key" in columns else repeat(None),
        partition.tolist(),
    ]
    if "timestamp" in columns or "headers" in columns:
        arguments += [
            repeat(None),
            repeat(None),
            _timestamps(columns["timestamp"]) if "timestamp" in columns else repeat(NOW),
            _headers(columns["headers"]) if "headers" in columns else repeat(None),
        ]
    return arguments


def as_batches(
    items: Iterator[Any], most_rows: int = 10_000, most_bytes: int = HELD_BYTES
) -> Iterator[pa.RecordBatch]:
    """Yield a writer's input as record batches of about `most_bytes` bytes at most.

    Record batches that are larger are cut. Rows are gathered into batches.

    Args:
        items: the input that Spark gives to a writer: record batches, or rows before Spark 4.1.
        most_rows: the most rows that are gathered into a batch.
        most_bytes: about the most bytes of keys and values that a batch may have.
    """
    for first in items:
        if isinstance(first, pa.RecordBatch):
            yield from _parts(first, most_bytes)
            continue
        rows, size = [first], _size(first)
        while size < most_bytes and len(rows) < most_rows and (row := next(items, None)) is not None:
            rows.append(row)
            size += _size(row)
        yield _gather(rows)


def _size(row: Any) -> int:
    """Return the size of a row's key and value in bytes; in texts each character counts as one byte."""
    return sum(len(row[name] or b"") for name in ("key", "value") if name in row)


def _parts(batch: pa.RecordBatch, most_bytes: int) -> Iterator[pa.RecordBatch]:
    """Yield a batch in slices of about `most_bytes` bytes of keys and values, at least one row each."""
    if batch.nbytes <= most_bytes:
        yield batch
        return
    sizes = [pc.binary_length(batch.column(name)) for name in {"key", "value"} & {*batch.schema.names}]
    ends = sum(size.fill_null(0).to_numpy().astype(np.int64) for size in sizes).cumsum()
    cuts = np.searchsorted(ends, np.arange(most_bytes, ends[-1], most_bytes)) + 1
    for begin, end in pairwise(np.unique([0, *cuts, batch.num_rows]).tolist()):
        yield batch.slice(begin, end - begin)


def _gather(rows: Sequence[Any]) -> pa.RecordBatch:
    """Return rows as one batch, with the Arrow types of a record's columns."""
    dicts = [row.asDict(recursive=True) for row in rows]  # recursive, because headers are rows, too
    columns = {name: [record[name] for record in dicts] for name in dicts[0]}
    if "timestamp" in columns:
        # Spark's rows have local times without a zone, which Arrow would take for UTC.
        columns["timestamp"] = [time and time.astimezone(UTC) for time in columns["timestamp"]]
    # The types are given, because a column of nothing but nulls would get the type "null". Texts become
    # bytes, which makes the same record.
    return pa.record_batch(
        {name: pa.array(values, ARROW_TYPES.get(name)) for name, values in columns.items()}
    )


def _topics(
    column: pa.Array | None, topic: str | None, counts: Mapping[str, int], rows: int
) -> tuple[Sequence[str], NDArray[np.int32]]:
    """Return the names of a batch's topics, and for each row the index of its topic among them.

    Raises RecordError if a row has no topic, or a topic that `counts` lacks.
    """
    if topic is not None:
        return [topic], np.zeros(rows, np.int32)
    assert column is not None
    if column.null_count:
        raise RecordError("a row has a null in column 'topic'")
    encoded = column.dictionary_encode()
    names: list[str] = encoded.dictionary.to_pylist()
    for name in names:
        if name not in counts:
            raise RecordError(f"a row names topic {name!r}, which the cluster does not have")
    return names, encoded.indices.to_numpy()


def _bytes(column: pa.Array) -> list[bytes | None]:
    """Return a column of texts or bytes as a list of bytes, None for null."""
    values: list[bytes | None] = column.cast(pa.binary()).to_numpy(zero_copy_only=False).tolist()
    return values


def _timestamps(column: pa.Array) -> list[int]:
    """Return a column of times as milliseconds since 1970; `NOW` for null.

    Raises:
        RecordError: a time is before 1970-01-01T00:00:00.001Z.
    """
    # The column has microseconds. The division rounds towards 0, so each time before 1970 becomes 0 or less:
    # it is refused, because librdkafka would take a 0 for "now".
    milliseconds = pc.divide(column.cast(pa.int64()), 1000)
    earliest = pc.min(milliseconds).as_py()
    if earliest is not None and earliest <= 0:
        raise RecordError(
            f"a row has a timestamp {-earliest} ms before, or at, 1970-01-01T00:00:00Z; "
            "Kafka takes only later ones"
        )
    filled: list[int] = milliseconds.fill_null(NOW).to_numpy().tolist()
    return filled


def _headers(column: pa.Array) -> list[list[tuple[str, bytes | None]] | None]:
    """Return the headers of each row as `produce` takes them, a list of (name, value); None for null.

    Raises:
        RecordError: a header has no name.
    """
    names, values = column.flatten().flatten()
    if names.null_count:
        raise RecordError("a row has a header without a name")
    pairs = zip(names.to_pylist(), _bytes(values), strict=True)
    lengths = pc.list_value_length(column).to_pylist()
    return [None if length is None else [*islice(pairs, length)] for length in lengths]
