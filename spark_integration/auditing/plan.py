"""The audit of topics whose records are in a DataFrame."""

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
    """Return which client's rule over which partition count explains which offsets of each partition.

    Every partition of every topic is cut into the ranges of offsets that are explained best: one range where
    one kind of client wrote to a topic that never grew, two where it grew in between, and so on. Where
    clients of several kinds wrote at the same time no rule explains much, and the range's `share` says so.
    `audit_verdict` puts the result in words.

    Runs when it is called, in Python on Arrow batches: once over a few records of each task, then over all of
    them, and again where these show a writer that those did not. Where a range ends is known to a few
    offsets, or to a hundredth or so of the partition where the count grew to a multiple. Runs on classic and
    Connect; executors need NumPy, PyArrow and pandas.

    >>> audit(records).where("partition = 0").select("profile", "num_partitions", "share").first()
    Row(profile='java', num_partitions=12, share=1.0)

    Args:
        df: records as Spark's Kafka source reads them: `key` (binary or string), `partition`, `offset`, and
            `timestamp` and `topic` if they are there.
        counts: partition counts to try; by default all up to the highest partition that has a record.
        profiles: whose rules to try, names in `partitioning.profiles.PROFILES`; all by default.

    Returns:
        A row a range: topic, partition, first_offset, last_offset, first_time, last_time (null where no
        record has a timestamp); profile (the first with that rule; null where none explains anything),
        same_rule (all of them) and num_partitions; rows, keyless (of them without a key, or with an empty
        one: no evidence), explained (keyed rows that are where the rule puts them) and share (explained of
        the keyed rows; null without any); missed_offsets (up to ten rows that are elsewhere). And of the
        whole topic, in each of its rows: certainty ("sure", "likely", "mixed", "none" or "unknown", as in
        `TopicAudit`) and forms (keyed rows by the form of their keys, as in `KeyForm`).

    Raises:
        ColumnError: a column is missing.
        InvalidConfigError: no counts, or no profiles.
        InvalidPartitionCountError: a count is out of range.
        UnknownStrategyError: no profile of that name.
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
    """`audit` of what `checked_records` gave, as values, by topic.

    `size_of` gives a topic's partition count; None for one more than its highest partition with a record.
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
    """Topic, partition, offset, timestamp_ms and key of each record; a task fails on a null place.

    ColumnError if a column is missing.
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
    """Return a column in this type, in which a null fails the task."""
    fault = sf.lit(error_text(RecordError, f"column '{name}' holds a null, which no record of Kafka has"))
    return sf.coalesce(sf.col(name).cast(kind), sf.raise_error(fault).cast(kind)).alias(name)


def _rows(audit: TopicAudit) -> list[tuple[object, ...]]:
    """Return the rows of `audit` for one topic, a row a range, in the order of `SCHEMA`."""
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
    """Return a time in milliseconds since 1970 as a timestamp; None also for one that no calendar has."""
    try:
        return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC)
    # A client may write any number as a record's time; a Python timestamp ends with the year 9999.
    except (OverflowError, ValueError, OSError):
        return None


SURE = 0.999
"""Share of the keyed rows from which on a rule is said to have written them all but a few."""


def audit_verdict(audited: DataFrame) -> str:
    """Return who most likely wrote each topic, in a few sentences a topic.

    >>> print(audit_verdict(audit(records)))
    The topic: 100 records in 12 partitions, 0 of them without a key.
    It was written by profile 'java' over 12 partitions, which explains 100 of 100 keyed records...

    Args:
        audited: what `audit` returned; it is computed here.
    """
    rows = audited.orderBy("topic", "partition", "first_offset").collect()
    return "\n\n".join(
        _of_topic(topic, list(of_topic)) for topic, of_topic in groupby(rows, key=lambda row: row.topic)
    )


def _of_topic(topic: str, ranges: Sequence[Row]) -> str:
    """Return what is said of one topic.

    Args:
        topic: its name, "" if the DataFrame had no such column.
        ranges: its rows, by partition and offset.
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
    """Return the rules in the order in which partitions met them.

    Args:
        ranges: those of one topic, by partition and offset.
    """
    place: dict[tuple[str, int], int] = {}
    for _, of_partition in groupby(ranges, key=lambda row: row.partition):
        # The same change comes at another offset in each partition; what agrees is its place among the
        # changes.
        for turn, row in enumerate(row for row in of_partition if row.profile):
            place[_rule(row)] = max(turn, place.get(_rule(row), 0))
    return sorted(place, key=lambda rule: place[rule])


def _sentence(rule: tuple[str, int], ranges: Sequence[Row]) -> str:
    """Return the sentence on one rule: since when it wrote, and how much it explains."""
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
    """Yield how the partition of keyless records tells profiles that have the same rule for keys apart."""
    homes = {r.partition for r in ranges if r.keyless}
    profile, num_partitions = turns[-1]
    # A few records may be in one partition by chance.
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
