"""Rows of a DataFrame as records: the columns of a record, their types, and what a producer is given."""

from __future__ import annotations

import difflib
from datetime import UTC
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any

from spark_integration.errors import ColumnError, RecordError
from spark_integration.sinks.cluster import check_count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

TYPES = {
    "key": ("string", "binary"),
    "value": ("string", "binary"),
    "headers": ("array<struct<key:string,value:binary>>",),
    "timestamp": ("timestamp",),
    "topic": ("string",),
    "partition": ("int",),
}
"""The columns of a record and their types: those of Spark's own Kafka sink, and the timestamp it lacks."""

NO_PARTITION = -1
NOW = 0

Record = tuple[str, Any, Any, int, int, Any]
"""topic, value, key, partition (-1: the producer decides), timestamp in ms (0: now) and headers."""


def check_columns(columns: Mapping[str, str], *, topic: str | None) -> None:
    """Raise unless rows with these columns are records.

    Args:
        columns: name and Spark type (`simpleString`) of each column.
        topic: topic of every record; None where a column must name it.

    Raises:
        ColumnError: a column is unknown, missing or of the wrong type.
    """
    for name, spark_type in columns.items():
        if name not in TYPES:
            close = difflib.get_close_matches(name.lower(), TYPES, n=1)
            hint = f"did you mean {close[0]!r}?" if close else "leave it out with select()"
            raise ColumnError(f"a Kafka record has no {name!r}, only {', '.join(TYPES)}; {hint}")
        if spark_type not in TYPES[name]:
            raise ColumnError(
                f"column {name!r} is of type {spark_type}; a record takes {' or '.join(TYPES[name])}: cast it"
            )
    if "value" not in columns:
        raise ColumnError("a record needs a column 'value' (string or binary; it may be null)")
    if topic is None and "topic" not in columns:
        raise ColumnError("the records have no topic: give the option 'topic' or a column 'topic'")


def records(
    batch: pa.RecordBatch, counts: Mapping[str, int], topic: str | None, computed_for: int | None = None
) -> Iterator[Record]:
    """The records of a batch. Every place is checked before the first record is given out.

    Where each row names its partition they come partition by partition, which costs librdkafka a third less;
    the records of a partition keep their order.

    Args:
        batch: rows whose columns `check_columns` has accepted.
        counts: partition count of every topic that may be written.
        topic: topic of every record; None where the rows name theirs.
        computed_for: the count of the partition column; None where that is not known.

    Raises:
        RecordError: a row without a topic, with a topic or partition the cluster does not have, with a
            timestamp that Kafka does not take, or with a header without a name.
        PartitionCountError: a row's topic has another count than its partition was computed for.
    """
    batch = _by_partition(batch)
    columns: dict[str, pa.Array] = dict(zip(batch.schema.names, batch.columns, strict=True))
    topics = [topic] * batch.num_rows if topic is not None else columns["topic"].to_pylist()
    partitions = _partitions(topics, columns.get("partition"), counts, computed_for)
    return zip(
        topics,
        columns["value"].to_pylist(),
        columns["key"].to_pylist() if "key" in columns else repeat(None),
        partitions,
        _timestamps(columns["timestamp"]) if "timestamp" in columns else repeat(NOW),
        _headers(columns["headers"]) if "headers" in columns else repeat(None),
        strict=False,
    )


def _by_partition(batch: pa.RecordBatch) -> pa.RecordBatch:
    if "partition" not in batch.schema.names:
        return batch
    column = batch.column("partition")
    if column.null_count:  # such a row may join any of the others
        return batch
    partition = column.to_numpy()
    if not (partition[1:] < partition[:-1]).any():
        return batch
    return batch.take(partition.argsort(kind="stable"))


def as_batches(items: Iterator[Any], size: int = 10_000) -> Iterator[pa.RecordBatch]:
    """What Spark hands a writer, as record batches: they pass, and rows are gathered into them."""
    import pyarrow as pa  # noqa: PLC0415 - executors unpickle this function by value

    for first in items:
        if isinstance(first, pa.RecordBatch):
            yield first
            continue
        rows = [first, *islice(items, size - 1)]
        columns = {name: [row[name] for row in rows] for name in first.__fields__}
        if "headers" in columns:
            columns["headers"] = [
                headers and [h and h.asDict() for h in headers] for headers in columns["headers"]
            ]
        if "timestamp" in columns:
            # Rows carry local time without a zone, which Arrow would take for UTC.
            columns["timestamp"] = [time and time.astimezone(UTC) for time in columns["timestamp"]]
        yield pa.record_batch({name: pa.array(values) for name, values in columns.items()})


def _partitions(
    topics: Sequence[str | None],
    column: pa.Array | None,
    counts: Mapping[str, int],
    computed_for: int | None,
) -> Sequence[int]:
    wanted: list[int | None] = column.to_pylist() if column is not None else [None] * len(topics)
    for topic, partition in set(zip(topics, wanted, strict=True)):
        if topic is None:
            raise RecordError("a row has a null in column 'topic'")
        if topic not in counts:
            raise RecordError(f"a row names topic {topic!r}, which the cluster does not have")
        if partition is None:
            continue
        check_count(topic, counts[topic], computed_for)
        if not 0 <= partition < counts[topic]:
            raise RecordError(
                f"a row names partition {partition} of topic {topic!r}, which has {counts[topic]} partitions "
                f"(0 to {counts[topic] - 1}): compute the column with kafka_partition(key, {counts[topic]})"
            )
    return [NO_PARTITION if partition is None else partition for partition in wanted]


def _timestamps(column: pa.Array) -> list[int]:
    import pyarrow as pa  # noqa: PLC0415 - as above
    import pyarrow.compute as pc  # noqa: PLC0415

    # Microseconds; a null becomes "now", which librdkafka spells 0. Division cuts towards 0, so all that is
    # before 1970 comes out as 0 or less.
    milliseconds = pc.divide(column.cast(pa.int64()), 1000)
    earliest = pc.min(milliseconds).as_py()
    if earliest is not None and earliest <= 0:
        raise RecordError(
            f"a row has a timestamp {-earliest} ms before, or at, 1970-01-01T00:00:00Z; "
            "Kafka takes only later ones"
        )
    filled: list[int] = milliseconds.fill_null(NOW).to_pylist()
    return filled


def _headers(column: pa.Array) -> Iterator[list[tuple[str, bytes | None]] | None]:
    for headers in column.to_pylist():
        if headers is None:
            yield None
        elif any(header is None or header["key"] is None for header in headers):
            raise RecordError("a row has a header without a name")
        else:
            yield [(header["key"], header["value"]) for header in headers]
