"""Implement `spark.read` and `spark.readStream` with `format("copartition")`.

Columns and options mean what they mean in Spark's own Kafka source; `docs/spark.md` lists them. A stream's
checkpoint has exact offsets, in the form of that source. The topic is not created, no group is joined and
nothing is committed. Each range of offsets is read by one consumer in one task. A task's consumers together
hold at most 64 MiB of fetched records (`kafka.queued.max.messages.kbytes`), and the task holds a batch of
about 8 MiB. Partitions with few records share a task.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from pyspark.sql import datasource, types
from pyspark.sql.types import StructType

from partitioning.clients.contact import Place
from partitioning.errors import InvalidConfigError
from spark_integration.columns import SOURCE
from spark_integration.errors import ColumnError, DataLossError
from spark_integration.reading.cluster import ClusterReader, OffsetRange, cut_ranges, together
from spark_integration.reading.options import (
    BATCH_ONLY,
    EARLIEST,
    LATEST,
    STREAM_ONLY,
    ReadOptions,
    read_options,
)
from spark_integration.reading.pushdown import QueryBounds, wanted_by
from spark_integration.reading.records import ARROW_TYPES, read_ranges
from spark_integration.shipping import send_by_value
from spark_integration.sinks.source import KafkaSink

try:  # since Spark 4.2 a stream reads in parts
    from pyspark.sql.streaming import datasource as admission
except ImportError:
    admission = None  # type: ignore[assignment]

send_by_value("spark_integration.reading")

_HEADER = types.StructType(
    [types.StructField("key", types.StringType()), types.StructField("value", types.BinaryType())]
)
_TYPES: dict[str, types.DataType] = {
    "key": types.BinaryType(),
    "value": types.BinaryType(),
    "topic": types.StringType(),
    "partition": types.IntegerType(),
    "offset": types.LongType(),
    "timestamp": types.TimestampType(),
    "timestampType": types.IntegerType(),
    "headers": types.ArrayType(_HEADER),
}
_StreamBases: Any = (datasource.DataSourceStreamReader,)
if admission is not None:
    _StreamBases += (admission.SupportsTriggerAvailableNow,)

Offsets = dict[str, dict[str, int]]
"""A position in a stream as the checkpoint has it: topic -> partition, as text -> offset."""


class KafkaDataSource(KafkaSink):
    """Reads and writes for `format("copartition")`; the half that writes is inherited."""

    def schema(self) -> StructType:
        """Return the columns of the source; called by Spark if no schema is given."""
        options = read_options(self.options, os.environ)
        schema = StructType()
        for name, kind in _TYPES.items():
            if name != "headers" or options.headers:
                # The metadata names the topics. A write to another topic can then say in its error that the
                # column is the partition of the old topic.
                notes = {SOURCE: ", ".join(options.topics)} if name == "partition" else None
                schema.add(name, kind, metadata=notes)
        return schema

    def reader(self, schema: StructType) -> datasource.DataSourceReader:
        """Return the reader of a batch; called by Spark on the driver, once for a query.

        Raises InvalidConfigError if an option is wrong, and ColumnError if the schema has a column that the
        source lacks.
        """
        return _BatchReader(self._read_options(STREAM_ONLY, "a stream", EARLIEST), _arrow(schema))

    def streamReader(self, schema: StructType) -> datasource.DataSourceStreamReader:  # noqa: N802
        """Return the reader of a stream; called by Spark on the driver. Errors are as in `reader`."""
        options = self._read_options(BATCH_ONLY, "a batch", LATEST)
        if options.max_offsets is not None and admission is None:
            raise InvalidConfigError(
                "option 'maxOffsetsPerTrigger' needs Spark 4.2 or newer: an older one asks a Python source "
                "for all there is"
            )
        reader: datasource.DataSourceStreamReader = _StreamReader(options, _arrow(schema))
        return reader

    def _read_options(self, elsewhere: str, place: str, starting: int) -> ReadOptions:
        """Return the options of a read.

        Args:
            elsewhere: the option that only the other kind of read has.
            place: that other kind of read, for the message.
            starting: where reading begins if no option says so, EARLIEST or LATEST.

        Raises:
            InvalidConfigError: `elsewhere` is given, or another option is wrong.
        """
        if elsewhere.lower() in {name.lower() for name in self.options}:
            raise InvalidConfigError(f"option {elsewhere!r} is for {place} only")
        return read_options(self.options, os.environ, starting)


class _Reader:
    """Base of the readers of a batch and of a stream. It is pickled by value for each task.

    Attributes:
        _options: the options of the read.
        _schema: the wanted columns, in Arrow's types.
    """

    def __init__(self, options: ReadOptions, schema: pa.Schema) -> None:
        self._options = options
        self._schema = schema

    def read(self, partition: datasource.InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Yield the records of a task's ranges; called by Spark in each task.

        Errors are as in `read_ranges`.
        """
        # If `partitions` returned none, Spark runs one task all the same, and gives it no partition.
        if partition is None or partition.value is None:
            return iter(())
        return read_ranges(
            [OffsetRange(*offsets) for offsets in partition.value],
            self._options.config,
            self._schema,
            fail_on_data_loss=self._options.fail_on_data_loss,
        )

    def _places(self, cluster: ClusterReader) -> list[Place]:
        return cluster.places(self._options.topics, self._options.assigned)

    def _split(self, ranges: Iterable[OffsetRange]) -> list[datasource.InputPartition]:
        """Return the ranges of offsets that each task reads.

        If `minPartitions` is given, a task reads one range or a part of one. Otherwise it reads one range, or
        several neighbouring ranges with few records.
        """
        wanted = self._options.min_partitions
        parts = cut_ranges(ranges, wanted)
        tasks = together(parts) if wanted is None else [[offsets] for offsets in parts]
        # Plain tuples are used, not `OffsetRange`: they may be pickled in another process than the reader, in
        # which `OffsetRange` would be another class.
        return [datasource.InputPartition(tuple(map(tuple, task))) for task in tasks]

    def _report_data_loss(self, what: str) -> None:
        """Raise DataLossError, unless the option `failOnDataLoss` is "false".

        Args:
            what: the loss that was found, as a clause for the message.
        """
        if self._options.fail_on_data_loss:
            raise DataLossError(
                f"{what}: some data may have been missed. Was a topic deleted or created anew, or did "
                "retention delete records? Start with a new checkpoint, or skip what is gone with "
                "option failOnDataLoss 'false'"
            )


class _Pushdown:
    """Stands for a reader's method `pushFilters`, and looks to Spark as if the reader had none of its own.

    While `spark.sql.python.filterPushdown.enabled` is off, as it is by default, Spark refuses every reader
    that implements the method. Without this, no topic could be read then.
    """

    # Spark tells whether a reader implements the method by comparing its `__func__` with that of the base
    # class. So this is the base class's own function, if this Spark has one.
    __func__ = staticmethod(getattr(datasource.DataSourceReader, "pushFilters", lambda *_: None))

    def __init__(self, reader: _BatchReader) -> None:
        self._reader = reader

    def __call__(self, filters: list[Any]) -> list[Any]:
        """Note which records the filters let through, and return all filters: Spark applies them again."""
        self._reader.wanted = wanted_by(filters)
        return filters


class _BatchReader(_Reader, datasource.DataSourceReader):
    """Reads a topic once, from one position to another; both are fixed when the query begins.

    Attributes:
        wanted: the records that the query's filters can let through; set by `pushFilters`.
    """

    def __init__(self, options: ReadOptions, schema: pa.Schema) -> None:
        super().__init__(options, schema)
        self.wanted = QueryBounds()
        self.pushFilters = _Pushdown(self)  # type: ignore[method-assign]

    def partitions(self) -> list[datasource.InputPartition]:
        """Return the ranges of offsets that each task reads; called by Spark on the driver, once.

        Raises:
            InvalidConfigError: `startingOffsets` is "latest", or offsets are not given for each partition.
            UnknownTopicError: the cluster has no such topic or partition.
            BrokerUnreachableError: the brokers do not answer in time.
        """
        with ClusterReader(self._options.config) as cluster:
            places = self._places(cluster)
            if self._options.starting == LATEST:
                raise InvalidConfigError(
                    "option 'startingOffsets' of a batch cannot be 'latest': nothing is read"
                )
            starts = _exact_offsets(cluster, places, self._options.starting, "startingOffsets")
            ends = _exact_offsets(cluster, places, self._options.ending, "endingOffsets")
            return self._split(self.wanted.ranges(cluster, starts, ends))


class _StreamReader(_Reader, *_StreamBases):  # type: ignore[misc]
    """Reads a topic as it grows, one micro-batch at a time. Spark keeps the position in its checkpoint.

    Attributes:
        _goal: where a query with the trigger `availableNow` ends; None for other triggers.
        _kept: clients that are used from one micro-batch to the next. None before the first question, after
            a question that failed, and in tasks.
    """

    _goal: Offsets | None = None
    _kept: ClusterReader | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes to pickle for the tasks: all but the clients, which tasks do not need."""
        return {name: value for name, value in vars(self).items() if name != "_kept"}

    def stop(self) -> None:
        """Close the connections; called by Spark at the end of the query."""
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.close()

    @contextmanager
    def _cluster(self) -> Iterator[ClusterReader]:
        """Yield the kept clients; close them after an error, so that the next question gets new ones."""
        if self._kept is None:
            self._kept = ClusterReader(self._options.config)
        try:
            yield self._kept
        except BaseException:
            self.stop()
            raise

    def initialOffset(self) -> Offsets:  # noqa: N802
        """Return where a query without a checkpoint begins, with an exact offset for every partition."""
        with self._cluster() as cluster:
            places = self._places(cluster)
            return _checkpoint_form(
                _exact_offsets(cluster, places, self._options.starting, "startingOffsets")
            )

    def latestOffset(self, start: Offsets | None = None, limit: Any = None) -> Offsets:  # noqa: N802
        """Return where the next micro-batch ends.

        Args:
            start: where the micro-batch begins; None before Spark 4.2, which passes neither start nor limit.
            limit: Spark's read limit; only one with `max_rows` limits anything.
        """
        latest = self._goal or self._latest()
        # `getDefaultReadLimit` returns only two kinds of limits, and only the one for rows has a number.
        most = getattr(limit, "max_rows", None)
        return latest if most is None or start is None else _checkpoint_form(self._part(start, latest, most))

    def getDefaultReadLimit(self) -> Any:  # noqa: N802
        """Return how many offsets a micro-batch may have; called by Spark 4.2 and newer only."""
        most = self._options.max_offsets
        return admission.ReadAllAvailable() if most is None else admission.ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Fix where a query with the trigger `availableNow` ends: at the ends that partitions have now."""
        self._goal = self._latest()

    def partitions(self, start: Offsets, end: Offsets) -> list[datasource.InputPartition]:
        """Return the ranges that each task of a micro-batch reads; Spark may ask again after a restart.

        Args:
            start: the position before the micro-batch, from the checkpoint.
            end: the position after it.

        Raises:
            DataLossError: a partition is gone or ends before `start`, and the read fails on data loss.
            BrokerUnreachableError: the brokers do not answer in time.
        """
        starts, ends = _places(start), _places(end)
        for topic, partition in sorted(starts.keys() - ends.keys()):
            self._report_data_loss(f"topic {topic!r} no longer has partition {partition}")
        starts |= self._new_starts(ends.keys() - starts.keys())
        for place, offset in ends.items():
            # An end below the start means that the topic was deleted and created again with the same name.
            if offset < starts[place]:
                self._report_data_loss(
                    f"topic {place[0]!r}, partition {place[1]}, was read up to offset {starts[place]:,} and "
                    f"now ends at {offset:,}"
                )
        return self._split(OffsetRange(*place, starts[place], end) for place, end in sorted(ends.items()))

    def _latest(self) -> Offsets:
        """Return the position at the end of each partition as it is now."""
        with self._cluster() as cluster:
            return _checkpoint_form(cluster.latest(self._places(cluster)))

    def _new_starts(self, new: set[Place]) -> dict[Place, int]:
        """Return the first offset of partitions that were added to the topic since the last micro-batch.

        Raises DataLossError if a new partition does not begin at 0, because records of it were deleted before
        they were read, and the read fails on data loss.
        """
        if not new:
            return {}
        with self._cluster() as cluster:
            starts = cluster.earliest(new)
        for (topic, partition), offset in sorted(starts.items()):
            if offset:
                self._report_data_loss(
                    f"topic {topic!r} has a new partition {partition}, which begins at offset {offset:,}"
                )
        return starts

    def _part(self, start: Offsets, latest: Offsets, most: int) -> dict[Place, int]:
        """Return where a micro-batch with at most about `most` offsets ends.

        Each partition gets a share in proportion to its backlog.

        Args:
            start: the position before the micro-batch.
            latest: the position that a micro-batch without a limit would end at.
            most: the limit. It may be exceeded, because each partition with a backlog gets one offset at
                least.
        """
        starts, ends = _places(start), _places(latest)
        starts |= self._new_starts(ends.keys() - starts.keys())
        backlog = {place: max(end - starts[place], 0) for place, end in ends.items()}
        total = sum(backlog.values())
        if total <= most:
            return ends
        # The shares are computed with whole numbers, which are exact. A partition with a small share of the
        # backlog gets one offset at least: with a share that is rounded down to 0 it would never be read.
        return {
            place: end if not backlog[place] else starts[place] + max(backlog[place] * most // total, 1)
            for place, end in ends.items()
        }


def _exact_offsets(
    cluster: ClusterReader, places: list[Place], offsets: int | Mapping[Place, int], option: str
) -> dict[Place, int]:
    """Return the exact offset of each partition for which an option's value stands.

    Args:
        cluster: asked for the offsets of partitions for which the option says EARLIEST or LATEST.
        places: the partitions to read.
        offsets: the value of the option.
        option: the option's name, for the message.

    Raises:
        InvalidConfigError: the option lacks one of these partitions, or has another one.
    """
    wanted = dict.fromkeys(places, offsets) if isinstance(offsets, int) else dict(offsets)
    if wanted.keys() != set(places):
        differing = sorted(wanted.keys() ^ set(places))
        listed = ", ".join(f"{topic}-{partition}" for topic, partition in differing[:5])
        raise InvalidConfigError(
            f"option {option!r} must give an offset for every partition of the topics, and for no other: see "
            f"{listed}{' ...' if len(differing) > 5 else ''}"
        )
    words = {EARLIEST: cluster.earliest, LATEST: cluster.latest}
    for word, ask in words.items():
        wanted |= ask(place for place, offset in wanted.items() if offset == word)
    return wanted


def _checkpoint_form(offsets: Mapping[Place, int]) -> Offsets:
    """Return a position as the checkpoint has it; sorted, because Spark compares positions as texts."""
    written: Offsets = {}
    for (topic, partition), offset in sorted(offsets.items()):
        written.setdefault(topic, {})[str(partition)] = offset
    return written


def _places(written: Offsets) -> dict[Place, int]:
    """Return a position of the checkpoint as (topic, partition) -> offset."""
    return {(topic, int(p)): offset for topic, offsets in written.items() for p, offset in offsets.items()}


def _arrow(schema: StructType) -> pa.Schema:
    """Return Spark's schema of the wanted columns as an Arrow schema; ColumnError if the source lacks one."""
    for column in schema.fields:
        kind = column.dataType.simpleString()
        if column.name not in _TYPES or _TYPES[column.name].simpleString() != kind:
            columns = ", ".join(f"{name} {own.simpleString()}" for name, own in _TYPES.items())
            raise ColumnError(f"the copartition source has no column '{column.name} {kind}', only {columns}")
    return pa.schema([pa.field(f.name, ARROW_TYPES[f.name], f.nullable) for f in schema.fields])
