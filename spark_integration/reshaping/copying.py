"""Copy a topic into one of another partition count or rule, once, in the order of each key.

The new topic gets one micro-batch after the other. Within a micro-batch records are sorted by `reached`, then
by their place in the old topic. `reached` of a record is the highest timestamp in its old partition up to its
offset. It never falls along a partition, so all records of an old partition keep their order, whatever their
timestamps are. Records of several old partitions are interleaved by time. That has two advantages. A group
that lags repeats little, because the records that it has read are close together. And if writers with
different rules put a key into several old partitions, its records are in order of time, the only order that
such a key has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.utils import is_remote

from partitioning.errors import ReshapeError
from spark_integration.columns import kafka_partition
from spark_integration.errors import ReadError, typed_error
from spark_integration.reshaping.topics import (
    check_keeps_times,
    reader_options,
    topic_bounds,
    with_origin,
)
from spark_integration.session import register
from spark_integration.shipping import ship
from spark_integration.sinks.cluster import partition_count
from spark_integration.sinks.exactly_once.foreach_batch import write_exactly_once

MOST_OFFSETS = 20_000_000
"""The most offsets in a micro-batch, which bounds its shuffle; only Spark 4.2 and newer obeys this limit."""

_LONGEST_NAME = 180
"""Number of characters of a topic's name that fit into the writer's name; a topic's name may have 249."""


@dataclass(frozen=True, slots=True)
class CopyRound:
    """Tells how many records one round of a copy has copied, and how far the copy is behind the old topic.

    Attributes:
        number: number of the round; 1 for the first round of this call.
        copied: number of records in the micro-batches of this round. After a restart it includes all records
            of the micro-batch that was interrupted, even those that had been written before.
        behind: number of offsets that the old topic has got during the round, which the next round copies.
            Transaction markers have offsets, too, so the number of records may be smaller.
        ends: old partition -> end offset of committed records when the round began. All records before it
            are copied.

    Example:
        >>> CopyRound(number=1, copied=100, behind=0, ends={0: 60, 1: 40}).behind
        0
    """

    number: int
    copied: int
    behind: int
    ends: Mapping[int, int]


def reshape_copy(
    spark: SparkSession,
    source: str,
    target: str,
    *,
    config: Mapping[str, str],
    checkpoint: str,
    profile: str = "java",
    key: Column | None = None,
    until_behind: int = 0,
    on_round: Callable[[CopyRound], None] | None = None,
) -> CopyRound:
    """Copy all committed records of a topic to another, each once, and return the last round.

    Each round copies the records that exist when it begins. Rounds follow each other until the old topic gets
    at most `until_behind` offsets during a round. Timestamps, headers and tombstones are kept. One header
    is added at the end, `copartition.origin` with "PARTITION:OFFSET" of the old topic. Aborted records are
    not copied.

    Records of a key that are in one old partition keep their order. If a key is in several old partitions,
    because writers with different rules wrote it, its records are sorted by timestamp within a micro-batch;
    `prove` counts such keys (`Proof.strays`).

    The copy may be stopped at any time, even with kill -9. A call with the same checkpoint continues it and
    writes nothing twice: records are written by `write_exactly_once`, with the name "reshape of SOURCE".

    >>> write_exactly_once(df, 0, topic="orders", app_id="shop", config=config)
    >>> last = reshape_copy(spark, "orders", "orders-18", config=config, checkpoint=folder)
    >>> last.copied, last.behind
    (100, 0)

    Args:
        spark: a session of Spark 4.0 or newer, classic or Connect.
        source: the old topic.
        target: the new topic, which exists with the wanted partition count and has no records.
        config: librdkafka's settings for reader and writer, "bootstrap.servers" at least.
        checkpoint: a folder in which Spark notes its progress. It must outlive this program, and belong to
            this copy only.
        profile: the profile whose rule places keys in the new topic.
        key: an expression for the new topic's key, of the columns `key`, `value`, `headers` and `timestamp`
            of the old one; by default the key stays.
        until_behind: the copy ends once the old topic has got at most this many offsets during a round. As
            long as writers write, 0 may never be reached.
        on_round: called on the driver after each round.

    Raises:
        ReshapeError: `source` and `target` are the same topic, or brokers would replace the timestamps in the
            new topic.
        MissingDependencyError: this Spark has no Python data sources (before 4.0), or confluent-kafka is
            missing.
        UnknownTopicError, BrokerUnreachableError, InvalidConfigError: as in `partition_count`.
        ExactlyOnceError: a subclass says why the ledger does not allow the copy, such as LedgerAheadError if
            the checkpoint was lost, or LedgerMissingError if the new topic has records.
        RerunDiffersError: a micro-batch was interrupted, and compaction or retention removed some of its
            records from the old topic before it ran again. Nothing wrong is written. Raise
            `min.compaction.lag.ms` or `retention.ms` of the old topic, and begin again with an empty new
            topic and an empty checkpoint.
        DataLossError: the old topic lost records before they were copied.
    """
    register(spark)
    if source == target:
        raise ReshapeError(f"the old and the new topic are both {source!r}: create the new one beside it")
    count = partition_count(target, config)
    check_keeps_times(config, target)
    if is_remote():
        ship(spark)  # `write` below runs on the Connect server, not in this process
    placed = _place(_stream(spark, source, config), count, profile, key)
    app_id, settings = _app_id(source), dict(config)

    def write(batch: DataFrame, version: int) -> None:
        write_exactly_once(
            batch,
            version,
            topic=target,
            app_id=app_id,
            config=settings,
            order_by=["reached", "old_partition", "old_offset"],
            profile=profile,
        )

    number = 0
    while True:
        number += 1
        # The ends are asked before the copy begins. Records that arrive during it may not be copied, so ends
        # asked later would promise too much.
        ends = topic_bounds(config, source).ends
        copied = _run(placed, write, checkpoint)
        now = topic_bounds(config, source).ends
        # If a partition was added to the topic during the round, none of its records are copied yet.
        behind = sum(max(end - ends.get(partition, 0), 0) for partition, end in now.items())
        last = CopyRound(number, copied, behind, ends)
        if on_round is not None:
            on_round(last)
        if behind <= until_behind:
            return last


def _stream(spark: SparkSession, source: str, config: Mapping[str, str]) -> DataFrame:
    """Return the committed records of the old topic as a stream, from its beginning."""
    reader = spark.readStream.format("copartition").options(**reader_options(config, source))
    if find_spec("pyspark.sql.streaming.datasource"):  # since Spark 4.2 a stream reads in parts
        reader = reader.option("maxOffsetsPerTrigger", MOST_OFFSETS)
    return reader.option("startingOffsets", "earliest").load()


def _place(records: DataFrame, count: int, profile: str, key: Column | None) -> DataFrame:
    """Return the records with the partition and headers of the new topic, and with the columns to sort by.

    Args:
        records: the records of the old topic.
        count: partition count of the new topic.
        profile: the profile whose rule places keys.
        key: expression for the new key; None to keep the key.

    Returns:
        Rows with key, value, timestamp, headers and partition as they are written, and with `reached` (ms
        since 1970), `old_partition` and `old_offset`.
    """
    functions: Any = sf  # the type stubs do not know UDFs over iterators
    highest_time = functions.pandas_udf(_highest_times(), "bigint")
    reached = highest_time(sf.col("partition"), sf.col("offset"), sf.unix_millis("timestamp"))
    kept = records.select(
        (sf.col("key") if key is None else key).alias("key"),
        "value",
        "timestamp",
        with_origin(sf.col("headers"), sf.col("partition"), sf.col("offset")).alias("headers"),
        sf.col("partition").alias("old_partition"),
        sf.col("offset").alias("old_offset"),
        reached.alias("reached"),
    )
    # A record without a key gets its partition by a hash of its place in the old topic. That spreads them
    # evenly, and is the same each time the micro-batch runs.
    place = kafka_partition("key", count, profile=profile, spread_by=("old_partition", "old_offset"))
    return kept.select("*", place)


def _highest_times() -> Callable[[Iterator[tuple[pd.Series, pd.Series, pd.Series]]], Iterator[pd.Series]]:
    """Return a UDF's function that computes `reached` of each row, in ms since 1970.

    The function gets the partition, offset and time (in ms) of a task's rows in batches. A task may read
    several partitions, one after the other, but a partition is never read by several tasks. The function
    raises ReadError if the rows of a partition do not come in the order of their offsets, because otherwise
    records of a key would silently be written out of order.
    """

    # This function is defined inside another one, so that it is pickled by value: executors do not have this
    # package.
    def highest_times(batches: Iterator[tuple[pd.Series, pd.Series, pd.Series]]) -> Iterator[pd.Series]:
        last: dict[int, int] = {}
        highest: dict[int, int] = {}
        for partitions, offsets, times in batches:
            numbers, places, risen = partitions.to_numpy(), offsets.to_numpy(), times.to_numpy().copy()
            # Each run of rows of one partition is computed at once; most batches are a single run.
            edges = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
            for begin, end in pairwise(edges if len(numbers) else []):
                partition = int(numbers[begin])
                if places[begin] <= last.get(partition, -1) or (np.diff(places[begin:end]) <= 0).any():
                    raise ReadError(
                        f"a task does not read partition {partition} of the old topic in the order of its "
                        "offsets, so that the order of keys would be lost"
                    )
                floor = highest.get(partition, np.iinfo(np.int64).min)
                risen[begin:end] = np.maximum.accumulate(np.maximum(risen[begin:end], floor))
                last[partition], highest[partition] = int(places[end - 1]), int(risen[end - 1])
            yield pd.Series(risen)

    return highest_times


def _run(placed: DataFrame, write: Callable[[DataFrame, int], None], checkpoint: str) -> int:
    """Copy the records that exist now, and return how many records the micro-batches had.

    Args:
        placed: the stream of records, as `_place` returns it.
        write: writes a micro-batch with its number.
        checkpoint: the folder of Spark's checkpoint.

    Errors are as in `reshape_copy`.
    """
    writer = placed.writeStream.foreachBatch(write).option("checkpointLocation", checkpoint)
    query = writer.trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    except Exception as error:
        # Spark's exception has pages of traceback. If a task or `write` raised an error of this project, it
        # contains that error.
        raise typed_error(error) or error from error
    finally:
        query.stop()  # also after Ctrl-C: otherwise the query would go on
    # The property `numInputRows` is read, and not the item of this name, which is None on Connect.
    return sum(progress.numInputRows for progress in query.recentProgress)


def _app_id(source: str) -> str:
    """Return the name of the copy's writer; a long topic name is cut and gets a hash."""
    if len(source) > _LONGEST_NAME:
        # The hash is needed, because two topics with long names may have the same beginning. They must not
        # share one writer's ledger.
        source = f"{source[: _LONGEST_NAME - 17]}-{sha256(source.encode()).hexdigest()[:16]}"
    return f"reshape of {source}"
