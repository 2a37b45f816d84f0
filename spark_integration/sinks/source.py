"""The data source behind `format("copartition")`: Spark's interface around `deliver`.

Columns are those of Spark's Kafka sink and a timestamp: `value` (string or binary), and as wanted `key`
(string or binary), `partition` (int), `headers` (array<struct<key:string,value:binary>>), `timestamp`,
`topic` (string). A column of another name is refused, not ignored. A row without a partition goes where the
Java client would put its key.

Options:
    kafka.bootstrap.servers: the brokers (also `bootstrap.servers`, or the variable KAFKA_BOOTSTRAP_SERVERS).
    topic: topic of every row; wins over the column.
    partitions: the count the partition column was computed for, where `kafka_partition` has not noted it on
        the column; the write is refused if the topic has another.
    kafka.*: any setting of librdkafka's producer, for example kafka.compression.type or kafka.sasl.username
        (also KAFKA_SECURITY_PROTOCOL, KAFKA_SASL_* and KAFKA_SSL_* where the driver runs).

Before a row is sent the driver asks the cluster for the topic and its partitions; each task checks its rows
against them, an Arrow batch at a time. Where rows name their partitions the driver asks again when all tasks
have ended: a write, or a micro-batch, during which the topic got more partitions fails, so that it can be
repeated with the new count.

At least once. A task ends when the brokers have acknowledged all its rows (flush), and fails when one is not
acknowledged within `kafka.delivery.timeout.ms` (two minutes; a minute more where librdkafka itself is
silent): a write or a micro-batch that succeeds is in the topic in full, one that fails may be there in part.
What Spark runs again is sent again: a task that is tried again or run speculatively (keep `spark.speculation`
off), and the whole of a micro-batch that the checkpoint does not hold as finished when a stream restarts. No
other batch is doubled and none is lost. Retries within a task neither double nor reorder (an idempotent
producer), unless the options `acks` or `retries` are set.

Order. The rows of a task that go to one partition keep their order, and `route` gives the rows of a key to
one task. In which order that task gets them is Spark's to say:

- In `foreachBatch`, and for `df.write`, follow `route` with `sortWithinPartitions`: then a key's records are
  in order.
- Written straight through `writeStream`, where Spark sorts nothing, they are in the order in which they were
  read, as far as one task read them: a Kafka partition, a file too small to be split. Between those that
  several tasks of a micro-batch read there is no order, neither at the first attempt nor when repeated.

What is sent again is sent in the same way, so of sorted rows the last copies of a key's records are in order,
too, provided that no earlier attempt is alive any more: one that runs on, as on an executor that Spark has
given up, mixes its own copies in.

A task holds an Arrow batch of rows (on Spark 4.0 a stream's task up to 10,000 of
them) and at most 64 MiB of unsent records (`kafka.queue.buffering.max.kbytes`); while that is full it waits.
A batch of records waits up to 50 ms until it is full (`kafka.linger.ms`), at the end of a task not at all.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from pyspark import cloudpickle
from pyspark.sql import datasource

import partitioning.clients.delivery
import spark_integration.errors
import spark_integration.sinks
from spark_integration.columns import PARTITIONS
from spark_integration.errors import SinkConfigError, SparkIntegrationError
from spark_integration.sinks.cluster import check_unchanged, checked_counts, partition_counts
from spark_integration.sinks.delivery import deliver
from spark_integration.sinks.options import read_options
from spark_integration.sinks.records import as_batches, check_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from spark_integration.sinks.options import SinkOptions

# Executors unpickle the writer without having this package.
for _package in (partitioning.clients.delivery, spark_integration.errors, spark_integration.sinks):
    cast(Any, cloudpickle).register_pickle_by_value(_package)

# Arrow batches reach a stream's writer since Spark 4.1, rows before.
_StreamWriterBase: Any = getattr(datasource, "DataSourceStreamArrowWriter", datasource.DataSourceStreamWriter)


class KafkaSink(datasource.DataSource):
    """The data source; see the module for its options."""

    @classmethod
    def name(cls) -> str:
        """The name in `format(...)`."""
        return "copartition"

    def writer(self, schema: StructType, overwrite: bool) -> datasource.DataSourceWriter:
        """Called by Spark on the driver, before any task starts."""
        if overwrite:
            raise SinkConfigError("a topic can only be appended to: use mode('append')")
        return _BatchWriter(_destination(schema, self.options).checked())

    def streamWriter(self, schema: StructType, overwrite: bool) -> datasource.DataSourceStreamWriter:  # noqa: ARG002, N802
        """Called by Spark on the driver for each micro-batch; every output mode appends."""
        destination, refused = _destination(schema, self.options), None
        try:
            destination = destination.checked()
        except SparkIntegrationError as error:
            # Spark makes a writer to write with, another to commit and another to abort. One that cannot be
            # made to abort would hide why: so it is told when it is used.
            refused = error
        writer: datasource.DataSourceStreamWriter = _StreamWriter(destination, refused)
        return writer


@dataclass(frozen=True)
class _Destination:
    """What tasks need to know.

    Attributes:
        asked: where to write.
        noted: the count that the partition column was computed for; None where it does not say.
        has_partitions: whether there is such a column.
        counts: partition count of every topic that may be written, by the cluster's own account.
    """

    asked: SinkOptions
    noted: int | None
    has_partitions: bool
    counts: Mapping[str, int] = field(default_factory=dict)

    def checked(self) -> _Destination:
        return replace(self, counts=checked_counts(self.asked, self.noted))

    def take(self, batches: Iterator[pa.RecordBatch]) -> _Written:
        asked = self.asked
        topics = deliver(batches, asked.config, self.counts, asked.topic, self.noted or asked.partitions)
        return _Written({topic: self.counts[topic] for topic in topics} if self.has_partitions else {})


@dataclass(frozen=True)
class _Written(datasource.WriterCommitMessage):
    """What a task tells the driver: the topics it wrote to, with the counts that it checked rows against."""

    counts: Mapping[str, int]


def _check_unchanged(
    messages: Iterable[datasource.WriterCommitMessage | None], now: Mapping[str, int]
) -> None:
    for message in messages:
        if message is not None:
            check_unchanged(cast(_Written, message).counts, now)


class _BatchWriter(datasource.DataSourceArrowWriter):
    def __init__(self, destination: _Destination) -> None:
        self._destination = destination

    def write(self, iterator: Iterator[pa.RecordBatch]) -> datasource.WriterCommitMessage:
        return self._destination.take(iterator)

    def commit(self, messages: list[datasource.WriterCommitMessage | None]) -> None:
        if self._destination.has_partitions:
            _check_unchanged(messages, partition_counts(self._destination.asked.config))


class _StreamWriter(_StreamWriterBase):  # type: ignore[misc]
    def __init__(self, destination: _Destination, refused: SparkIntegrationError | None) -> None:
        self._destination = destination
        self._refused = refused

    def write(self, iterator: Iterator[Any]) -> datasource.WriterCommitMessage:
        if self._refused is not None:
            raise self._refused
        return self._destination.take(as_batches(iterator))

    def commit(self, messages: list[datasource.WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803
        if self._refused is not None:
            raise self._refused
        _check_unchanged(messages, self._destination.counts)  # asked for when this writer was made


def _destination(schema: StructType, options: Mapping[str, str]) -> _Destination:
    asked = read_options(options, os.environ)
    columns = {column.name: column for column in schema.fields}
    check_columns(
        {name: column.dataType.simpleString() for name, column in columns.items()}, topic=asked.topic
    )
    noted = columns["partition"].metadata.get(PARTITIONS) if "partition" in columns else None
    return _Destination(asked, noted, "partition" in columns)
