"""Joins by partition of DataFrames: the answer, and the counts of keys that it rests on."""

from collections import Counter
from collections.abc import Callable, Iterable
from random import Random

import pytest
from pyspark.sql import DataFrame, SparkSession

from copartition.check.verdict import KeyProof
from partitioning import partition_batch
from partitioning.errors import InvalidConfigError
from spark_integration import (
    ColumnError,
    NotCoPartitionedError,
    PartitionCountError,
    assert_co_partitioned,
    co_partitioned,
)
from spark_integration.auditing.plan import checked_records
from spark_integration.co_partitioning import _places, _proof, _sums

USERS = [b"user-%d" % number for number in range(300)]


def topic(spark: SparkSession, name: str, records: Iterable[tuple[bytes | None, int]]) -> DataFrame:
    """The records of a topic, given as keys and partitions."""
    ends: Counter[int] = Counter()
    rows = []
    for key, partition in records:
        rows.append((name, partition, ends[partition], None if key is None else bytearray(key)))
        ends[partition] += 1
    return spark.createDataFrame(rows, "topic string, partition int, offset bigint, key binary").coalesce(1)


def compared(*topics: DataFrame) -> KeyProof:
    (row,) = _sums(_places([checked_records(frame) for frame in topics]), len(topics)).collect()
    return _proof(row, len(topics))


def written(keys: list[bytes], num_partitions: int, profile: str = "java") -> list[tuple[bytes | None, int]]:
    places = partition_batch(keys, num_partitions, profile=profile).tolist()
    return list(zip(keys, places, strict=True))


JAVA = written(USERS, 6)
STRAY = (USERS[7], (JAVA[7][1] + 1) % 6)

Records = list[tuple[bytes | None, int]]

# Two topics, how many keys are in both, and how many of these are apart.
COUNTED: dict[str, tuple[Records, Records, int, int]] = {
    "one client": (JAVA, written(USERS[100:], 6), 200, 0),
    "some keys more often": (JAVA + JAVA[:50], JAVA, 300, 0),
    "records without keys": ([*JAVA, (None, 3)], [*JAVA, (None, 4)], 300, 0),
    "a single stray": (JAVA, [*JAVA[:7], STRAY, *JAVA[8:]], 300, 1),
    "a key at two partitions of one topic": (JAVA, [*JAVA, STRAY], 300, 1),
    "a key at the same two partitions of both": ([*JAVA, STRAY], [*JAVA, STRAY], 300, 1),
    "an empty key": ([*JAVA, (b"", 1)], [*JAVA, (b"", 2)], 301, 1),
    "no key in common": (JAVA[:150], JAVA[150:], 0, 0),
    "long keys that differ at their end": ([(b"x" * 3000 + b"1", 1)], [(b"x" * 3000 + b"2", 2)], 0, 0),
    "a long key": ([(b"x" * 3000, 1)], [(b"x" * 3000, 2)], 1, 1),
    "no records": ([], JAVA, 0, 0),
}


@pytest.mark.parametrize("name", COUNTED)
def test_keys_in_both_topics_and_those_apart_are_counted(spark: SparkSession, name: str) -> None:
    *topics, common, apart = COUNTED[name]
    proof = compared(*(topic(spark, "a topic", records) for records in topics))
    assert (proof.common, proof.apart) == (common, apart)
    assert len({example.key for example in proof.examples}) == apart
    assert proof.keys == tuple(len({key for key, _ in records} - {None}) for records in topics)


@pytest.mark.every_spark
def test_the_counts_are_those_of_looking_at_every_key(spark: SparkSession) -> None:
    random = Random(5)
    frames, at = [], []
    for _ in range(3):
        records = [(b"%d" % random.randrange(400), random.randrange(3)) for _ in range(300)]
        frames.append(topic(spark, "a topic", records))
        places: dict[bytes, set[int]] = {}
        for key, partition in records:
            places.setdefault(key, set()).add(partition)
        at.append(places)
    having = [
        [places[key] for places in at if key in places] for key in {key for places in at for key in places}
    ]
    common = [sets for sets in having if len(sets) > 1]
    proof = compared(*frames)
    assert proof.common == len(common)
    assert proof.apart == sum(len(set.union(*sets)) > 1 for sets in common)
    assert proof.everywhere == sum(len(sets) == 3 for sets in common)
    assert proof.scattered == tuple(sum(len(found) > 1 for found in places.values()) for places in at)
    assert 0 < len(proof.examples) <= 10
    for key, partitions in proof.examples:
        for partition, places in zip(partitions, at, strict=True):
            assert (partition is None) == (key not in places)
            assert partition is None or partition in places[key]
        assert len({*partitions} - {None}) > 1


@pytest.mark.every_spark
def test_keys_are_compared_in_the_jvm_after_one_shuffle(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    frames = [checked_records(topic(spark, name, JAVA).repartition(2)) for name in ("orders", "payments")]
    _sums(_places(frames), 2).explain()
    plan = capsys.readouterr().out
    assert plan.count("Exchange hashpartitioning") == 1
    assert "Python" not in plan
    assert "InArrow" not in plan


def test_a_single_key_apart_is_enough_for_a_no(spark: SparkSession) -> None:
    ours, theirs = (COUNTED["a single stray"][number] for number in (0, 1))
    verdict = co_partitioned(topic(spark, "orders", ours), topic(spark, "payments", theirs))
    assert verdict.answer == "no"
    assert "user-7" in verdict.reasons[0].text


@pytest.mark.every_spark
def test_a_pipeline_goes_on_where_topics_join(spark: SparkSession) -> None:
    assert_co_partitioned(topic(spark, "orders", JAVA), topic(spark, "payments", JAVA), num_partitions=(6, 6))


def test_a_pipeline_ends_where_they_do_not_and_is_told_why(spark: SparkSession) -> None:
    theirs = written(USERS, 6, "librdkafka")
    with pytest.raises(
        NotCoPartitionedError, match="orders and payments cannot be joined by partition"
    ) as caught:
        assert_co_partitioned(topic(spark, "orders", JAVA), topic(spark, "payments", theirs))
    assert caught.value.verdict.answer == "no"


def test_a_pipeline_ends_where_nobody_can_tell(spark: SparkSession) -> None:
    with pytest.raises(NotCoPartitionedError, match="may not join by partition"):
        assert_co_partitioned(topic(spark, "orders", JAVA[:5]), topic(spark, "payments", JAVA[:5]))


def test_keys_of_three_topics_that_no_rule_explains_are_proof_enough(spark: SparkSession) -> None:
    ours = [(key, sum(key) % 6) for key in USERS]
    verdict = co_partitioned(*(topic(spark, name, ours) for name in ("orders", "payments", "refunds")))
    assert verdict.proof is not None
    assert (verdict.answer, verdict.proof.everywhere) == ("yes", len(USERS))


def test_unequal_partition_counts_are_a_no(spark: SparkSession) -> None:
    frames = [topic(spark, name, JAVA) for name in ("orders", "payments")]
    assert co_partitioned(*frames, num_partitions=(6, 7)).answer == "no"


def test_what_is_assumed_of_partition_counts_is_said(spark: SparkSession) -> None:
    frames = [topic(spark, name, JAVA) for name in ("orders", "payments")]
    assert any("all topics have 6 partitions" in assumption for assumption in co_partitioned(*frames).assumed)


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (InvalidConfigError, lambda one, _: co_partitioned(one)),
        (InvalidConfigError, lambda one, other: co_partitioned(one, other, num_partitions=(6,))),
        (InvalidConfigError, lambda one, _: co_partitioned(one, one)),
        (InvalidConfigError, lambda one, other: co_partitioned(one.union(other), other)),
        (ColumnError, lambda one, other: co_partitioned(one, other.drop("offset"))),
        (PartitionCountError, lambda one, other: co_partitioned(one, other, num_partitions=(6, 3))),
    ],
)
def test_what_cannot_be_compared_is_refused(
    spark: SparkSession, error: type[Exception], call: Callable[[DataFrame, DataFrame], object]
) -> None:
    with pytest.raises(error):
        call(topic(spark, "orders", JAVA), topic(spark, "payments", JAVA))
