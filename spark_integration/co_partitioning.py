"""Tell whether DataFrames of records can be joined by their Kafka partitions; the JVM compares every key."""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as sf

from copartition.audit.conclusion import conclude
from copartition.audit.tally import Tally
from copartition.audit.topic_audit import Coverage, TopicAudit
from copartition.check.judge import judge
from copartition.check.verdict import JoinVerdict, KeyApart, KeyProof, differing_places
from partitioning.errors import InvalidConfigError
from spark_integration.auditing.plan import audit_records, checked_records
from spark_integration.errors import NotCoPartitionedError, PartitionCountError

EXAMPLES = 10
"""The most keys that a verdict shows."""

LONGEST = 64
"""Number of bytes up to which keys are compared as they are.

A longer key is replaced by its first 64 bytes and its SHA-256, 96 bytes together: no shorter key equals that.
"""


def co_partitioned(*frames: DataFrame, num_partitions: Sequence[int] | None = None) -> JoinVerdict:
    """Return whether each key is in the same partition of several topics, so that they join by partition.

    Every key of every row is compared in the JVM, by one shuffle of the distinct keys with their partitions
    and then by sums. In addition this finds in Python, as `audit` does, which client's rule placed the keys.
    The DataFrames are read when this is called, a few times each: cache one that is costly to compute. This
    works on classic Spark and on Connect.

    >>> verdict = co_partitioned(records, records)
    >>> verdict.answer, verdict.proof.common, verdict.proof.apart
    ('yes', 100, 0)

    Args:
        frames: two or more, each with the records of one topic as Spark's Kafka source reads them: `key`
            (binary or string), `partition`, `offset`, and `timestamp` and `topic` if they are there.
        num_partitions: the partition count of each topic, in the order of the DataFrames, as
            `partition_count` returns it. By default all topics are assumed to have the same count, one more
            than the highest partition with a row; the verdict says so.

    Returns:
        The verdict. Its `answer` is "yes", "no" or "unknown", with reasons and remedies. Its `proof` tells
        how many distinct keys there are, how many of them are in more than one topic, how many of these are
        in different partitions, and shows a few of these.

    Raises:
        ColumnError: a column is missing.
        InvalidConfigError: there are fewer than two DataFrames, a DataFrame has records of several topics,
            two have the same topic, or there is not one partition count for each.
        PartitionCountError: a row is in a partition that its topic does not have by `num_partitions`.
    """
    if len(frames) < 2 or (num_partitions is not None and len(num_partitions) != len(frames)):
        raise InvalidConfigError(
            f"a join has two topics or more, and a partition count for each or none, not {len(frames)} "
            f"DataFrames with {'no' if num_partitions is None else len(num_partitions)} counts"
        )
    records = [checked_records(frame) for frame in frames]
    (row,) = _sums(_places(records), len(records)).collect()
    highest = [
        -1 if row[f"highest{number}"] is None else row[f"highest{number}"] for number in range(len(frames))
    ]
    # Without counts the smallest topic that could hold all rows is assumed, and the verdict says so.
    counts = [1 + max(0, *highest)] * len(frames) if num_partitions is None else list(num_partitions)
    for number, (count, last) in enumerate(zip(counts, highest, strict=True)):
        if last >= count:
            raise PartitionCountError(
                f"DataFrame {number + 1} has a row in partition {last}, which a topic of {count} partitions "
                "does not have: give the counts in the order of the DataFrames"
            )
    audits = _audits(records, counts)
    verdict = judge(audits, _proof(row, len(frames)))
    assumed = ["the DataFrames hold all records that are to be joined"]
    if num_partitions is None:
        assumed.append(
            f"all topics have {counts[0]} partitions, one more than the highest in which there is a row"
        )
    return replace(verdict, assumed=(*verdict.assumed, *assumed))


def assert_co_partitioned(*frames: DataFrame, num_partitions: Sequence[int] | None = None) -> None:
    """Raise unless it is certain that the DataFrames can be joined by their Kafka partitions.

    >>> assert_co_partitioned(records, records.withColumn("partition", 11 - records.partition))
    Traceback (most recent call last):
    spark_integration.errors.NotCoPartitionedError: DataFrame 1 and DataFrame 2 cannot be joined by...

    Args:
        frames: as in `co_partitioned`.
        num_partitions: as in `co_partitioned`.

    Raises:
        NotCoPartitionedError: the DataFrames cannot be joined by their Kafka partitions, or it is unknown
            whether they can; the error's `verdict` says why.
        ColumnError, InvalidConfigError, PartitionCountError: as in `co_partitioned`.
    """
    verdict = co_partitioned(*frames, num_partitions=num_partitions)
    if verdict.answer == "yes":
        return
    weight = {"no": "against", "unknown": "open"}[verdict.answer]
    why = "; ".join(reason.text for reason in verdict.reasons if reason.weight == weight)
    answer = "cannot be joined by partition" if verdict.answer == "no" else "may not join by partition"
    ways = "".join(f" A way out: {remedy.text}." for remedy in verdict.remedies[:1])
    raise NotCoPartitionedError(f"{' and '.join(verdict.topics)} {answer}: {why}.{ways}", verdict)


def _places(records: Sequence[DataFrame]) -> DataFrame:
    """Return a row for each distinct key, with its lowest and its highest partition in each topic.

    Columns: key, and for topic i `low<i>` and `high<i>`, null if the topic lacks the key. The two differ if a
    topic has the key in several partitions. This takes one shuffle.
    """
    key = sf.when(
        sf.length("key") > LONGEST,
        sf.concat(sf.substring("key", 1, LONGEST), sf.unhex(sf.sha2("key", 256))),
    ).otherwise(sf.col("key"))
    parts = [
        # All topics become one DataFrame, with the topic's number as a column, so that the keys are shuffled
        # only once.
        frame.select(key.alias("key"), "partition", sf.lit(number).alias("topic"))
        for number, frame in enumerate(records)
    ]
    sums = []
    for number in range(len(records)):
        place = sf.when(sf.col("topic") == number, sf.col("partition"))
        sums += [sf.min(place).alias(f"low{number}"), sf.max(place).alias(f"high{number}")]
    return reduce(DataFrame.unionAll, parts).groupBy("key").agg(*sums)


def _sums(places: DataFrame, topics: int) -> DataFrame:
    """Return one row with the sums over all keys that `_proof` reads.

    Args:
        places: rows as `_places` returns them.
        topics: number of topics.
    """
    keyed = sf.col("key").isNotNull()
    lows, highs = ([f"{name}{number}" for number in range(topics)] for name in ("low", "high"))
    # `having` is the number of topics that have the key.
    having = reduce(lambda one, other: one + other, [sf.col(low).isNotNull().cast("int") for low in lows])
    common = keyed & (having > 1)
    # `least` and `greatest` skip nulls, so topics that lack the key do not count.
    apart = common & (sf.least(*lows) != sf.greatest(*highs))
    # Examples are chosen by aggregation, without a sort: the keys are divided into ten parts by a hash, and
    # the lowest key of each part is an example. So no key is shown twice.
    part = sf.pmod(sf.xxhash64("key"), sf.lit(EXAMPLES))
    columns = sf.struct("key", *lows, *highs)
    return places.agg(
        sf.count_if(common).alias("common"),
        sf.count_if(apart).alias("apart"),
        sf.count_if(keyed & (having == topics)).alias("everywhere"),
        *(
            sf.count_if(keyed & sf.col(low).isNotNull()).alias(f"keys{number}")
            for number, low in enumerate(lows)
        ),
        *(
            sf.count_if(keyed & (sf.col(low) != sf.col(high))).alias(f"scattered{number}")
            for number, (low, high) in enumerate(zip(lows, highs, strict=True))
        ),
        *(sf.max(high).alias(f"highest{number}") for number, high in enumerate(highs)),
        sf.array(
            *(sf.min(sf.when(apart & (part == part_number), columns)) for part_number in range(EXAMPLES))
        ).alias("examples"),
    )


def _proof(row: Row, topics: int) -> KeyProof:
    """Return the proof that the sums make; it is complete, because every key was compared."""
    return KeyProof(
        keys=tuple(row[f"keys{number}"] for number in range(topics)),
        common=row.common,
        apart=row.apart,
        examples=tuple(_example(example, topics) for example in row.examples if example),
        scattered=tuple(row[f"scattered{number}"] for number in range(topics)),
        complete=True,
        hashed=False,
        everywhere=row.everywhere,
    )


def _example(row: Row, topics: int) -> KeyApart:
    """Return an example of a key that is in different partitions, with two topics' partitions that differ."""
    lows, highs = ([row[f"{name}{number}"] for number in range(topics)] for name in ("low", "high"))
    return KeyApart(bytes(row.key[:LONGEST]), differing_places(lows, highs))


def _audits(records: Sequence[DataFrame], counts: Sequence[int]) -> list[TopicAudit]:
    """Return the audit of each DataFrame's topic; the records of all DataFrames are read together.

    Args:
        records: rows as `checked_records` returns them.
        counts: the partition count of each topic.

    Raises:
        InvalidConfigError: a DataFrame has records of several topics.
    """
    # Topics of two clusters may have the same name. The DataFrame's number before the name keeps them apart.
    marked = [
        frame.withColumn("topic", sf.concat(sf.lit(f"{number} "), "topic"))
        for number, frame in enumerate(records)
    ]
    results: list[list[TopicAudit]] = [[] for _ in records]
    for audit in audit_records(
        reduce(DataFrame.unionAll, marked), size_of=lambda topic: counts[int(topic.partition(" ")[0])]
    ):
        number, _, name = audit.topic.partition(" ")
        results[int(number)].append(replace(audit, topic=name or f"DataFrame {int(number) + 1}"))
    for index, audits in enumerate(results):
        if len(audits) > 1:
            topics = ", ".join(audit.topic for audit in audits)
            raise InvalidConfigError(
                f"DataFrame {index + 1} has records of several topics, {topics}: give each on its own"
            )
        if not audits:
            nothing = Coverage("full", 0, 0, (), "all rows of the DataFrame, which has none")
            audits.append(conclude(f"DataFrame {index + 1}", Tally(counts[index]), nothing))
    return [audit for audits in results for audit in audits]
