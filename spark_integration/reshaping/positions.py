"""Find where each group continues in the new topic, from the offsets that it has committed in the old one.

A group has read a record of the new topic if the record's place in the old topic is below the group's commit
there. The group continues at the first record that it has not read. Records behind that one which it has read
already are delivered again.

The records that a group has not read are near the end of each new partition. So only the ends are read, from
far enough back to find every record that the old topic has beyond the commits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from partitioning.errors import ReshapeError
from spark_integration.reshaping.topics import (
    Bounds,
    by_partition,
    origin,
    read_topic,
    topic_pair,
)

FIRST_WINDOW = 256
"""Number of offsets read at the end of each new partition at first; four times as many if too few."""


@dataclass(frozen=True, slots=True)
class MappedPosition:
    """Tells where a group goes on in one partition of the new topic.

    Attributes:
        group: the group's id.
        partition: number of the partition of the new topic.
        offset: offset of the first record that the group has not read; the partition's end if there is none.
        repeats: number of records behind that offset which the group has read already. If it is 0, the group
            gets no record twice.

    Example:
        >>> MappedPosition("billing", partition=7, offset=9, repeats=0).repeats
        0
    """

    group: str
    partition: int
    offset: int
    repeats: int


def map_positions(
    spark: SparkSession,
    source: str,
    target: str,
    *,
    config: Mapping[str, str],
    commits: Mapping[str, Mapping[int, int]],
) -> list[MappedPosition]:
    """Return where each group continues in each partition of the new topic, so that it misses no record.

    Call it when writers have stopped and `reshape_copy` has ended with `behind` 0. A record that is copied
    later is written behind the end of its partition, so a group does not miss it either. A record without
    the copy's header was written by another writer, and counts as not read. Such records are expected behind
    the copied ones. Those between copied records are not looked for; `prove` finds them.

    This reads the records of the old topic that groups have not read, and the ends of the new partitions, far
    enough back to find all their copies. If a topic is compacted, or a commit is below the beginning of its
    old partition, the unread records cannot be counted in the old topic. Then the whole new topic is read.

    >>> write_exactly_once(df, 0, topic="orders", app_id="shop", config=config)
    >>> last = reshape_copy(spark, "orders", "orders-18", config=config, checkpoint=folder)
    >>> commits = {"billing": dict(last.ends)}  # a group that has read everything
    >>> positions = map_positions(spark, "orders", "orders-18", config=config, commits=commits)
    >>> len(positions), {position.repeats for position in positions}
    (18, {0})

    Args:
        spark: a session of Spark 4.0 or newer, classic or Connect.
        source: the old topic.
        target: the new topic, which `reshape_copy` has written.
        config: librdkafka's settings for a reader, "bootstrap.servers" at least.
        commits: group -> old partition -> committed offset, the first that the group has not read.

    Returns:
        A position for each group and new partition, sorted by group and partition.

    Raises:
        ReshapeError: a group has no commit for an old partition with records, or a commit outside the
            partition's offsets. What the group would read then depends on `auto.offset.reset` of its
            members, which no broker shows.
        MissingDependencyError: this Spark has no Python data sources (before 4.0), or confluent-kafka is
            missing.
        UnknownTopicError, BrokerUnreachableError, InvalidConfigError: as in `partition_count`.
        AccessError: this user may not see whether the topics are compacted.
    """
    old, new, compacted = topic_pair(spark, config, source, target)
    known = {group: _known_commits(group, offsets, source, old) for group, offsets in commits.items()}
    # Without groups there is no lowest commit from which the old topic could be read.
    if not known:
        return []
    least = {partition: min(offsets[partition] for offsets in known.values()) for partition in old.ends}
    # Records before a partition's first offset were deleted by retention and cannot be counted here. But
    # their copies may exist and be unread.
    countable = all(least[partition] >= start for partition, start in old.starts.items())
    if countable and not compacted:
        unread = _count_by_partition(read_topic(spark, config, source, Bounds(least, old.ends)))
        rows = _ends_with(spark, config, target, new, least, unread)
    else:
        rows = _records(spark, config, target, new).persist()
    try:
        return _positions(rows, known, new)
    finally:
        rows.unpersist()


def _known_commits(group: str, commits: Mapping[int, int], source: str, old: Bounds) -> dict[int, int]:
    """Return a group's commit for each old partition; the end for an empty partition without a commit.

    Args:
        group: the group's id, for messages.
        commits: old partition -> committed offset.
        source: name of the old topic, for messages.
        old: bounds of the old topic.

    Raises:
        ReshapeError: a partition with records has no commit, or a commit is outside a partition's offsets.
    """
    for partition, offset in sorted(commits.items()):
        if partition not in old.ends:
            raise ReshapeError(
                f"group {group!r} has a commit for partition {partition} of topic {source!r}, which has "
                f"{len(old.ends)} partitions"
            )
        if not 0 <= offset <= old.ends[partition]:
            raise ReshapeError(
                f"group {group!r} has committed offset {offset:,} in partition {partition} of topic "
                f"{source!r}, whose committed records end at {old.ends[partition]:,}: was the topic deleted "
                "and created anew, or is a transaction open in it?"
            )
    # An empty partition needs no commit: it has no record that the group could miss.
    holding = {partition for partition, end in old.ends.items() if end > old.starts[partition]}
    if missing := sorted(holding - commits.keys()):
        raise ReshapeError(
            f"group {group!r} has no commit for partition {missing[0]} of topic {source!r}, which has "
            "records: auto.offset.reset of its members, which no broker shows, decides whether they read "
            "them. Have the group commit there (kafka-consumer-groups.sh --reset-offsets), then map again"
        )
    return {partition: commits.get(partition, end) for partition, end in old.ends.items()}


def _count_by_partition(records: DataFrame) -> dict[int, int]:
    """Return partition -> number of records; partitions without records are missing."""
    return {row[0]: row[1] for row in records.groupBy("partition").count().collect()}


def _records(spark: SparkSession, config: Mapping[str, str], target: str, bounds: Bounds) -> DataFrame:
    """Return each record's place in the new topic (`partition`, `offset`) and in the old topic (`origin`).

    `origin` is a struct of `partition` and `offset`; null if the copy did not write the record.
    """
    records = read_topic(spark, config, target, bounds)
    return records.select("partition", "offset", origin(sf.col("headers")).alias("origin"))


def _ends_with(
    spark: SparkSession,
    config: Mapping[str, str],
    target: str,
    new: Bounds,
    least: Mapping[int, int],
    unread: Mapping[int, int],
) -> DataFrame:
    """Return the last records of each new partition, far enough back to contain all unread ones.

    The result is persisted; the caller unpersists it.

    Args:
        spark: a session that knows the format.
        config: librdkafka's settings.
        target: the new topic.
        new: bounds of the new topic.
        least: old partition -> the lowest commit of all groups.
        unread: old partition -> number of records that the old topic has from that commit on.

    Returns:
        Rows as `_records` returns them.
    """
    # A first guess: twice the average of unread records. If that is too short, it grows.
    window = FIRST_WINDOW + 2 * sum(unread.values()) // max(len(new.ends), 1)
    while True:
        starts = {partition: max(end - window, new.starts[partition]) for partition, end in new.ends.items()}
        rows = _records(spark, config, target, Bounds(starts, new.ends)).persist()
        if starts == new.starts or (_holds_all(rows, least, unread) and _begins_copied(rows, starts, new)):
            return rows
        rows.unpersist()
        window *= 4


def _holds_all(rows: DataFrame, least: Mapping[int, int], unread: Mapping[int, int]) -> bool:
    """Return whether the rows have a copy of every unread record of each old partition.

    Arguments as in `_ends_with`.
    """
    behind = rows.where(sf.col("origin.offset") >= by_partition(least, sf.col("origin.partition")))
    # Each origin counts once. A record that was copied twice would otherwise count twice, and hide a record
    # that is further back.
    counted = _count_by_partition(behind.select(sf.col("origin.partition"), "origin.offset").distinct())
    return all(counted.get(partition, 0) >= count for partition, count in unread.items())


def _begins_copied(rows: DataFrame, starts: Mapping[int, int], new: Bounds) -> bool:
    """Return whether the first row of each partition is a copied record, or no earlier record exists.

    Otherwise other writers have written more records behind the copied ones than the rows contain. The first
    of these, at which a group may have to continue, is further back.

    Args:
        rows: rows as `_records` returns them, from `starts` on.
        starts: partition -> the first offset that was read.
        new: bounds of the new topic.
    """
    first = rows.groupBy("partition").agg(sf.min_by("origin", "offset").alias("origin"))
    others = first.where("origin IS NULL").collect()
    return all(starts[row["partition"]] == new.starts[row["partition"]] for row in others)


def _positions(
    rows: DataFrame, commits: Mapping[str, Mapping[int, int]], new: Bounds
) -> list[MappedPosition]:
    """Return each group's position in each new partition, sorted by group and partition.

    Args:
        rows: rows as `_records` returns them, with every record that a group has not read.
        commits: group -> old partition -> committed offset, for every old partition.
        new: bounds of the new topic.
    """
    found: list[MappedPosition] = []
    for group, offsets in sorted(commits.items()):
        limit = by_partition(offsets, sf.col("origin.partition"))
        # The origin is null for records of other writers, and the commit is null if the old topic has no such
        # partition. In both cases the record counts as not read.
        read = sf.coalesce(sf.col("origin.offset") < limit, sf.lit(False))
        marked = rows.select("partition", "offset", read.alias("read"))
        firsts = {
            row[0]: row[1]
            for row in marked.where("NOT read").groupBy("partition").agg(sf.min("offset")).collect()
        }
        again = marked.where(sf.col("read") & (sf.col("offset") > by_partition(firsts, sf.col("partition"))))
        repeats = _count_by_partition(again) if firsts else {}
        found += [
            MappedPosition(group, partition, firsts.get(partition, end), repeats.get(partition, 0))
            for partition, end in sorted(new.ends.items())
        ]
    return found
