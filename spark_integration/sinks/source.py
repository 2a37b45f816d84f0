"""Implement the half of Spark's data source interface that writes, for `format("copartition")`.

`docs/spark-sink.md` describes the options, the checks, the guarantees, the order of records and the memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import datasource
from pyspark.sql.types import StructType

from partitioning.errors import InvalidConfigError
from spark_integration.columns import LANES, PARTITIONS, TASKS
from spark_integration.errors import ColumnError, RoutingError
from spark_integration.shipping import PLACEMENT, send_by_value
from spark_integration.sinks.cluster import (
    WritableTopics,
    check_same_topics,
    first_wait_s,
    writable_topics,
)
from spark_integration.sinks.delivery import deliver
from spark_integration.sinks.exactly_once.target import Target, target_of
from spark_integration.sinks.exactly_once.writers import OnceBatchWriter, OnceStreamWriter, StreamWriter
from spark_integration.sinks.options import SinkOptions, read_sink_options
from spark_integration.sinks.placement import KeyRule, key_rule
from spark_integration.sinks.records import as_batches, check_columns

# Executors unpickle the writer, and a Connect server unpickles the data source. This package may not be
# installed there, so these modules are pickled by value.
send_by_value(
    "copartition.kit.words",
    "partitioning.clients",
    *PLACEMENT,
    "spark_integration.errors",
    "spark_integration.sinks",
)


class KafkaSink(datasource.DataSource):
    """Writes DataFrames and streams. `KafkaDataSource` adds reading, and `PackedSource` the name."""

    def writer(self, schema: StructType, overwrite: bool) -> datasource.DataSourceWriter:
        """Return the writer of a batch; called by Spark on the driver, before any task starts.

        Errors are as in `_destination`, `writable_topics` and `prepare`.
        """
        if overwrite:
            raise InvalidConfigError("a topic can only be appended to: use mode('append')")
        destination = _destination(schema, self.options)
        if destination.sink.once is not None:
            return OnceBatchWriter(destination.target(stream=False))
        return _BatchWriter(destination.with_topics(first_wait_s(destination.sink.config)))

    def streamWriter(self, schema: StructType, overwrite: bool) -> datasource.DataSourceStreamWriter:  # noqa: ARG002, N802
        """Return the writer of a stream; called by Spark on the driver, twice a micro-batch.

        Records are appended in every output mode. Errors are as in `_destination`; the cluster is not asked
        here.
        """
        destination = _destination(schema, self.options)
        once = destination.sink.once is not None
        writer = OnceStreamWriter(destination.target(stream=True)) if once else _StreamWriter(destination)
        return cast(datasource.DataSourceStreamWriter, writer)


@dataclass(frozen=True)
class _Destination:
    """Tells tasks where to write, and by which rule rows are checked. It is pickled for the tasks.

    Attributes:
        sink: the options of the write.
        noted: the partition count that the metadata of the partition column notes; None if it notes none.
        tasks: number of Spark partitions in which the rows are laid out, by that metadata or by the option;
            None if neither says.
        rule: the rule that gives each key its partition; None if rows are not checked.
        topics: the topics that may be written; empty until the cluster is asked.
    """

    sink: SinkOptions
    noted: int | None
    tasks: int | None
    rule: KeyRule | None
    topics: WritableTopics = field(default=WritableTopics({}, {}))

    def with_topics(self, within_s: float) -> _Destination:
        """Return this destination with the topics that the cluster has; errors as in `writable_topics`."""
        return replace(self, topics=writable_topics(self.sink, self.noted, within_s))

    def target(self, *, stream: bool) -> Target:
        """Return the target of an exactly-once write; errors as in `target_of`."""
        placed_for = self.noted or self.sink.partitions
        return target_of(self.sink, placed_for, self.rule, stream=stream, tasks=self.tasks)

    def take(self, items: Iterator[Any]) -> datasource.WriterCommitMessage:
        """Deliver one task's rows, wait until brokers acknowledge all, and return the topics written."""
        sink, computed_for = self.sink, self.noted or self.sink.partitions
        written = deliver(
            as_batches(items), sink.config, self.topics.counts, sink.topic, computed_for, self.rule
        )
        ids = {name: topic_id for name, topic_id in self.topics.ids.items() if name in written}
        return _WrittenTopics(ids)

    def check(self, messages: Iterable[datasource.WriterCommitMessage | None]) -> None:
        """Raise TopicChangedError if a topic that tasks have written was deleted meanwhile."""
        # `cast` is used, not isinstance(): this package is pickled by value for the tasks, so a task's
        # message is of another class than `_WrittenTopics` here.
        of_tasks = [cast(_WrittenTopics, message).ids for message in messages if message is not None]
        if written := {name: topic_id for ids in of_tasks for name, topic_id in ids.items()}:
            check_same_topics(self.sink.config, written)


@dataclass(frozen=True)
class _WrittenTopics(datasource.WriterCommitMessage):
    """Tells the driver which topics a task wrote, as topic -> its id when the write began."""

    ids: Mapping[str, str]


class _BatchWriter(datasource.DataSourceArrowWriter):
    """Writes a batch at least once. Each task waits until its own records are acknowledged.

    So nothing is left for `commit` to write. It only checks that no topic was deleted meanwhile.
    """

    def __init__(self, destination: _Destination) -> None:
        self._destination = destination

    def write(self, iterator: Iterator[pa.RecordBatch]) -> datasource.WriterCommitMessage:
        """Write one task's rows; called by Spark in the task."""
        return self._destination.take(iterator)

    def commit(self, messages: list[datasource.WriterCommitMessage | None]) -> None:
        self._destination.check(messages)


class _StreamWriter(StreamWriter):
    """Writes each micro-batch at least once."""

    def __init__(self, destination: _Destination) -> None:
        self._destination = destination

    def _ask(self) -> None:
        # This instance is pickled once for each task of a micro-batch. The cluster is asked only the first
        # time.
        if not self._destination.topics.counts:
            destination = self._destination
            self._destination = destination.with_topics(first_wait_s(destination.sink.config))

    def _take(self, items: Iterator[Any]) -> datasource.WriterCommitMessage:
        return self._destination.take(items)

    def commit(self, messages: list[datasource.WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803
        self._destination.check(messages)


def _destination(schema: StructType, options: Mapping[str, str]) -> _Destination:
    """Return the destination of rows with this schema by the options; the cluster is not asked yet.

    Raises:
        ColumnError: the rows cannot be records, or an exactly-once write has no column 'partition'.
        InvalidConfigError: an option is unknown, has no valid value, or contradicts another one.
        RoutingError: the rows of an exactly-once write are routed in lanes.
        UnknownStrategyError: there is no such profile.
    """
    sink = read_sink_options(options, os.environ)
    columns = {column.name: column for column in schema.fields}
    check_columns(
        {name: column.dataType.simpleString() for name, column in columns.items()}, topic=sink.topic
    )
    if sink.once is not None and "partition" not in columns:
        raise ColumnError(
            "an exactly-once write needs column 'partition': compute it with kafka_partition(), and route()"
        )
    notes = columns["partition"].metadata if "partition" in columns else {}
    if sink.once is not None and notes.get(LANES, 1) > 1:
        raise RoutingError(
            "an exactly-once write has each Kafka partition in one task, and the rows are routed in "
            f"{notes[LANES]} lanes of each: call route() without lanes"
        )
    rule = key_rule(sink.profile, sink.partition, notes, columns)
    return _Destination(sink, notes.get(PARTITIONS), notes.get(TASKS, sink.tasks), rule)
