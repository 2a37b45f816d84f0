"""Find where each group goes on in the new topic, from what it has committed in the old one.

A record of the new topic is read if its place in the old topic is below the group's commit there. A group
goes on at the first record that it has not read; what it has read behind that comes again.

What a group has not read is at the end of each new partition, so only the ends are read: from so far back
that all records are found that the old topic has beyond the commits.
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
"""Offsets to read at the end of each new partition at least; a window that is too short grows fourfold."""


@dataclass(frozen=True, slots=True)
class MappedPosition:
    """Tells where a group goes on in one partition of the new topic.

    Attributes:
        group: its id.
        partition: of the new topic.
        offset: the first offset whose record is not read; the partition's end if all are.
        repeats: records behind that offset which the group has read already; 0: the move is exact.

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
    """Return where each group goes on in each partition of the new topic, so that it misses no record.

    Call it when writers have stopped and `reshape_copy` has ended with `behind` 0. A record that is not
    copied yet comes behind the end of its partition, so a group does not miss it either. A record without
    the copy's header counts as not read: others have written it, behind the copied ones. Those that lie
    between copied records are not looked for; `prove` finds them.

    It reads what the groups have not read of the old topic, and the ends of the new partitions that hold
    these records. If a topic is compacted, or a commit is below the old partition's beginning, what is not
    read cannot be counted in the old topic, and the new topic is read as a whole.

    >>> write_exactly_once(df, 0, topic="orders", app_id="shop", config=config)
    >>> last = reshape_copy(spark, "orders", "orders-18", config=config, checkpoint=folder)
    >>> commits = {"billing": dict(last.ends)}  # a group that has read everything
    >>> positions = map_positions(spark, "orders", "orders-18", config=config, commits=commits)
    >>> len(positions), {position.repeats for position in positions}
    (18, {0})

    Args:
        spark: a session of Spark 4.0 or newer, classic or Connect.
        source: the old topic.
        target: the new one, which `reshape_copy` has written.
        config: librdkafka's settings for a reader, "bootstrap.servers" at least.
        commits: group -> old partition -> committed offset, the first that the group has not read.

    Returns:
        A position for each group and new partition, by group and partition.

    Raises:
        ReshapeError: a group has no commit for an old partition that holds records, or one that the
            partition cannot have. What it would read then is decided by `auto.offset.reset` of its members,
            which no broker shows.
        MissingDependencyError: this Spark has no Python data sources (before 4.0), or confluent-kafka is
            missing.
        UnknownTopicError, BrokerUnreachableError, InvalidConfigError: as of `partition_count`.
        AccessError: this user may not see whether the topics are compacted.
    """
    old, new, compacted = topic_pair(spark, config, source, target)
    known = {group: _known_commits(group, offsets, source, old) for group, offsets in commits.items()}
    # Without a group there is no lowest commit from which on the topic could be read.
    if not known:
        return []
    least = {partition: min(offsets[partition] for offsets in known.values()) for partition in old.ends}
    # Retention has deleted what lies below the beginning, so that it cannot be counted here; its copies may
    # be there all the same, and be unread.
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
    """Return a group's commit for each old partition; an empty one without a commit gets its end.

    ReshapeError if a partition has no commit and holds records, or a commit is none of its offsets.
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
    """Return how many records there are of each partition; none for a partition without records."""
    return {row[0]: row[1] for row in records.groupBy("partition").count().collect()}


def _records(spark: SparkSession, config: Mapping[str, str], target: str, bounds: Bounds) -> DataFrame:
    """Return place in the new topic (`partition`, `offset`) and in the old one (`origin`) of each record."""
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
    """Return the records at the end of each new partition, persisted, among them all that are not read.

    Args:
        spark: a session.
        config: librdkafka's settings.
        target: the new topic.
        new: its bounds.
        least: old partition -> the lowest commit of all groups.
        unread: old partition -> records that the old topic has from there on.
    """
    window = FIRST_WINDOW + 2 * sum(unread.values()) // max(len(new.ends), 1)
    while True:
        starts = {partition: max(end - window, new.starts[partition]) for partition, end in new.ends.items()}
        rows = _records(spark, config, target, Bounds(starts, new.ends)).persist()
        if starts == new.starts or (_holds_all(rows, least, unread) and _begins_copied(rows, starts, new)):
            return rows
        rows.unpersist()
        window *= 4


def _holds_all(rows: DataFrame, least: Mapping[int, int], unread: Mapping[int, int]) -> bool:
    """Return whether as many records of each old partition are among the rows as groups have not read."""
    behind = rows.where(sf.col("origin.offset") >= by_partition(least, sf.col("origin.partition")))
    # A record that is there twice would hide one that lies further back.
    counted = _count_by_partition(behind.select(sf.col("origin.partition"), "origin.offset").distinct())
    return all(counted.get(partition, 0) >= count for partition, count in unread.items())


def _begins_copied(rows: DataFrame, starts: Mapping[int, int], new: Bounds) -> bool:
    """Return whether in each window a record of the copy comes first, or the window is the whole partition.

    Else others have written behind the copy, more than the window holds, and the first of theirs, at which
    a group may have to go on, lies further back.
    """
    first = rows.groupBy("partition").agg(sf.min_by("origin", "offset").alias("origin"))
    others = first.where("origin IS NULL").collect()
    return all(starts[row["partition"]] == new.starts[row["partition"]] for row in others)


def _positions(
    rows: DataFrame, commits: Mapping[str, Mapping[int, int]], new: Bounds
) -> list[MappedPosition]:
    """Return each group's position in each new partition, by the rows at the ends of these.

    Args:
        rows: place and origin of records; all that any group has not read are among them.
        commits: group -> old partition -> offset, of all old partitions.
        new: bounds of the new topic.
    """
    found: list[MappedPosition] = []
    for group, offsets in sorted(commits.items()):
        limit = by_partition(offsets, sf.col("origin.partition"))
        # A place beyond the old topic is no record of it, and is not read.
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
