"""Count the records of topics for `audit`: each task counts what it reads, and the counts are merged.

A *writer* is a profile with a partition count. A task that reads one partition cannot find all writers by
itself. For example, if a topic grew from 6 to 12 partitions, partition 0 holds records that fit both counts.
So a first pass looks at a few records of every partition, and every task then counts for the writers that
these show. If a task's records show a further writer, all tasks count once more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from copartition.audit.forms import FormCounts
from copartition.audit.tally import MOST_BLOCKS, Tally
from copartition.audit.topic_audit import Records
from partitioning.keys import key_column
from spark_integration.shipping import PLACEMENT, send_by_value

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

send_by_value("copartition.audit", *PLACEMENT, "spark_integration.auditing")

HEAD_OF_A_TASK = 1 << 14
"""Number of records at the start of each task from which the first pass takes some."""

HEAD_OF_A_PARTITION = 32
"""Number of records of each partition that the first pass looks at."""

LONGEST_KEY = 1 << 10
"""Keys with more bytes than this are left out of the first pass, which collects keys on the driver."""

FEWEST_BLOCKS = 64
"""Each task may keep at least this many ranges of offsets, however many tasks there are."""

TASKS_MERGED = 32
"""Number of counts that one worker merges, so that the driver gets few of them."""

PASSES = 3
"""The most times that all records are counted, in the search for all writers."""

HEAD = "topic string, partition int, offset bigint, key binary, task int"
"""Spark's schema of the records that the first pass takes."""

COUNTED = "topic string, task bigint, tally binary, forms binary"
"""Spark's schema of counts: one row for each task and topic, with a dumped `Tally` and `FormCounts`."""

Batches = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]


class AuditCounts(NamedTuple):
    """Holds the counts of one topic: by the writers that explain its records, and by its keys' forms."""

    tally: Tally
    forms: FormCounts

    def dump(self) -> dict[str, bytes]:
        """Return both counts as bytes, by the names of their columns in `COUNTED`."""
        return {"tally": self.tally.dump(), "forms": self.forms.dump()}

    @classmethod
    def merge(cls, rows: Iterable[Any]) -> AuditCounts:
        """Return the sum of a topic's dumped counts; `rows` is not empty and has the columns of `COUNTED`."""
        parts = (cls(Tally.load(bytes(row.tally)), FormCounts.load(bytes(row.forms))) for row in rows)
        whole = next(parts)
        for part in parts:
            whole.tally.merge(part.tally)
            whole.forms.merge(part.forms)
        return whole


def count_topics(
    records: DataFrame,
    counts: Sequence[int] | None,
    profiles: Sequence[str] | None,
    size_of: Callable[[str], int | None],
) -> dict[str, AuditCounts]:
    """Count the records of each topic by the writers that explain them.

    Args:
        records: rows with topic, partition (int), offset (bigint), timestamp_ms (bigint) and key (binary).
        counts: partition counts to try; None for all up to the topic's own.
        profiles: names of the profiles to try; None for all.
        size_of: returns a topic's partition count; None for one more than its highest partition with a
            record.

    Returns:
        Topic -> its counts.
    """
    records = records.select("*", sf.spark_partition_id().alias("task"))
    first_rows = _first_records(records).collect()
    tasks = 1 + max((row.last_task for row in first_rows), default=0)
    tallies: dict[str, Tally] = {}
    for topic in sorted({row.topic for row in first_rows}):
        own = [row for row in first_rows if row.topic == topic]
        size = size_of(topic) or 1 + max(row.partition for row in own)
        tallies[topic] = Tally(size, profiles=profiles, counts=counts)
        tallies[topic].add(_records_of(own))
        tallies[topic].settle()
    for _ in range(PASSES):
        counted = _pass(records, {topic: tally.empty_copy() for topic, tally in tallies.items()}, tasks)
        again = {}
        for topic, (tally, _) in counted.items():
            size = size_of(topic) or 1 + tally.highest_partition
            # The first pass saw nothing of this topic, or not its highest partition: the topic is counted
            # anew.
            if topic not in tallies or tallies[topic].num_partitions < size:
                again[topic] = Tally(size, profiles=profiles, counts=counts)
            # A task found a writer for which the other tasks did not count. All tasks count once more, for
            # this writer, too.
            elif {*tally.writers} - {*tallies[topic].writers} and tasks > 1:
                again[topic] = tally
        if not again:
            break
        tallies |= again
    return counted


def _first_records(records: DataFrame) -> DataFrame:
    """Return one row for each partition: a few of the records that tasks read first, and the last task.

    Columns: topic, partition, `records` (structs of draw, offset and key) and `last_task`, the highest number
    of a task that read the partition.
    """
    # Long keys are left out: with a few MiB each they would fill the memory of the task that collects them.
    short = records.where(sf.coalesce(sf.length("key"), sf.lit(0)) <= LONGEST_KEY)
    heads = short.mapInArrow(_heads, HEAD)
    # Records are chosen by a hash of the offset: so the choice does not depend on which task reads a record,
    # and not only the oldest records are chosen.
    drawn = sf.collect_list(sf.struct(sf.xxhash64("offset").alias("draw"), "offset", "key"))
    return heads.groupBy("topic", "partition").agg(
        sf.slice(sf.sort_array(drawn), 1, HEAD_OF_A_PARTITION).alias("records"),
        sf.max("task").alias("last_task"),
    )


def _pass(records: DataFrame, tallies: Mapping[str, Tally], tasks: int) -> dict[str, AuditCounts]:
    """Count all records once, and return the counts of each topic.

    Args:
        records: as in `count_topics`, with the number of the reading task as `task`.
        tallies: topic -> an empty tally with the writers to count for.
        tasks: number of tasks that read the records.
    """
    started = {topic: tally.dump() for topic, tally in tallies.items()}
    # In the end the counts of all tasks are in one process. Together they may have `MOST_BLOCKS`, so each
    # task gets its share of these.
    most_blocks = max(FEWEST_BLOCKS, MOST_BLOCKS // tasks)
    parts = records.mapInArrow(_counting(started, most_blocks), COUNTED)
    while tasks > TASKS_MERGED:
        parts = parts.withColumn("task", sf.floor(sf.col("task") / TASKS_MERGED))
        parts = parts.groupBy("topic", "task").applyInPandas(_merge, COUNTED)
        tasks = -(-tasks // TASKS_MERGED)
    rows_of: dict[str, list[Any]] = defaultdict(list)
    for row in parts.collect():
        rows_of[row.topic].append(row)
    return {topic: AuditCounts.merge(rows) for topic, rows in rows_of.items()}


def _records_of(rows: Sequence[Any]) -> Records:
    """Return the records in rows of `_first_records`, all of one topic; their times are unknown (-1)."""
    records = [(row.partition, record) for row in rows for record in row.records]
    return Records(
        np.array([partition for partition, _ in records], np.int32),
        np.array([record.offset for _, record in records], np.int64),
        np.full(len(records), -1),
        key_column([None if record.key is None else bytes(record.key) for _, record in records]),
    )


def _heads(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield up to `HEAD_OF_A_PARTITION` records of each partition from the first records of a task.

    Reading stops after the batch in which the task's record number `HEAD_OF_A_TASK` is.
    """
    total = 0
    taken_of: dict[tuple[str, int], int] = {}
    for batch in batches:
        rows = []
        places = zip(batch["topic"].to_pylist(), batch["partition"].to_pylist(), strict=True)
        for row, place in enumerate(places):
            if taken_of.get(place, 0) < HEAD_OF_A_PARTITION:
                taken_of[place] = taken_of.get(place, 0) + 1
                rows.append(row)
        yield batch.select(["topic", "partition", "offset", "key", "task"]).take(pa.array(rows, pa.int64()))
        total += batch.num_rows
        # Returning ends the task: Spark stops reading the source when the generator ends.
        if total >= HEAD_OF_A_TASK:
            return


def _counting(started: Mapping[str, bytes], most_blocks: int) -> Batches:
    """Return a function for `mapInArrow` that counts a task's records, and yields one row for each topic.

    Args:
        started: topic -> a dumped `Tally` without counts, with the writers to count for.
        most_blocks: the most ranges of offsets that a tally may keep.
    """

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        counted: dict[str, AuditCounts] = {}
        task = 0
        for batch in batches:
            topics = batch["topic"].dictionary_encode()
            task = batch["task"][0].as_py() if batch.num_rows else task
            # Mostly a batch has records of one topic. If it has several, the topics are separated: a tally
            # counts ranges of offsets, which must be of one topic.
            for number, topic in enumerate(topics.dictionary.to_pylist()):
                own = batch if len(topics.dictionary) == 1 else batch.filter(pc.equal(topics.indices, number))
                records = Records(
                    own["partition"].to_numpy(),
                    own["offset"].to_numpy(),
                    own["timestamp_ms"].to_numpy(),
                    key_column(own["key"]),
                )
                if topic not in counted:
                    new = topic not in started
                    tally = Tally(int(records.partition.max()) + 1) if new else Tally.load(started[topic])
                    counted[topic] = AuditCounts(tally, FormCounts())
                counted[topic].tally.add(records)
                counted[topic].forms.add(records.keys)
        for topic, count in counted.items():
            count.tally.shrink(most_blocks)
            yield pa.RecordBatch.from_pylist([{"topic": topic, "task": task, **count.dump()}])

    return count


def _merge(parts: pd.DataFrame) -> pd.DataFrame:
    """Return one row with the sum of all rows; called by Spark for the counts that one worker merges."""
    whole = AuditCounts.merge(parts.itertuples())
    whole.tally.shrink()
    return parts.iloc[:1].assign(**whole.dump())
