"""The counting behind `audit`, distributed: each task counts the records it reads, and the counts are merged.

A task that reads one partition cannot see all that the topic's writers did there: where a count grew to a
multiple, a low partition holds what both counts put there. So every task starts with the writers that a few
records of each partition show, and counts once more where the records then show others.
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
"""So many records of a task are looked at for writers, before all are counted."""

HEAD_OF_A_PARTITION = 32

LONGEST_KEY = 1 << 10
"""Longer keys are counted, and not looked at before."""

FEWEST_BLOCKS = 64
"""Ranges of offsets that a task may keep, however many tasks there are."""

TASKS_MERGED = 32
"""Counts of so many tasks are merged by one worker, and those of so many workers by one more."""

PASSES = 3
"""Records are counted so often at most, in the search for the writers of all of them."""

HEAD = "topic string, partition int, offset bigint, key binary, task int"
"""Number of first records that a task takes."""

COUNTED = "topic string, task bigint, tally binary, forms binary"

Batches = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]


class TopicCounts(NamedTuple):
    """Counts a topic's records by the writers that explain them and by the forms of their keys."""

    tally: Tally
    forms: FormCounts

    def dump(self) -> dict[str, bytes]:
        """As the columns `tally` and `forms`."""
        return {"tally": self.tally.dump(), "forms": self.forms.dump()}

    @classmethod
    def merge(cls, rows: Iterable[Any]) -> TopicCounts:
        """Return what all of some rows with these columns say of one topic."""
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
) -> dict[str, TopicCounts]:
    """Count the records of each topic under the writers that explain them.

    `records` have topic, partition (int), offset (bigint), timestamp_ms (bigint) and key (binary). `size_of`
    gives a topic's partition count; None for one more than its highest partition with a record.
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
            # A topic, or a partition, of which the first records said nothing.
            if topic not in tallies or tallies[topic].num_partitions < size:
                again[topic] = Tally(size, profiles=profiles, counts=counts)
            # A task found writers that others did not look for, so their counts lack them: all count once
            # more.
            elif {*tally.writers} - {*tallies[topic].writers} and tasks > 1:
                again[topic] = tally
        if not again:
            break
        tallies |= again
    return counted


def _first_records(records: DataFrame) -> DataFrame:
    """Return a row a partition: a few of its records, from the first ones of all tasks alike.

    And the last task.
    """
    # One key of a few MiB in each row would fill the memory of the task that collects a few records of each.
    short = records.where(sf.coalesce(sf.length("key"), sf.lit(0)) <= LONGEST_KEY)
    heads = short.mapInArrow(_heads, HEAD)
    # Drawn by a hash of the offset: the same records whichever tasks read them, and not just the oldest ones.
    drawn = sf.collect_list(sf.struct(sf.xxhash64("offset").alias("draw"), "offset", "key"))
    return heads.groupBy("topic", "partition").agg(
        sf.slice(sf.sort_array(drawn), 1, HEAD_OF_A_PARTITION).alias("records"),
        sf.max("task").alias("last_task"),
    )


def _pass(records: DataFrame, tallies: Mapping[str, Tally], tasks: int) -> dict[str, TopicCounts]:
    """Count all records, by topic."""
    started = {topic: tally.dump() for topic, tally in tallies.items()}
    # All tasks' counts meet in one process in the end, so together they may have what one could have alone.
    most_blocks = max(FEWEST_BLOCKS, MOST_BLOCKS // tasks)
    parts = records.mapInArrow(_counting(started, most_blocks), COUNTED)
    while tasks > TASKS_MERGED:
        parts = parts.withColumn("task", sf.floor(sf.col("task") / TASKS_MERGED))
        parts = parts.groupBy("topic", "task").applyInPandas(_merge, COUNTED)
        tasks = -(-tasks // TASKS_MERGED)
    rows_of: dict[str, list[Any]] = defaultdict(list)
    for row in parts.collect():
        rows_of[row.topic].append(row)
    return {topic: TopicCounts.merge(rows) for topic, rows in rows_of.items()}


def _records_of(rows: Sequence[Any]) -> Records:
    """Return the records of some rows of `_first_records`."""
    records = [(row.partition, record) for row in rows for record in row.records]
    return Records(
        np.array([partition for partition, _ in records], np.int32),
        np.array([record.offset for _, record in records], np.int64),
        np.full(len(records), -1),
        key_column([None if record.key is None else bytes(record.key) for _, record in records]),
    )


def _heads(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield a few records of each partition among the first ones of a task; the rest is not read."""
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
        # Ends the task: Spark stops reading the source when the generator ends.
        if total >= HEAD_OF_A_TASK:
            return


def _counting(started: Mapping[str, bytes], most_blocks: int) -> Batches:
    """Return a function for `mapInArrow` that counts a task's records, and yields one row a topic.

    Args:
        started: by topic, a dumped `Tally` with the writers to look for and no counts.
        most_blocks: how many ranges of offsets a tally may keep.
    """

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        counted: dict[str, TopicCounts] = {}
        task = 0
        for batch in batches:
            topics = batch["topic"].dictionary_encode()
            task = batch["task"][0].as_py() if batch.num_rows else task
            # Mostly one topic a batch; several are taken apart so that each tally sees one topic's offsets
            # only.
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
                    counted[topic] = TopicCounts(tally, FormCounts())
                counted[topic].tally.add(records)
                counted[topic].forms.add(records.keys)
        for topic, count in counted.items():
            count.tally.shrink(most_blocks)
            yield pa.RecordBatch.from_pylist([{"topic": topic, "task": task, **count.dump()}])

    return count


def _merge(parts: pd.DataFrame) -> pd.DataFrame:
    """Return one row for all rows of a topic that one worker merges."""
    whole = TopicCounts.merge(parts.itertuples())
    whole.tally.shrink()
    return parts.iloc[:1].assign(**whole.dump())
