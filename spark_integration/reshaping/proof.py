"""Prove that a new topic holds what the old one holds, each key's records once and in their order.

Records of both topics are brought together by key, and in a key by their place in the old topic, which in
the new topic is in the header of the copy. Sorted by that place, each old record must be followed by exactly
one copy of the same content, and the copies' own offsets must rise. One shuffle and one sort of both topics,
in which a record is its key, two places and a hash of 64 bits; nothing is held in memory by key.
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
    Bounds,
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
        records: of the old topic that were compared.
        keys: different keys among them; records without a key have none.
        lost: old records without a copy. Of a compacted topic, keys whose last record has none.
        doubled: copies beyond the first of an old record.
        changed: copies whose key, value, headers or timestamp is another than the old record's.
        unmatched: records with the copy's header that names a place where the old topic has no record; 0 of
            a compacted topic, where the old record may be gone since.
        out_of_order: copies that come after one of a later record of their key and old partition, and keys
            of which others wrote a record before the copy's last one.
        misplaced: records in another partition than the profile gives their key.
        strays: keys with records in several old partitions. Only their order within each of these is
            compared; between them no order is known but that of the timestamps.
        foreign: records of the new topic without the copy's header: of writers that have moved already.
        partitions: new partition -> copies that belong there, by the profile.
        examples: a sentence for each of the first faulty records, ten at most.
        evidence: what was read and compared, and what is taken for granted.

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
        """Say whether no fault was found."""
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

    Reads both topics once, and once more for examples if it finds a fault. A record that was written to the
    new topic by others is not compared; it must come after all copies of its key, and lie where the profile
    puts its key.

    >>> write_exactly_once(df, 0, topic="orders", app_id="shop", config=config)
    >>> last = reshape_copy(spark, "orders", "orders-18", config=config, checkpoint=folder)
    >>> proof = prove(spark, "orders", "orders-18", config=config, ends=last.ends)
    >>> proof.holds, proof.records, proof.keys
    (True, 100, 100)

    Args:
        spark: a session of Spark 4.0 or newer, classic or Connect.
        source: the old topic.
        target: the new one.
        config: librdkafka's settings for a reader, "bootstrap.servers" at least.
        ends: old partition -> where to stop, as `CopyRound.ends` says; by default the end of the committed
            records now. Copies of later records are left out.
        profile: whose rule places keys in the new topic.
        key: the new topic's key, made of the old one's columns, as `reshape_copy` was given.

    Raises:
        ReshapeError: `ends` names a partition that the old topic has not got, or lacks one.
        DataLossError: retention deleted records while they were read; run it again.
        MissingDependencyError: this Spark has no Python data sources (before 4.0), or confluent-kafka is
            missing.
        UnknownTopicError, BrokerUnreachableError, InvalidConfigError: as of `partition_count`.
        AccessError: this user may not see whether the topics are compacted.
    """
    old, new, compacted = topic_pair(spark, config, source, target)
    if ends is not None:
        if ends.keys() != old.ends.keys():
            raise ReshapeError(
                f"ends has partitions {sorted(ends)}, and topic {source!r} has 0 to {len(old.ends) - 1}: "
                "give an end for each of them"
            )
        # Up to the ends of the copy and not of now: what was written since has no copy yet, and would count
        # as lost.
        old = Bounds(old.starts, ends)
    both = _originals(read_topic(spark, config, source, old), key).unionByName(
        _copies(read_topic(spark, config, target, new), old)
    )
    # A keyless record belongs where the copy spread it to; one that others wrote may lie anywhere.
    place = kafka_partition("key", len(new.ends), profile=profile, spread_by=("old_partition", "old_offset"))
    marked = _mark_faults(both.select("*", place.alias("place")), compacted=compacted)
    rows = _sum_by_place(marked).collect()
    total = {name: sum(row[name] for row in rows) for name in (*_FAULTS, *_COUNTS)}
    return Proof(
        **total,
        partitions={row["place"]: row["copies"] for row in sorted(rows, key=lambda row: row["place"])},
        # Examples take a second reading of both topics, so a proof without a fault does without them.
        examples=_examples(marked) if any(total[fault] for fault in _FAULTS) else (),
        evidence=_evidence(source, target, old, new, total, compacted=compacted),
    )


def _originals(records: DataFrame, key: Column | None) -> DataFrame:
    """Return the old topic's records, in the columns in which they are compared."""
    return records.select(
        _key(sf.col("key") if key is None else key),
        sf.lit(False).alias("copy"),
        sf.col("partition").alias("old_partition"),
        sf.col("offset").alias("old_offset"),
        sf.lit(None).cast("int").alias("partition"),
        sf.lit(None).cast("bigint").alias("offset"),
        # The copy's own header is none of the old record's; an older one of an earlier reshaping is.
        _content(sf.col("key") if key is None else key, sf.coalesce("headers", sf.array())).alias("content"),
        sf.col("value").isNull().alias("tombstone"),
    )


def _copies(records: DataFrame, old: Bounds) -> DataFrame:
    """Return the new topic's records likewise, without copies of what is not compared.

    Null in `old_partition`: others have written the record.
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
    # Beyond `ends`, and what retention has deleted from the old topic since, has nothing to be compared with.
    # A partition that the old topic has not got stays in, and is unmatched.
    of_row = sf.col("old_partition")
    first = sf.coalesce(by_partition(old.starts, of_row), sf.lit(0))
    end = sf.coalesce(by_partition(old.ends, of_row), sf.lit(_MOST))
    compared = (sf.col("old_offset") >= first) & (sf.col("old_offset") < end)
    return rows.where(of_row.isNull() | compared)


def _key(key: Column) -> Column:
    return key.cast("binary").alias("key")


def _content(key: Column, headers: Column) -> Column:
    """Return a hash of what a copy has to keep: key, value, headers in their order, timestamp.

    `xxhash64` passes over nulls: what is null is hashed for itself, so that a tombstone differs from an
    empty value, and a null key from an empty one.
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
    """Return the rows with a column for each fault, 1 where the row has it.

    In a window all rows of a key and old partition are sorted by their place there: an old record comes
    first, then its copies.
    """
    # By the two alone, so that what is summed by key later needs no second shuffle. Records without a key
    # are together in a window for each partition, and not in one of all.
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
    # Only records of one key have an order to keep: those without a key are never out of order.
    keyed = sf.col("key").isNotNull()
    lost = ~sf.col("copy") & ~copied
    if compacted:
        # Of a key only the last record has to be there, unless it is a tombstone, which may be gone by now.
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
    """Return records, keys, strays, copies and faults by `place`, the partition where they belong."""
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
    """Return a sentence for each of some faulty records."""
    faulty = marked.where(sum((sf.col(name) for name in _FAULTS), sf.lit(0)) > 0)
    shown = sf.substring(sf.col("key").cast("string"), 1, 60).alias("shown")
    columns = ("old_partition", "old_offset", "partition", "offset", "place", *_FAULTS)
    return tuple(map(_sentence, faulty.select(shown, *columns).take(EXAMPLES)))


def _sentence(row: Row) -> str:
    """Return what is wrong with a record, where it is and where it came from."""
    was = "of others" if row["old_partition"] is None else f"{row['old_partition']}:{row['old_offset']}"
    there = "" if row["partition"] is None else f", now {row['partition']}:{row['offset']}"
    faults = [name.replace("_", " ") for name in _FAULTS if row[name]]
    belongs = f" (belongs in partition {row['place']})" if row["misplaced"] else ""
    return f"key {row['shown']!r}, record {was}{there}: {', '.join(faults)}{belongs}"


def _evidence(
    source: str, target: str, old: Bounds, new: Bounds, total: Mapping[str, int], *, compacted: bool
) -> Evidence:
    """Return what was read, and what is taken for granted."""
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
    """Return the offsets by partition, the first six of them."""
    some = sorted(offsets.items())[:6]
    more = f" and {len(offsets) - len(some)} more" if len(offsets) > len(some) else ""
    return ", ".join(f"{partition}:{offset:,}" for partition, offset in some) + more
