"""The data source behind `format("copartition")`: Spark's interface around `deliver`.

`docs/spark-sink.md` has its options, what it checks and promises, order and memory.
Options are read in `options.py`, records are made in `records.py`, and producers are kept in `delivery.py`.
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
    Topics,
    check_same_topics,
    checked_topics,
    first_wait_s,
)
from spark_integration.sinks.delivery import deliver
from spark_integration.sinks.exactly_once.target import Target, target_of
from spark_integration.sinks.exactly_once.writers import OnceBatchWriter, OnceStreamWriter, StreamWriter
from spark_integration.sinks.options import SinkOptions, read_options
from spark_integration.sinks.placement import KeyRule, key_rule
from spark_integration.sinks.records import as_batches, check_columns

# Executors unpickle the writer, and a Connect server the data source, without having this package.
send_by_value(
    "copartition.kit.words",
    "partitioning.clients",
    *PLACEMENT,
    "spark_integration.errors",
    "spark_integration.sinks",
)


class KafkaSink(datasource.DataSource):
    """The sink's half of the data source; `docs/spark-sink.md` has its options, `PackedSource` its name."""

    def writer(self, schema: StructType, overwrite: bool) -> datasource.DataSourceWriter:
        """Called by Spark on the driver, before any task starts."""
        if overwrite:
            raise InvalidConfigError("a topic can only be appended to: use mode('append')")
        destination = _destination(schema, self.options)
        if destination.sink.once is not None:
            return OnceBatchWriter(destination.target(stream=False))
        return _BatchWriter(destination.with_topics(first_wait_s(destination.sink.config)))

    def streamWriter(self, schema: StructType, overwrite: bool) -> datasource.DataSourceStreamWriter:  # noqa: ARG002, N802
        """Called by Spark on the driver, twice a micro-batch; every output mode appends."""
        destination = _destination(schema, self.options)
        once = destination.sink.once is not None
        writer = OnceStreamWriter(destination.target(stream=True)) if once else _StreamWriter(destination)
        return cast(datasource.DataSourceStreamWriter, writer)


@dataclass(frozen=True)
class _Destination:
    """Tells tasks where to write; None if the partition column has no count, or no rule is known.

    Attributes:
        sink: the options.
        noted: the count that the partition column's metadata notes.
        tasks: in how many Spark partitions the rows are laid out by it; None for one for each partition.
        rule: where keyed rows have to be.
        topics: the topics that may be written; none before the cluster was asked.
    """

    sink: SinkOptions
    noted: int | None
    tasks: int | None
    rule: KeyRule | None
    topics: Topics = field(default=Topics({}, {}))

    def with_topics(self, within_s: float) -> _Destination:
        """Return the same with the topics of the cluster; arguments and errors as of `checked_topics`."""
        return replace(self, topics=checked_topics(self.sink, self.noted, within_s))

    def target(self, *, stream: bool) -> Target:
        """Return the version that is to be written exactly once; errors as of `target_of`."""
        placed_for = self.noted or self.sink.partitions
        return target_of(self.sink, placed_for, self.rule, stream=stream, tasks=self.tasks)

    def take(self, items: Iterator[Any]) -> datasource.WriterCommitMessage:
        """Deliver one task's rows; returns once the brokers have acknowledged them."""
        sink, computed_for = self.sink, self.noted or self.sink.partitions
        written = deliver(
            as_batches(items), sink.config, self.topics.counts, sink.topic, computed_for, self.rule
        )
        ids = {name: topic_id for name, topic_id in self.topics.ids.items() if name in written}
        return _WrittenTopics(ids)

    def check(self, messages: Iterable[datasource.WriterCommitMessage | None]) -> None:
        """Raise TopicChangedError if a topic that tasks have written is another now."""
        # The classes of what was pickled by value are not the same here.
        of_tasks = [cast(_WrittenTopics, message).ids for message in messages if message is not None]
        if written := {name: topic_id for ids in of_tasks for name, topic_id in ids.items()}:
            check_same_topics(self.sink.config, written)


@dataclass(frozen=True)
class _WrittenTopics(datasource.WriterCommitMessage):
    """Tells the driver which topics a task wrote, and their ids before the first task."""

    ids: Mapping[str, str]


class _BatchWriter(datasource.DataSourceArrowWriter):
    """Writes a batch, at least once. Its `commit` has nothing to do: every task waits for its own records."""

    def __init__(self, destination: _Destination) -> None:
        self._destination = destination

    def write(self, iterator: Iterator[pa.RecordBatch]) -> datasource.WriterCommitMessage:
        """Write one task's rows; called by Spark in the task."""
        return self._destination.take(iterator)

    def commit(self, messages: list[datasource.WriterCommitMessage | None]) -> None:
        self._destination.check(messages)


class _StreamWriter(StreamWriter):
    """Writes a micro-batch, at least once."""

    def __init__(self, destination: _Destination) -> None:
        self._destination = destination

    def _ask(self) -> None:
        # The driver asks once a micro-batch: this instance is pickled for each of its tasks.
        if not self._destination.topics.counts:
            destination = self._destination
            self._destination = destination.with_topics(first_wait_s(destination.sink.config))

    def _take(self, items: Iterator[Any]) -> datasource.WriterCommitMessage:
        return self._destination.take(items)

    def commit(self, messages: list[datasource.WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803
        self._destination.check(messages)


def _destination(schema: StructType, options: Mapping[str, str]) -> _Destination:
    """Return where rows with this schema go, by these options; asks no cluster.

    Raises:
        ColumnError: the rows are no records, or an exactly-once write has no partition column.
        InvalidConfigError: an option has no meaning.
        RoutingError: rows of an exactly-once write are in lanes.
        UnknownStrategyError: there is no such profile.
    """
    sink = read_options(options, os.environ)
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
