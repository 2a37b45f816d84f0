"""Copy a topic into one of another partition count or rule, once, in the order of each key.

A record's order in the new topic: a micro-batch after the other, and within one by `reached`, then by place
in the old topic. `reached` is the highest timestamp that the record's old partition has come to at that
offset. It never falls along a partition, so all records of an old partition keep their order, whatever their
timestamps are; and records of several old partitions are interleaved by time. That matters twice: a group
that lags repeats little, for what it has read lies together; and a key that strays wrote into a second
partition is in order by time, the only order that such a key has.
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
"""Offsets of a micro-batch at most, on a Spark that reads a stream in parts: what a shuffle has to hold."""

_LONGEST_NAME = 180
"""Characters of a topic's name that the writer's name can hold beside its own words; names may have 249."""


@dataclass(frozen=True, slots=True)
class CopyRound:
    """Tells what one round of a copy did.

    Attributes:
        number: 1 for the first round of this call.
        copied: records in the micro-batches of this round. After a restart these are all records of the
            micro-batch that had not ended, also those of it that were there already.
        behind: offsets that the old topic had got meanwhile, which the next round copies. Markers of
            transactions count, so it is the number of records at most.
        ends: old partition -> end offset of committed records when the round began; all before is copied.

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

    Each round copies what is there when it begins. Rounds follow each other until the old topic has got no
    more than `until_behind` offsets meanwhile. Timestamps, headers and tombstones stay; one header is added
    at the end, `copartition.origin` with "PARTITION:OFFSET" of the old topic. Aborted records are left out.

    Records of a key that are in one old partition keep their order. A key in several of them, where writers
    with different rules wrote, is put in order by timestamp within a micro-batch; `prove` counts such keys
    (`Proof.strays`).

    It can be stopped at any time, also by kill -9. Called again with the same checkpoint it goes on, and
    writes nothing twice: the write is that of `write_exactly_once`, by the name "reshape of SOURCE".

    >>> write_exactly_once(df, 0, topic="orders", app_id="shop", config=config)
    >>> last = reshape_copy(spark, "orders", "orders-18", config=config, checkpoint=folder)
    >>> last.copied, last.behind
    (100, 0)

    Args:
        spark: a session of Spark 4.0 or newer, classic or Connect.
        source: the old topic.
        target: the new topic, which has been created with the wanted partition count and holds nothing.
        config: librdkafka's settings for reader and writer, "bootstrap.servers" at least.
        checkpoint: folder in which Spark notes how far it is: one that outlives this program, of this copy
            only.
        profile: whose rule places keys in the new topic.
        key: the new topic's key, made of the columns `key`, `value`, `headers`, `timestamp` of the old one;
            by default the key stays.
        until_behind: ends once the old topic got at most so many offsets during a round. While writers
            write, 0 may never be reached.
        on_round: called after each round, here on the driver.

    Raises:
        ReshapeError: both topics are one, or brokers would replace the timestamps in the new one.
        MissingDependencyError: this Spark has no Python data sources (before 4.0), or confluent-kafka is
            missing.
        UnknownTopicError, BrokerUnreachableError, InvalidConfigError: as of `partition_count`.
        ExactlyOnceError: a subclass says why the ledger does not allow it, such as LedgerAheadError for a
            checkpoint that was lost, or LedgerMissingError for a new topic that has records.
        RerunDiffersError: a micro-batch was cut off, and before it ran again compaction or retention removed
            records of it from the old topic. Nothing wrong is written; raise `min.compaction.lag.ms` or
            `retention.ms` of the old topic and begin with an empty new topic and checkpoint.
        DataLossError: the old topic lost records before they were copied.
    """
    register(spark)
    if source == target:
        raise ReshapeError(f"the old and the new topic are both {source!r}: create the new one beside it")
    count = partition_count(target, config)
    check_keeps_times(config, target)
    if is_remote():
        ship(spark)  # the function below runs where the server is
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
        # Asked before the copy begins: records that come meanwhile need not be in it, so a later end would
        # promise too much.
        ends = topic_bounds(config, source).ends
        copied = _run(placed, write, checkpoint)
        now = topic_bounds(config, source).ends
        # A partition that the topic got meanwhile is behind from its beginning.
        behind = sum(max(end - ends.get(partition, 0), 0) for partition, end in now.items())
        last = CopyRound(number, copied, behind, ends)
        if on_round is not None:
            on_round(last)
        if behind <= until_behind:
            return last


def _stream(spark: SparkSession, source: str, config: Mapping[str, str]) -> DataFrame:
    """Return the old topic as a stream, from its beginning."""
    reader = spark.readStream.format("copartition").options(**reader_options(config, source))
    if find_spec("pyspark.sql.streaming.datasource"):  # since Spark 4.2 a stream reads in parts
        reader = reader.option("maxOffsetsPerTrigger", MOST_OFFSETS)
    return reader.option("startingOffsets", "earliest").load()


def _place(records: DataFrame, count: int, profile: str, key: Column | None) -> DataFrame:
    """Return the records with the partition and the headers of the new topic, and what orders them."""
    functions: Any = sf  # the stubs take no iterators
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
    # A keyless record is spread by its place: even, and the same each time the micro-batch runs.
    place = kafka_partition("key", count, profile=profile, spread_by=("old_partition", "old_offset"))
    return kept.select("*", place)


def _highest_times() -> Callable[[Iterator[tuple[pd.Series, pd.Series, pd.Series]]], Iterator[pd.Series]]:
    """Return the function that gives each row the highest time of its partition so far, in ms since 1970.

    Its batches are partition, offset and time of each row of a task. Spark may have a task read several
    partitions, one after the other, and never divides one over tasks. The function checks that it gets the
    rows of a partition in the order of their offsets: in any other order records of a key would come out of
    order, silently.
    """

    # Nested, so that it travels by value: executors have not got this package.
    def highest_times(batches: Iterator[tuple[pd.Series, pd.Series, pd.Series]]) -> Iterator[pd.Series]:
        last: dict[int, int] = {}
        highest: dict[int, int] = {}
        for partitions, offsets, times in batches:
            numbers, places, risen = partitions.to_numpy(), offsets.to_numpy(), times.to_numpy().copy()
            # Most batches are of one partition: a run is the rows between two changes of the partition.
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
    """Copy what is there now, and return how many records the micro-batches had.

    Errors as of `reshape_copy`.
    """
    writer = placed.writeStream.foreachBatch(write).option("checkpointLocation", checkpoint)
    query = writer.trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    except Exception as error:
        # Spark's exception has pages of traceback; what we raised in a task or in `write` is inside.
        raise typed_error(error) or error from error
    finally:
        query.stop()  # also after Ctrl-C, which else leaves it running
    # By the property: on Connect the item of this name is None, and the property adds up the sources.
    return sum(progress.numInputRows for progress in query.recentProgress)


def _app_id(source: str) -> str:
    """Return the writer's name, in which a long name of a topic is cut and made unique by a hash."""
    if len(source) > _LONGEST_NAME:
        # A cut alone would give two topics whose long names begin alike one and the same writer.
        source = f"{source[: _LONGEST_NAME - 17]}-{sha256(source.encode()).hexdigest()[:16]}"
    return f"reshape of {source}"
