"""Prove that a new topic holds the records of the old one, each key's records once and in order.

The records of both topics are brought together by key, and sorted by their place in the old topic; a copied
record has that place in its header. Each old record must be followed by exactly one copy with the same
content, and the offsets of the copies must rise. That takes one shuffle and one sort of both topics, in which
a record is only its key, two places and a 64-bit hash. No key's records are held in memory together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as sf

from copartition.kit.evidence import Evidence
from partitioning.errors import ReshapeError
from spark_integration.columns import kafka_partition
from spark_integration.reshaping.topics import (
    OffsetBounds,
    by_partition,
    origin,
    read_topic,
    topic_pair,
    without_origin,
)

EXAMPLES = 10
_FAULTS = ("lost", "doubled", "changed", "unmatched", "out_of_order", "misplaced")
_COUNTS = ("records", "keys", "strays", "foreign")
_MOST = 2**62


@dataclass(frozen=True, kw_only=True)
class Proof:
    """Says whether a new topic has each key's records of the old one, once and in order.

    Attributes:
        records: number of records of the old topic that were compared.
        keys: number of distinct keys of these records.
        lost: number of old records without a copy; in a compacted topic, number of keys whose last record has
            no copy.
        doubled: number of copies beyond the first one of an old record.
        changed: number of copies whose key, value, headers or timestamp differ from the old record's.
        unmatched: number of copies whose header names a place where the old topic has no record. Always 0
            for a compacted topic, from which the old record may have been removed since.
        out_of_order: number of copies that come after a copy of a later record of the same key and old
            partition, plus the number of keys of which another writer wrote a record before the last copy.
        misplaced: number of records in another partition than the profile gives their key.
        strays: number of keys with records in several old partitions. Their order is compared within each of
            these only, because between partitions the timestamps are the only order.
        foreign: number of records of the new topic without the copy's header, from writers that have moved to
            the new topic already.
        partitions: new partition -> number of copies that belong there by the profile.
        examples: a sentence for each of some faulty records, at most ten.
        evidence: the records that were read and compared, and the assumptions.

    Example:
        >>> from copartition.kit.evidence import Evidence
        >>> Proof(records=100, keys=90, lost=1, evidence=Evidence(("all records of both topics",))).holds
        False
    """

    records: int
    keys: int
    lost: int = 0
    doubled: int = 0
    changed: int = 0
    unmatched: int = 0
    out_of_order: int = 0
    misplaced: int = 0
    strays: int = 0
    foreign: int = 0
    partitions: Mapping[int, int] = field(default_factory=dict)
    examples: tuple[str, ...] = ()
    evidence: Evidence

    @property
    def holds(self) -> bool:
        """True if all fault counts are 0: lost, doubled, changed, unmatched, out_of_order and misplaced."""
        return not any(getattr(self, fault) for fault in _FAULTS)


def prove(
    spark: SparkSession,
    source: str,
    target: str,
    *,
    config: Mapping[str, str],
    ends: Mapping[int, int] | None = None,
    profile: str = "java",
    key: Column | None = None,
) -> Proof:
    """Compare all committed records of an old topic with their copies in a new one, key by key.

    Both topics are read once, and once more for examples if there is a fault. A record that another writer
    wrote to the new topic is not compared. But it must come after all copies of its key, and be in the
    partition that the profile gives its key.

    >>> write_exactly_once(df, 0, topic="orders", app_id="shop", config=config)
    >>> last = reshape_copy(spark, "orders", "orders-18", config=config, checkpoint=folder)
    >>> proof = prove(spark, "orders", "orders-18", config=config, ends=last.ends)
    >>> proof.holds, proof.records, proof.keys
    (True, 100, 100)

    Args:
        spark: a session of Spark 4.0 or newer, classic or Connect.
        source: the old topic.
        target: the new topic.
        config: librdkafka's settings for a reader, "bootstrap.servers" at least.
        ends: old partition -> the offset up to which records are compared, as in `CopyRound.ends`; by default
            the end of the committed records now. Copies of later records are left out.
        profile: the profile whose rule places keys in the new topic.
        key: the expression for the new topic's key that was given to `reshape_copy`.

    Raises:
        ReshapeError: `ends` has a partition that the old topic does not have, or lacks one.
        DataLossError: retention deleted records while they were read. Run it again.
        MissingDependencyError: this Spark has no Python data sources (before 4.0), or confluent-kafka is
            missing.
        UnknownTopicError, BrokerUnreachableError, InvalidConfigError: as in `partition_count`.
        AccessError: this user may not see whether the topics are compacted.
    """
    old, new, compacted = topic_pair(spark, config, source, target)
    if ends is not None:
        if ends.keys() != old.ends.keys():
            raise ReshapeError(
                f"ends has partitions {sorted(ends)}, and topic {source!r} has 0 to {len(old.ends) - 1}: "
                "give an end for each of them"
            )
        # Records that were written after the copy have no copies yet, and would count as lost. So records are
        # compared up to the ends of the copy, not up to the ends that the topic has now.
        old = OffsetBounds(old.starts, ends)
    both = _originals(read_topic(spark, config, source, old), key).unionByName(
        _copies(read_topic(spark, config, target, new), old)
    )
    # A copied record without a key belongs where the copy has spread it, by its place in the old topic. A
    # record of another writer without a key may be in any partition.
    place = kafka_partition("key", len(new.ends), profile=profile, spread_by=("old_partition", "old_offset"))
    marked = _mark_faults(both.select("*", place.alias("place")), compacted=compacted)
    rows = _sum_by_place(marked).collect()
    total = {name: sum(row[name] for row in rows) for name in (*_FAULTS, *_COUNTS)}
    return Proof(
        **total,
        partitions={row["place"]: row["copies"] for row in sorted(rows, key=lambda row: row["place"])},
        # Examples are looked for only if there is a fault, because both topics are read once more for them.
        examples=_examples(marked) if any(total[fault] for fault in _FAULTS) else (),
        evidence=_evidence(source, target, old, new, total, compacted=compacted),
    )


def _originals(records: DataFrame, key: Column | None) -> DataFrame:
    """Return the old topic's records, in the columns in which they are compared.

    Columns: key (the new one), copy (false), old_partition, old_offset, partition and offset (null), content
    (a hash), tombstone.
    """
    return records.select(
        _key(sf.col("key") if key is None else key),
        sf.lit(False).alias("copy"),
        sf.col("partition").alias("old_partition"),
        sf.col("offset").alias("old_offset"),
        sf.lit(None).cast("int").alias("partition"),
        sf.lit(None).cast("bigint").alias("offset"),
        # All headers count, even one of an earlier reshaping; the copy has added one more after them.
        _content(sf.col("key") if key is None else key, sf.coalesce("headers", sf.array())).alias("content"),
        sf.col("value").isNull().alias("tombstone"),
    )


def _copies(records: DataFrame, old: OffsetBounds) -> DataFrame:
    """Return the new topic's records in the columns of `_originals`, without copies of records outside `old`.

    `old_partition` is null if another writer wrote the record.
    """
    place = origin(sf.col("headers"))
    rows = records.select(
        _key(sf.col("key")),
        sf.lit(True).alias("copy"),
        place["partition"].alias("old_partition"),
        place["offset"].alias("old_offset"),
        "partition",
        "offset",
        _content(sf.col("key"), without_origin(sf.col("headers"))).alias("content"),
        sf.col("value").isNull().alias("tombstone"),
    )
    # Copies of records beyond `ends`, and of records that retention has deleted since, have nothing to be
    # compared with. A copy that names a partition which the old topic does not have stays, and is unmatched.
    of_row = sf.col("old_partition")
    first = sf.coalesce(by_partition(old.starts, of_row), sf.lit(0))
    end = sf.coalesce(by_partition(old.ends, of_row), sf.lit(_MOST))
    compared = (sf.col("old_offset") >= first) & (sf.col("old_offset") < end)
    return rows.where(of_row.isNull() | compared)


def _key(key: Column) -> Column:
    return key.cast("binary").alias("key")


def _content(key: Column, headers: Column) -> Column:
    """Return a 64-bit hash of all that a copy must keep: key, value, headers in their order, and timestamp.

    `xxhash64` skips nulls. So this also hashes which parts are null: otherwise a tombstone would equal an
    empty value, and a null key an empty key.
    """
    value = sf.col("value")
    pairs = sf.transform(
        headers,
        lambda header: sf.struct(
            header["key"].alias("key"), header["value"].isNull().alias("null"), header["value"].alias("value")
        ),
    )
    return sf.xxhash64(
        key.isNull(), key.cast("binary"), value.isNull(), value, sf.size(headers), pairs, sf.col("timestamp")
    )


def _mark_faults(rows: DataFrame, *, compacted: bool) -> DataFrame:
    """Return the rows with a column for each fault, 1 if the row has the fault and 0 if not.

    A window has all rows of one key and old partition, sorted by their place in the old topic. At each place
    the old record comes first, then its copies.

    Args:
        rows: the rows of `_originals` and `_copies`, with the partition where they belong as `place`.
        compacted: whether one of the topics is compacted.
    """
    # The rows are shuffled by these two columns only, so that the later sum by key needs no second shuffle.
    # `place` is one of them, so that records without a key are spread over many tasks.
    rows = rows.repartition("place", "key")
    unit = Window.partitionBy("place", "key", "old_partition")
    along = unit.orderBy("old_offset", "copy", "offset")
    here = sf.col("old_offset")
    follows = sf.coalesce(sf.lag("old_offset").over(along) == here, sf.lit(False))
    copied = sf.coalesce(
        (sf.lead("old_offset").over(along) == here) & sf.lead("copy").over(along), sf.lit(False)
    )
    after_original = follows & ~sf.lag("copy").over(along)
    highest = sf.max("offset").over(along.rowsBetween(Window.unboundedPreceding, -1))
    of_copy = sf.col("copy") & sf.col("old_partition").isNotNull()
    # Only the records of one key have an order. Records without a key are never out of order.
    keyed = sf.col("key").isNotNull()
    lost = ~sf.col("copy") & ~copied
    if compacted:
        # Compaction keeps only the last record of a key, and removes that one, too, if it is a tombstone.
        last = sf.max(sf.when(~sf.col("copy"), here)).over(unit) == here
        lost = lost & last & ~sf.col("tombstone")
    faults = {
        "lost": lost,
        "doubled": of_copy & follows & ~after_original,
        "changed": of_copy & after_original & (sf.lag("content").over(along) != sf.col("content")),
        "unmatched": sf.lit(False) if compacted else of_copy & ~follows,
        "out_of_order": of_copy & keyed & sf.coalesce(sf.col("offset") < highest, sf.lit(False)),
        "misplaced": sf.col("copy") & (of_copy | keyed) & (sf.col("partition") != sf.col("place")),
    }
    return rows.select("*", *(fault.cast("int").alias(name) for name, fault in faults.items()))


def _sum_by_place(marked: DataFrame) -> DataFrame:
    """Return a row for each `place`, the partition where records belong, with its counts.

    Columns: those of `_FAULTS` and `_COUNTS`, and `copies`.

    Args:
        marked: rows as `_mark_faults` returns them.
    """
    original = ~sf.col("copy")
    of_others = sf.col("copy") & sf.col("old_partition").isNull()
    by_key = marked.groupBy("place", "key").agg(
        *(sf.sum(name).alias(name) for name in _FAULTS),
        sf.count_if(original).alias("records"),
        sf.count_if(sf.col("copy") & ~of_others).alias("copies"),
        sf.count_if(of_others).alias("foreign"),
        sf.min(sf.when(original, sf.col("old_partition"))).alias("first_partition"),
        sf.max(sf.when(original, sf.col("old_partition"))).alias("last_partition"),
        sf.min(sf.when(of_others, sf.col("offset"))).alias("first_of_others"),
        sf.max(sf.when(sf.col("copy") & ~of_others, sf.col("offset"))).alias("last_copy"),
    )
    keyed = sf.col("key").isNotNull()
    too_early = sf.coalesce(keyed & (sf.col("first_of_others") < sf.col("last_copy")), sf.lit(False))
    strays = sf.coalesce(keyed & (sf.col("first_partition") < sf.col("last_partition")), sf.lit(False))
    plain = [name for name in _FAULTS if name != "out_of_order"]
    return by_key.groupBy("place").agg(
        *(sf.sum(name).alias(name) for name in (*plain, "records", "copies", "foreign")),
        (sf.sum("out_of_order") + sf.count_if(too_early)).alias("out_of_order"),
        sf.count_if(keyed & (sf.col("records") > 0)).alias("keys"),
        sf.count_if(strays).alias("strays"),
    )


def _examples(marked: DataFrame) -> tuple[str, ...]:
    """Return a sentence for each of some faulty records, at most `EXAMPLES`; both topics are read again."""
    faulty = marked.where(sum((sf.col(name) for name in _FAULTS), sf.lit(0)) > 0)
    shown = sf.substring(sf.col("key").cast("string"), 1, 60).alias("shown")
    columns = ("old_partition", "old_offset", "partition", "offset", "place", *_FAULTS)
    return tuple(map(_sentence, faulty.select(shown, *columns).take(EXAMPLES)))


def _sentence(row: Row) -> str:
    """Return a sentence on a faulty record: its key, its old place, its new place and its faults."""
    was = "of others" if row["old_partition"] is None else f"{row['old_partition']}:{row['old_offset']}"
    there = "" if row["partition"] is None else f", now {row['partition']}:{row['offset']}"
    faults = [name.replace("_", " ") for name in _FAULTS if row[name]]
    belongs = f" (belongs in partition {row['place']})" if row["misplaced"] else ""
    return f"key {row['shown']!r}, record {was}{there}: {', '.join(faults)}{belongs}"


def _evidence(
    source: str,
    target: str,
    old: OffsetBounds,
    new: OffsetBounds,
    total: Mapping[str, int],
    *,
    compacted: bool,
) -> Evidence:
    """Return the evidence of a proof: the records that were read, and the assumptions.

    Args:
        source: the old topic.
        target: the new topic.
        old: the bounds within which the old topic was read.
        new: the bounds of the new topic.
        total: the counts over all partitions.
        compacted: whether one of the topics is compacted.
    """
    sources = tuple(
        f"the committed records of topic {topic!r} from offset {_offsets_text(bounds.starts)} up to "
        f"{_offsets_text(bounds.ends)}"
        for topic, bounds in ((source, old), (target, new))
    )
    assumed = ["records are compared by a hash of 64 bits, which different records share in 1 of 2**64 cases"]
    if total["strays"]:
        assumed.append(
            f"{total['strays']:,} keys lie in several old partitions, between which no order is known: only "
            "their order within each of these is compared"
        )
    if compacted:
        assumed.append("a topic is compacted, so that of each key only the last record has to be there")
    deleted = [
        partition for partition, start in new.starts.items() if start and not old.starts.get(partition)
    ]
    if deleted:
        assumed.append(
            f"partition {deleted[0]} of topic {target!r} begins at offset {new.starts[deleted[0]]:,}: what "
            "its retention has deleted counts as lost"
        )
    return Evidence(sources, tuple(assumed))


def _offsets_text(offsets: Mapping[int, int]) -> str:
    """Return the offsets of the first six partitions as text, and how many more there are."""
    some = sorted(offsets.items())[:6]
    more = f" and {len(offsets) - len(some)} more" if len(offsets) > len(some) else ""
    return ", ".join(f"{partition}:{offset:,}" for partition, offset in some) + more
