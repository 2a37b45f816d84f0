"""The data source behind `format("copartition")`: Spark's interface around `deliver`.

Columns are those of Spark's Kafka sink and a timestamp: `value` (string or binary), and as wanted `key`
(string or binary), `partition` (int), `headers` (array<struct<key:string,value:binary>>), `timestamp`,
`topic` (string). A column of another name is refused, not ignored. A row without a partition goes where the
Java client would put its key.

Options:
    kafka.bootstrap.servers: the brokers (also `bootstrap.servers`, or the variable KAFKA_BOOTSTRAP_SERVERS).
    topic: topic of every row; wins over the column.
    partitions: the count the partition column was computed for, where `kafka_partition` or `route` have not
        noted it on the column; the write is refused if the topic has another.
    profile: whose rule placed the keyed rows, where `kafka_partition` has not noted it on the column, as
        after a cast, and on Connect after `withColumn`; or "none" for rows that no profile places.
    kafka.*: any setting of librdkafka's producer, for example kafka.compression.type or kafka.sasl.username
        (also KAFKA_SECURITY_PROTOCOL, KAFKA_SASL_* and KAFKA_SSL_* where the driver runs).

Before a row is sent the driver asks the cluster for the topic and its partitions. Each task checks its rows,
an Arrow batch at a time: every partition exists, and where the profile is known each keyed row is where that
profile puts the key that is written (30 ns a row). A row that is not, as after a union with rows of another
profile, or whose key was changed after it was placed, fails the task. Keyless rows, and all rows of a column
without a note and a write without the option, may be in any partition of the topic.

Where rows name their partitions each task asks again for the topics it writes, as it begins and when its rows
are acknowledged: a write, or a micro-batch, during which a topic got more partitions fails, so that it can be
repeated with the new count. Brokers that do not answer at the end fail nothing, and to commit or to abort
nothing is asked.

At least once. A task ends when the brokers have acknowledged all its rows (flush), and fails when one is not
acknowledged within `kafka.delivery.timeout.ms` (two minutes; a minute more where librdkafka itself is
silent): a write or a micro-batch that succeeds is in the topic in full, one that fails may be there in part.
What Spark runs again is sent again: a task that is tried again or run speculatively (keep `spark.speculation`
off), and the whole of a micro-batch that the checkpoint does not hold as finished when a stream restarts. No
other batch is doubled and none is lost. Retries within a task neither double nor reorder (an idempotent
producer), unless the options `acks` or `retries` are set.

Exactly once, with the options txnAppId and txnVersion for `df.write`, and txnAppId and exactlyOnce=true for
`writeStream`:

    txnAppId: who writes: one application, or one stream, by a name in ASCII that outlives its checkpoint.
    txnVersion: the number of what is written, above the version before; in `foreachBatch` the batch's id.
    txnFirstVersion: the version that begins a ledger, whatever records are there. Unless given, version 0
        begins one, in partitions that hold no committed records.
    exactlyOnce: "true" takes the version from the micro-batch.

Rows are laid out by `route`, without lanes, and sorted by a total order: each task writes the Kafka partition
of its own number, in transactions of at most a few seconds, and with each commits to the ledger, the consumer
group `copartition/<txnAppId>`, how many records of which version are in, and a digest of these. An attempt
that finds some of its version in reads these rows, compares them with the digest, and goes on after them:

- A version that is in is compared and not written again. One with other records, or in another order, is
  refused, and so is one below the ledger's, one that comes before the last is in everywhere, and one without
  a ledger that is not the first. After a failure write the same version again, with the same rows.
- Consumers that read committed records find each once, in order. Others see those of ended attempts, too.
- Two that write with one txnAppId end each other's transactions; what is in is still in once.
- The broker forgets a ledger that no version has renewed for `offsets.retention.minutes`, 7 days by default.
  Any version is then refused until txnFirstVersion names it: its records may be there already. So is the
  first batch of a new stream in a topic that has records, and, with the ledger there, that of a stream whose
  checkpoint was lost: the ledger is ahead of it.
- A topic may get more partitions between two versions, not within one.
- It needs Write, Read and Describe on the topic, Read and Describe on the group, and Write and Describe on
  transactional ids with the prefix `copartition/<txnAppId>/`.
- A dead driver holds up these consumers for `kafka.transaction.timeout.ms` (9 s unless set); brokers that are
  away for longer than `kafka.delivery.timeout.ms` (9 s, too) fail a task, which then waits for them.
- After a shuffle, Spark gives a stream's task its rows in an order that is not always the same, and sorts
  none: written straight through `writeStream`, a micro-batch that failed in its middle may be refused. Use
  `write_exactly_once` in `foreachBatch`, which places, routes, sorts and writes.

Order. The rows of a task that go to one partition keep their order, and `route` gives the rows of a key to
one task. In which order that task gets them is Spark's to say:

- In `foreachBatch`, and for `df.write`, follow `route` with `sortWithinPartitions`: then a key's records are
  in order.
- Written straight through `writeStream`, where Spark sorts nothing, they are in the order in which they were
  read, as far as one task read them: a Kafka partition, a file too small to be split. Between partitions that
  several tasks of a micro-batch read there is no order, neither at the first attempt nor when repeated.

What is sent again is sent in the same way, so of sorted rows the last copies of a key's records are in order,
too, provided that no earlier attempt is alive any more: one that runs on, as on an executor that Spark has
given up, mixes its own copies in.

A task holds what Spark hands it, an Arrow batch of rows, makes records of 16 MiB of it at a time, and keeps
at most 64 MiB of them unsent (`kafka.queue.buffering.max.kbytes`); while that is full it waits.
A batch of records waits up to 50 ms until it is full (`kafka.linger.ms`), at the end of a task not at all.
A producer outlives its task, for the next with the same settings in the same Python worker, unless it failed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from pyspark import cloudpickle
from pyspark.sql import datasource

import partitioning.clients
import partitioning.errors
import partitioning.hashing
import partitioning.kit
import partitioning.profiles
import partitioning.topic_partition
import spark_integration.errors
import spark_integration.hash_columns
import spark_integration.sinks
from partitioning.errors import CopartitionError, InvalidConfigError
from spark_integration.columns import LANES, PARTITIONS
from spark_integration.errors import ColumnError, RoutingError
from spark_integration.sinks.cluster import checked_counts
from spark_integration.sinks.delivery import deliver
from spark_integration.sinks.exactly_once.target import Target, target_of
from spark_integration.sinks.exactly_once.writers import OnceBatchWriter, OnceStreamWriter
from spark_integration.sinks.options import read_options
from spark_integration.sinks.placement import KeyRule, key_rule
from spark_integration.sinks.records import as_batches, check_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from spark_integration.sinks.exactly_once.target import Target
    from spark_integration.sinks.options import SinkOptions

# Executors unpickle the writer, and a Connect server the data source, without having this package.
for _package in (
    partitioning.clients,
    partitioning.errors,
    partitioning.hashing,
    partitioning.kit,
    partitioning.profiles,
    partitioning.topic_partition,
    spark_integration.errors,
    spark_integration.hash_columns,
    spark_integration.sinks,
):
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
            raise InvalidConfigError("a topic can only be appended to: use mode('append')")
        destination = _destination(schema, self.options)
        if destination.sink.once is not None:
            return OnceBatchWriter(destination.target(stream=False))
        return _BatchWriter(destination.checked())

    def streamWriter(self, schema: StructType, overwrite: bool) -> datasource.DataSourceStreamWriter:  # noqa: ARG002, N802
        """Called by Spark on the driver, twice a micro-batch; every output mode appends."""
        destination = _destination(schema, self.options)
        once = destination.sink.once is not None
        writer = OnceStreamWriter(destination.target(stream=True)) if once else _StreamWriter(destination)
        return cast(datasource.DataSourceStreamWriter, writer)


@dataclass(frozen=True)
class _Destination:
    """What tasks need to know; None: the partition column does not say its count, or no rule is known."""

    sink: SinkOptions
    noted: int | None
    rule: KeyRule | None
    counts: Mapping[str, int] = field(default_factory=dict)

    def checked(self) -> _Destination:
        return replace(self, counts=checked_counts(self.sink, self.noted))

    def target(self, *, stream: bool) -> Target:
        return target_of(self.sink, self.noted or self.sink.partitions, self.rule, stream=stream)

    def take(self, items: Iterator[Any]) -> datasource.WriterCommitMessage:
        sink, computed_for = self.sink, self.noted or self.sink.partitions
        deliver(as_batches(items), sink.config, self.counts, sink.topic, computed_for, self.rule)
        return datasource.WriterCommitMessage()


class _BatchWriter(datasource.DataSourceArrowWriter):
    def __init__(self, destination: _Destination) -> None:
        self._destination = destination

    def write(self, iterator: Iterator[pa.RecordBatch]) -> datasource.WriterCommitMessage:
        return self._destination.take(iterator)


class _StreamWriter(_StreamWriterBase):  # type: ignore[misc]
    """Spark makes one that goes to the tasks, and another, in another process, to commit or to abort.

    Only what goes to the tasks asks the cluster. That cannot fail a micro-batch whose rows are all there.
    """

    def __init__(self, destination: _Destination) -> None:
        self._destination = destination
        self._refused: CopartitionError | None = None

    def __getstate__(self) -> dict[str, Any]:
        if not self._destination.counts and self._refused is None:
            try:
                self._destination = self._destination.checked()
            except CopartitionError as error:
                self._refused = error  # Spark would show an error of here as one of pickling
        return self.__dict__

    def write(self, iterator: Iterator[Any]) -> datasource.WriterCommitMessage:
        if self._refused is not None:
            raise self._refused
        return self._destination.take(iterator)


def _destination(schema: StructType, options: Mapping[str, str]) -> _Destination:
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
            f"an exactly-once write has one task for each Kafka partition, and the rows are routed in "
            f"{notes[LANES]} lanes of each: call route() without lanes"
        )
    return _Destination(sink, notes.get(PARTITIONS), key_rule(sink.profile, notes, columns))
