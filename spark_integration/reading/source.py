"""Reading back: `spark.read` and `spark.readStream` with `format("copartition")`.

Columns and options mean what they mean to Spark's own Kafka source; `docs/spark.md` lists them. The offsets
in a stream's checkpoint are exact, in the form of that source. The topic is not created, no group is joined
and nothing is committed. A range is read by one consumer in one task, which holds at most 64 MiB of fetched
records (`kafka.queued.max.messages.kbytes`) and a batch of some 8 MiB. Partitions with few records share one.
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
from spark_integration.reading.cluster import Cluster, Range, spread, together
from spark_integration.reading.options import (
    BATCH_ONLY,
    EARLIEST,
    LATEST,
    STREAM_ONLY,
    ReadOptions,
    read_options,
)
from spark_integration.reading.pushdown import Bounds, wanted_by
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
"""A position in a stream as the checkpoint has it: by topic and partition."""


class KafkaDataSource(KafkaSink):
    """The sink and the source of `format("copartition")`."""

    def schema(self) -> StructType:
        """Called by Spark where no schema is given."""
        options = read_options(self.options, os.environ)
        schema = StructType()
        for name, kind in _TYPES.items():
            if name != "headers" or options.headers:
                # What writes these rows to another topic can say whose partition it is.
                notes = {SOURCE: ", ".join(options.topics)} if name == "partition" else None
                schema.add(name, kind, metadata=notes)
        return schema

    def reader(self, schema: StructType) -> datasource.DataSourceReader:
        """Called by Spark on the driver, once for a batch."""
        return _BatchReader(self._read_options(STREAM_ONLY, "a stream", EARLIEST), _arrow(schema))

    def streamReader(self, schema: StructType) -> datasource.DataSourceStreamReader:  # noqa: N802
        """Called by Spark on the driver for a stream."""
        options = self._read_options(BATCH_ONLY, "a batch", LATEST)
        if options.max_offsets is not None and admission is None:
            raise InvalidConfigError(
                "option 'maxOffsetsPerTrigger' needs Spark 4.2 or newer: an older one asks a Python source "
                "for all there is"
            )
        reader: datasource.DataSourceStreamReader = _StreamReader(options, _arrow(schema))
        return reader

    def _read_options(self, elsewhere: str, place: str, starting: int) -> ReadOptions:
        """Return the options of a read; InvalidConfigError if one is for the other kind of read only.

        Args:
            elsewhere: an option that has no meaning here.
            place: where it has one, for the message.
            starting: where reading begins if no option says so.
        """
        if elsewhere.lower() in {name.lower() for name in self.options}:
            raise InvalidConfigError(f"option {elsewhere!r} is for {place} only")
        return read_options(self.options, os.environ, starting)


class _Reader:
    """Shares what the readers of a batch and of a stream have in common; executors get it by value."""

    def __init__(self, options: ReadOptions, schema: pa.Schema) -> None:
        self._options = options
        self._schema = schema

    def read(self, partition: datasource.InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Called by Spark in each task."""
        # Of a batch without any records Spark makes a task for nothing.
        if partition is None or partition.value is None:
            return iter(())
        return read_ranges(
            [Range(*offsets) for offsets in partition.value],
            self._options.config,
            self._schema,
            fail_on_data_loss=self._options.fail_on_data_loss,
        )

    def _places(self, cluster: Cluster) -> list[Place]:
        return cluster.places(self._options.topics, self._options.assigned)

    def _split(self, ranges: Iterable[Range]) -> list[datasource.InputPartition]:
        """Return what each task reads: a range, several with few records, or a part if many are asked for."""
        wanted = self._options.min_partitions
        parts = spread(ranges, wanted)
        tasks = together(parts) if wanted is None else [[offsets] for offsets in parts]
        # Plain tuples: what pickles a reader and what pickles these need not be the same process.
        return [datasource.InputPartition(tuple(map(tuple, task))) for task in tasks]

    def _report_data_loss(self, what: str) -> None:
        """Raise DataLossError, unless what is gone is to be passed over."""
        if self._options.fail_on_data_loss:
            raise DataLossError(
                f"{what}: some data may have been missed. Was a topic deleted or created anew, or did "
                "retention delete records? Start with a new checkpoint, or skip what is gone with "
                "option failOnDataLoss 'false'"
            )


class _Pushdown:
    """Makes `pushFilters` of a reader's bounds, in a form that Spark takes for one that is not there.

    While `spark.sql.python.filterPushdown.enabled` is off, as it is by default, Spark refuses each reader
    that has the method, and so would read no topic at all.
    """

    # As it is, unbound: Spark compares it with its own by identity.
    __func__ = staticmethod(getattr(datasource.DataSourceReader, "pushFilters", lambda *_: None))

    def __init__(self, reader: _BatchReader) -> None:
        self._reader = reader

    def __call__(self, filters: list[Any]) -> list[Any]:
        """Narrow what is read, and leave all filters to Spark."""
        self._reader.wanted = wanted_by(filters)
        return filters


class _BatchReader(_Reader, datasource.DataSourceReader):
    """Reads what is there once: from one position to another, both fixed when the query begins."""

    def __init__(self, options: ReadOptions, schema: pa.Schema) -> None:
        super().__init__(options, schema)
        self.wanted = Bounds()
        self.pushFilters = _Pushdown(self)  # type: ignore[method-assign]

    def partitions(self) -> list[datasource.InputPartition]:
        """Return a range for each partition; called by Spark on the driver, once."""
        with Cluster(self._options.config) as cluster:
            places = self._places(cluster)
            if self._options.starting == LATEST:
                raise InvalidConfigError(
                    "option 'startingOffsets' of a batch cannot be 'latest': nothing is read"
                )
            starts = _exact_offsets(cluster, places, self._options.starting, "startingOffsets")
            ends = _exact_offsets(cluster, places, self._options.ending, "endingOffsets")
            return self._split(self.wanted.ranges(cluster, starts, ends))


class _StreamReader(_Reader, *_StreamBases):  # type: ignore[misc]
    """Reads a topic as it grows, a micro-batch at a time; positions are those of the checkpoint.

    Attributes:
        _goal: where a query with the trigger `availableNow` ends; None for any other.
        _kept: clients that ask from one micro-batch to the next; None before the first question, after one
            that failed, and in tasks.
    """

    _goal: Offsets | None = None
    _kept: Cluster | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what goes to the tasks, which ask nothing."""
        return {name: value for name, value in vars(self).items() if name != "_kept"}

    def stop(self) -> None:
        """Leave no connection; called by Spark at the end of the query."""
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.close()

    @contextmanager
    def _cluster(self) -> Iterator[Cluster]:
        """Yield the clients, which are made anew after an error."""
        if self._kept is None:
            self._kept = Cluster(self._options.config)
        try:
            yield self._kept
        except BaseException:
            self.stop()
            raise

    def initialOffset(self) -> Offsets:  # noqa: N802
        """Return where a query without a checkpoint begins."""
        with self._cluster() as cluster:
            places = self._places(cluster)
            return _checkpoint_form(
                _exact_offsets(cluster, places, self._options.starting, "startingOffsets")
            )

    def latestOffset(self, start: Offsets | None = None, limit: Any = None) -> Offsets:  # noqa: N802
        """Return where the next micro-batch ends.

        Args:
            start: where it begins; None before Spark 4.2, which asks for all there is.
            limit: Spark's read limit; without rows, all there is.
        """
        latest = self._goal or self._latest()
        # Only a limit of rows is one that we gave Spark.
        most = getattr(limit, "max_rows", None)
        return latest if most is None or start is None else _checkpoint_form(self._part(start, latest, most))

    def getDefaultReadLimit(self) -> Any:  # noqa: N802
        """Return how much a micro-batch may hold, for Spark 4.2 and newer."""
        most = self._options.max_offsets
        return admission.ReadAllAvailable() if most is None else admission.ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Fix the end of a query that reads what is there now: records that come later are not of it."""
        self._goal = self._latest()

    def partitions(self, start: Offsets, end: Offsets) -> list[datasource.InputPartition]:
        """Return the ranges of one micro-batch, which Spark may ask for again after a restart.

        Args:
            start: the position before it, from the checkpoint.
            end: the position after it.
        """
        starts, ends = _places(start), _places(end)
        for topic, partition in sorted(starts.keys() - ends.keys()):
            self._report_data_loss(f"topic {topic!r} no longer has partition {partition}")
        starts |= self._new_starts(ends.keys() - starts.keys())
        for place, offset in ends.items():
            # An end below the start: the topic was deleted and made anew under its name.
            if offset < starts[place]:
                self._report_data_loss(
                    f"topic {place[0]!r}, partition {place[1]}, was read up to offset {starts[place]:,} and "
                    f"now ends at {offset:,}"
                )
        return self._split(Range(*place, starts[place], end) for place, end in sorted(ends.items()))

    def _latest(self) -> Offsets:
        """Return the end of each partition as it is now."""
        with self._cluster() as cluster:
            return _checkpoint_form(cluster.latest(self._places(cluster)))

    def _new_starts(self, new: set[Place]) -> dict[Place, int]:
        """Return where partitions begin that the topic got meanwhile."""
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
        """At most so many records more, from each partition in proportion to what it holds."""
        starts, ends = _places(start), _places(latest)
        starts |= self._new_starts(ends.keys() - starts.keys())
        backlog = {place: max(end - starts[place], 0) for place, end in ends.items()}
        total = sum(backlog.values())
        if total <= most:
            return ends
        # By whole numbers, and of each partition that holds anything one at least, lest it starve.
        return {
            place: end if not backlog[place] else starts[place] + max(backlog[place] * most // total, 1)
            for place, end in ends.items()
        }


def _exact_offsets(
    cluster: Cluster, places: list[Place], offsets: int | Mapping[Place, int], option: str
) -> dict[Place, int]:
    """Return the offsets that an option means, asked of the cluster where it says "earliest" or "latest".

    Raises:
        InvalidConfigError: it does not give an offset for exactly the partitions that there are.
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
    """Return a position as the checkpoint has it, in a fixed order, for Spark compares positions as texts."""
    written: Offsets = {}
    for (topic, partition), offset in sorted(offsets.items()):
        written.setdefault(topic, {})[str(partition)] = offset
    return written


def _places(written: Offsets) -> dict[Place, int]:
    """Return a position of the checkpoint by topic and partition."""
    return {(topic, int(p)): offset for topic, offsets in written.items() for p, offset in offsets.items()}


def _arrow(schema: StructType) -> pa.Schema:
    """Return Spark's schema of the wanted columns in Arrow; ColumnError if the source lacks one."""
    for column in schema.fields:
        kind = column.dataType.simpleString()
        if column.name not in _TYPES or _TYPES[column.name].simpleString() != kind:
            columns = ", ".join(f"{name} {own.simpleString()}" for name, own in _TYPES.items())
            raise ColumnError(f"the copartition source has no column '{column.name} {kind}', only {columns}")
    return pa.schema([pa.field(f.name, ARROW_TYPES[f.name], f.nullable) for f in schema.fields])
