"""Audit the topics whose records are in a DataFrame, and say the result in sentences."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as sf

from copartition.audit.conclusion import LIKELY, conclude
from copartition.audit.topic_audit import Coverage, TopicAudit
from partitioning.placement import partition_for_key
from partitioning.profiles import PROFILES
from spark_integration.auditing.counting import count_topics
from spark_integration.errors import ColumnError, RecordError, error_text

SCHEMA = (
    "topic string, partition int, first_offset bigint, last_offset bigint, first_time timestamp, "
    "last_time timestamp, profile string, same_rule array<string>, num_partitions int, rows bigint, "
    "keyless bigint, explained bigint, share double, missed_offsets array<bigint>, certainty string, "
    "forms map<string, bigint>"
)


def audit(
    df: DataFrame, *, counts: Sequence[int] | None = None, profiles: Sequence[str] | None = None
) -> DataFrame:
    """Return which client's rule, over which partition count, explains which offsets of each partition.

    Every partition is cut into the ranges of offsets that are explained best. There is one range if one kind
    of client wrote to a topic that never grew, two if the topic grew once, and so on. If several kinds of
    clients wrote at the same time, no rule explains much of a range, and its `share` is low. `audit_verdict`
    says the result in sentences.

    The records are read when this is called, in Python on Arrow batches: first a few records of each task,
    then all records, and all of them again if they show a rule that the few did not show. The ends of a range
    are exact to a few offsets, or to about a hundredth of the partition if the count grew to a multiple of
    itself. This works on classic Spark and on Connect; executors need NumPy, PyArrow and pandas.

    >>> audit(records).where("partition = 0").select("profile", "num_partitions", "share").first()
    Row(profile='java', num_partitions=12, share=1.0)

    Args:
        df: records as Spark's Kafka source reads them: `key` (binary or string), `partition`, `offset`, and
            `timestamp` and `topic` if they are there.
        counts: partition counts to try; by default all up to one more than the highest partition with a
            record.
        profiles: names of the profiles whose rules are tried, of `partitioning.profiles.PROFILES`; by default
            all.

    Returns:
        One row for each range of offsets:

        - topic, partition, first_offset, last_offset, first_time, last_time: the range; the times are null if
          no record has a timestamp.
        - profile, num_partitions: the rule that explains most; null if no rule explains anything.
        - same_rule: all profiles with that rule, of which `profile` is the first.
        - rows: number of records in the range; keyless: how many of them have no key or an empty one, and so
          are no evidence.
        - explained: number of keyed records that are where the rule puts them; share: the same as a share of
          the keyed records, null if there are none.
        - missed_offsets: offsets of up to ten keyed records that are elsewhere.
        - certainty: how certain the result is for the whole topic, so the same in all its rows: "sure",
          "likely", "mixed", "none" or "unknown", as in `TopicAudit`.
        - forms: form of a key, as in `KeyForm` -> number of keyed records of the whole topic with this form.

    Raises:
        ColumnError: a column is missing.
        InvalidConfigError: `counts` or `profiles` is empty.
        InvalidPartitionCountError: a count is out of range.
        UnknownStrategyError: there is no profile of that name.
    """
    audits = audit_records(checked_records(df), counts=counts, profiles=profiles)
    return df.sparkSession.createDataFrame([row for audit in audits for row in _rows(audit)], SCHEMA)


def audit_records(
    records: DataFrame,
    *,
    counts: Sequence[int] | None = None,
    profiles: Sequence[str] | None = None,
    size_of: Callable[[str], int | None] = lambda _: None,
) -> list[TopicAudit]:
    """Return the audit of each topic, sorted by topic, as values instead of rows.

    Args:
        records: rows as `checked_records` returns them.
        counts: as in `audit`.
        profiles: as in `audit`.
        size_of: returns a topic's partition count; None for one more than its highest partition with a
            record.

    Errors are as in `audit`.
    """
    audits = []
    for topic, counted in sorted(count_topics(records, counts, profiles, size_of).items()):
        counted.tally.settle()
        rows = int(counted.tally.blocks.rows.sum())
        partitions = tuple(sorted({*counted.tally.blocks.partition.tolist()}))
        coverage = Coverage("full", rows, rows, partitions, "all rows of the DataFrame")
        audits.append(conclude(topic, counted.tally, coverage, counted.forms.forms()))
    return audits


def checked_records(df: DataFrame) -> DataFrame:
    """Return topic, partition, offset, timestamp_ms and key of each record, in the types of `count_topics`.

    The topic is "" if the DataFrame has no such column. A task fails with RecordError if a partition or an
    offset is null.

    Raises:
        ColumnError: `key`, `partition` or `offset` is missing.
    """
    missing = [name for name in ("key", "partition", "offset") if name not in df.columns]
    if missing:
        raise ColumnError(
            f"an audit needs the columns key, partition and offset, as Kafka sources give them; missing: "
            f"{', '.join(missing)}"
        )
    # -1 stands for "no timestamp", as in Kafka.
    milliseconds = sf.lit(-1)
    if dict(df.dtypes).get("timestamp") in {"timestamp", "timestamp_ntz"}:
        milliseconds = sf.coalesce(sf.unix_millis(sf.col("timestamp").cast("timestamp")), milliseconds)
    return df.select(
        (sf.col("topic") if "topic" in df.columns else sf.lit("")).alias("topic"),
        _required_column("partition", "int"),
        _required_column("offset", "bigint"),
        milliseconds.cast("bigint").alias("timestamp_ms"),
        sf.col("key").cast("binary").alias("key"),
    )


def _required_column(name: str, kind: str) -> Column:
    """Return a column cast to a type; a task that meets a null in it fails with RecordError."""
    fault = sf.lit(error_text(RecordError, f"column '{name}' holds a null, which no record of Kafka has"))
    return sf.coalesce(sf.col(name).cast(kind), sf.raise_error(fault).cast(kind)).alias(name)


def _rows(audit: TopicAudit) -> list[tuple[object, ...]]:
    """Return the rows of one topic, one for each range, with values in the order of `SCHEMA`."""
    forms = {form.name: form.rows for form in audit.forms}
    return [
        (
            audit.topic,
            span.partition,
            span.first,
            span.last,
            _time(span.first_ms),
            _time(span.last_ms),
            span.writer and span.writer.profile,
            span.writer and list(span.writer.same_rule),
            span.writer and span.writer.num_partitions,
            span.rows,
            span.keyless,
            span.explained,
            span.explained / (span.rows - span.keyless) if span.rows > span.keyless else None,
            list(span.missed),
            audit.certainty,
            forms,
        )
        for span in audit.spans
    ]


def _time(milliseconds: int | None) -> datetime | None:
    """Return a time in milliseconds since 1970 as a timestamp; None if it is missing or out of range."""
    try:
        return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC)
    # A client may write any number as a record's time, and a Python timestamp ends with the year 9999.
    except (OverflowError, ValueError, OSError):
        return None


SURE = 0.999
"""If a rule explains at least this share of the keyed records, the sentence has no "most likely"."""


def audit_verdict(audited: DataFrame) -> str:
    """Return a few sentences about each topic that say which client most likely wrote it.

    >>> print(audit_verdict(audit(records)))
    The topic: 100 records in 12 partitions, 0 of them without a key.
    It was written by profile 'java' over 12 partitions, which explains 100 of 100 keyed records...

    Args:
        audited: the DataFrame that `audit` returned. Its rows are collected on the driver.

    Returns:
        One paragraph for each topic, sorted by topic, with an empty line between them.
    """
    rows = audited.orderBy("topic", "partition", "first_offset").collect()
    return "\n\n".join(
        _of_topic(topic, list(of_topic)) for topic, of_topic in groupby(rows, key=lambda row: row.topic)
    )


def _of_topic(topic: str, ranges: Sequence[Row]) -> str:
    """Return the sentences about one topic, one on each line.

    Args:
        topic: the topic's name; "" if the DataFrame had no column `topic`.
        ranges: the topic's rows of `audit`, sorted by partition and offset; one at least.
    """
    name = f"Topic {topic}" if topic else "The topic"
    total, keyless = sum(r.rows for r in ranges), sum(r.keyless for r in ranges)
    partitions = len({r.partition for r in ranges})
    lines = [f"{name}: {total:,} records in {partitions} partitions, {keyless:,} of them without a key."]
    if total == keyless:
        return f"{lines[0]} Without keys nothing can be said."
    turns = _turns(ranges)
    explained, keyed = sum(r.explained for r in ranges), total - keyless
    share = explained / keyed
    certainty = ranges[0].certainty
    if certainty == "unknown":
        lines.append(
            "They do not tell whose rule placed them: there are too few different keys, or several rules "
            "explain them alike."
        )
    elif share < LIKELY or not turns:
        lines.append(
            f"No rule explains it: the best explain {share:.1%} of the keyed records. Clients of several "
            "kinds wrote at the same time, or partitions were chosen by hand, or a count was not tried."
        )
    else:
        lines.extend(_sentence(turn, [r for r in ranges if _rule(r) == turn]) for turn in turns)
        if len(turns) > 1:
            lines.append(
                "Records of one key from before and after a change of rule are in different partitions."
            )
    if certainty != "unknown" and share >= LIKELY and explained < keyed:
        strays = [(r.partition, offset) for r in ranges for offset in r.missed_offsets][:5]
        where = ", ".join(f"{partition}@{offset}" for partition, offset in strays)
        lines.append(f"{keyed - explained:,} records are elsewhere, for example (partition@offset) {where}.")
    if certainty != "unknown" and turns:
        lines.extend(_keyless(ranges, turns))
    if framed := ranges[0].forms.get("registry"):
        lines.append(
            f"{framed / keyed:.0%} of the keys begin as a schema registry's serializers write them (Avro, "
            "JSON Schema, Protobuf). The schema id is hashed too: with another id the same logical key goes "
            "to another partition."
        )
    return "\n".join(lines)


def _rule(row: Row) -> tuple[str, int]:
    """Return the rule of a range: profile and partition count."""
    return row.profile, row.num_partitions


def _turns(ranges: Sequence[Row]) -> list[tuple[str, int]]:
    """Return the rules that wrote a topic, each once, in the order in which they followed each other.

    Args:
        ranges: the topic's rows of `audit`, sorted by partition and offset.
    """
    place: dict[tuple[str, int], int] = {}
    for _, of_partition in groupby(ranges, key=lambda row: row.partition):
        # A change of rule is at another offset in each partition, so offsets cannot be compared between
        # partitions. But the rules follow each other in the same order in all of them: `turn` is a rule's
        # place in that order.
        for turn, row in enumerate(row for row in of_partition if row.profile):
            place[_rule(row)] = max(turn, place.get(_rule(row), 0))
    return sorted(place, key=lambda rule: place[rule])


def _sentence(rule: tuple[str, int], ranges: Sequence[Row]) -> str:
    """Return the sentence about one rule: from which offsets on it wrote, and how much it explains."""
    profile, num_partitions = rule
    explained = sum(r.explained for r in ranges)
    keyed = sum(r.rows - r.keyless for r in ranges)
    others = [name for name in ranges[0].same_rule if name != profile]
    same = f" (the same for keyed records: {', '.join(others)})" if others else ""
    certainty = "was written" if explained >= SURE * keyed else "was most likely written"
    begin = {r.partition: r.first_offset for r in ranges if r.first_offset}
    shown = ", ".join(f"{partition}@{offset}" for partition, offset in list(begin.items())[:3])
    since = f" from (partition@offset) {shown}{' and so on' if len(begin) > 3 else ''} on" if begin else ""
    return (
        f"It {certainty}{since} by profile {profile!r} over {num_partitions} partitions, which explains "
        f"{explained:,} of {keyed:,} keyed records. {PROFILES[profile].client}{same}."
    )


def _keyless(ranges: Sequence[Row], turns: Sequence[tuple[str, int]]) -> Iterator[str]:
    """Yield a sentence if the keyless records show which of several profiles with the same rule wrote them.

    Profiles with the same rule for keys may differ in what they do with a record without a key. Some put all
    of these into the partition of the empty key.
    """
    homes = {r.partition for r in ranges if r.keyless}
    profile, num_partitions = turns[-1]
    # Fewer than ten records may be in one partition by chance.
    if len(homes) != 1 or sum(r.keyless for r in ranges) < 10:
        return
    (home,) = homes
    hashing = [
        name
        for name in next(r.same_rule for r in ranges if r.profile == profile)
        if PROFILES[name].null == "empty" and partition_for_key(None, num_partitions, profile=name) == home
    ]
    if hashing:
        yield (
            f"All records without a key are in partition {home}, where an empty key hashes, as "
            f"{', '.join(hashing)} does it."
        )
