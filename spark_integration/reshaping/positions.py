"""Find where each group continues in the new topic, from the offsets that it has committed in the old one.

A group has read a record of the new topic if the record's place in the old topic is below the group's commit
there. The group continues at the first record that it has not read. If it has already read some of the
records after that one, these are delivered again.

The records that a group has not read are near the end of each new partition. So only the ends are read, from
far enough back to find every record that the old topic has beyond the commits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as sf

from partitioning.errors import ReshapeError
from spark_integration.reshaping.topics import (
    OffsetBounds,
    by_partition,
    origin,
    read_topic,
    topic_pair,
)

FIRST_WINDOW = 256
"""The fewest offsets that are read at first at the end of each new partition.

If the offsets that were read turn out to be too few, four times as many are read.
"""


@dataclass(frozen=True, slots=True)
class MappedPosition:
    """Tells where a group goes on in one partition of the new topic.

    Attributes:
        group: the group's id.
        partition: number of the partition of the new topic.
        offset: offset of the first record that the group has not read; the partition's end if there is none.
        repeats: number of records after that offset which the group has read already. If it is 0, the group
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
    later is written after the present end of its partition, so a group does not miss it either. A record
    without the copy's header was written by another writer, and counts as not read. Such records are expected
    after the copied ones. Other writers' records between copied ones are not looked for; `prove` finds them.

    This reads the records of the old topic that groups have not read, and the ends of the new partitions, far
    enough back to find all their copies. If these are more records than the new topic has, the whole new
    topic is read instead, and nothing of the old one. The same is done if the unread records cannot be
    counted in the old topic: if a topic is compacted, or a commit is below the beginning of its old
    partition.

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
            partition's offsets. The records that the group would read then depend on `auto.offset.reset` of
            its members, which no broker shows.
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
    unread = OffsetBounds(least, old.ends)
    # Records before a partition's first offset were deleted by retention and cannot be counted here. But
    # their copies may exist and be unread.
    countable = not compacted and all(least[partition] >= start for partition, start in old.starts.items())
    # The first guess is twice the mean number of unread records for each new partition. If the window is too
    # short, it grows.
    window = FIRST_WINDOW + 2 * unread.size // max(len(new.ends), 1)
    starts, originals = new.starts, None
    # Unread records are counted in the old topic first, unless the whole new topic is smaller than these
    # records and the windows together.
    if countable and 3 * unread.size < new.size:
        originals = _count_places(read_topic(spark, config, source, unread)) if unread.size else (0, 0)
    while True:
        if originals is not None:
            starts = {
                partition: max(end - window, new.starts[partition]) for partition, end in new.ends.items()
            }
        rows = _records(spark, config, target, OffsetBounds(starts, new.ends)).persist()
        try:
            found = _look(rows, known, unread)
            if starts == new.starts or _holds_all(found, originals, starts, new):
                return _positions(rows, found, known, new)
        finally:
            rows.unpersist()
        window *= 4


def _known_commits(group: str, commits: Mapping[int, int], source: str, old: OffsetBounds) -> dict[int, int]:
    """Return a group's commit for each old partition; for an empty partition without a commit, its end.

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


def _records(spark: SparkSession, config: Mapping[str, str], target: str, bounds: OffsetBounds) -> DataFrame:
    """Return each record's place in the new topic (`partition`, `offset`) and in the old topic (`origin`).

    `origin` is a struct of `partition` and `offset`; null if the copy did not write the record.
    """
    records = read_topic(spark, config, target, bounds)
    return records.select("partition", "offset", origin(sf.col("headers")).alias("origin"))


def _count_places(records: DataFrame) -> tuple[int, int]:
    """Return the number of records, and the XOR of the 64-bit hashes of their places."""
    [row] = records.agg(sf.count("*"), sf.bit_xor(sf.xxhash64("partition", "offset"))).collect()
    return row[0], row[1] or 0


def _is_read(commits: Mapping[int, int]) -> Column:
    """Return whether a group has read the record of a row; false if another writer wrote it.

    Args:
        commits: old partition -> the group's committed offset.
    """
    # The origin is null for records of other writers, and the commit is null if the old topic has no such
    # partition. In both cases the record counts as not read.
    limit = by_partition(commits, sf.col("origin.partition"))
    return sf.coalesce(sf.col("origin.offset") < limit, sf.lit(False))


def _look(rows: DataFrame, commits: Mapping[str, Mapping[int, int]], unread: OffsetBounds) -> dict[int, Row]:
    """Return the sums of the rows of each new partition that has some, found by one Spark job for all groups.

    The sums of a partition are a row with these columns:

    - copies, places: the number of copies of unread records, and the XOR of the hashes of their places in the
      old topic, as in `_count_places`.
    - others: whether the partition's first row is of another writer.
    - firsts: the offset of the first record that each group has not read, in the order of `commits`; null if
      the group has read all.

    Args:
        rows: rows as `_records` returns them.
        commits: group -> old partition -> committed offset, for every old partition.
        unread: the offsets of the old topic that at least one group has not read.
    """
    place = (sf.col("origin.partition"), sf.col("origin.offset"))
    copied = (place[1] >= by_partition(unread.starts, place[0])) & (
        place[1] < by_partition(unread.ends, place[0])
    )
    firsts = [sf.min(sf.when(~_is_read(offsets), sf.col("offset"))) for offsets in commits.values()]
    seen = rows.groupBy("partition").agg(
        sf.count_if(copied).alias("copies"),
        sf.bit_xor(sf.when(copied, sf.xxhash64(*place))).alias("places"),
        sf.min_by(sf.col("origin").isNull(), "offset").alias("others"),
        sf.array(*firsts).alias("firsts"),
    )
    return {row["partition"]: row for row in seen.collect()}


def _holds_all(
    found: Mapping[int, Row], originals: tuple[int, int] | None, starts: Mapping[int, int], new: OffsetBounds
) -> bool:
    """Return whether the rows that were read of the new topic have every record that a group has not read.

    Args:
        found: the rows of sums that `_look` returned.
        originals: the number of unread records in the old topic, and the XOR of the hashes of their places.
        starts: new partition -> the first offset that was read.
        new: bounds of the new topic.
    """
    # The numbers alone are no proof: a record that was copied twice would be counted twice, and could make up
    # for a record that is further back. The hashes differ then.
    copies = places = 0
    for row in found.values():
        copies, places = copies + row["copies"], places ^ (row["places"] or 0)
    # If the first row of a partition is of another writer, other writers may have written more records after
    # the copied ones than were read. The first of these, at which a group may have to continue, is then
    # further back, unless the partition was read from its beginning.
    begun = (starts[partition] == new.starts[partition] for partition, row in found.items() if row["others"])
    return (copies, places) == originals and all(begun)


def _positions(
    rows: DataFrame,
    found: Mapping[int, Row],
    commits: Mapping[str, Mapping[int, int]],
    new: OffsetBounds,
) -> list[MappedPosition]:
    """Return each group's position in each new partition, sorted by group and partition.

    Args:
        rows: rows as `_records` returns them, with every record that a group has not read.
        found: the rows of sums that `_look` returned for `rows`.
        commits: group -> old partition -> committed offset, for every old partition.
        new: bounds of the new topic.
    """
    firsts: list[dict[int, int]] = [
        {
            partition: row["firsts"][number]
            for partition, row in found.items()
            if row["firsts"][number] is not None
        }
        for number in range(len(commits))
    ]
    again = [
        sf.count_if(_is_read(offsets) & (sf.col("offset") > by_partition(own, sf.col("partition"))))
        for offsets, own in zip(commits.values(), firsts, strict=True)
    ]
    counted = rows.groupBy("partition").agg(sf.array(*again)).collect() if any(firsts) else []
    repeats = {row[0]: row[1] for row in counted}
    return [
        MappedPosition(
            group,
            partition,
            firsts[number].get(partition, end),
            repeats[partition][number] if partition in repeats else 0,
        )
        for group, number in sorted(zip(commits, range(len(commits)), strict=True))
        for partition, end in sorted(new.ends.items())
    ]
