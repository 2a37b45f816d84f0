from collections import Counter

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from partitioning import grow, partition_batch
from partitioning.errors import InvalidConfigError, InvalidPartitionCountError
from spark_integration import partition_profile

# 40 keys with 1 to 40 rows each, and 25 rows without a key.
KEYS = [b"user-%d" % number for number in range(40) for _ in range(number + 1)]
KEYLESS = 25


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    values = [(key.decode(),) for key in KEYS] + [(None,)] * KEYLESS
    return spark.createDataFrame(values, "key string").repartition(3).cache()


@pytest.mark.every_spark
def test_sizes_and_hottest_keys_are_those_of_the_column(rows: DataFrame) -> None:
    found = partition_profile(rows, "key", 6, top=3)
    places = partition_batch(KEYS, 6)
    np.testing.assert_array_equal(found.sizes, np.bincount(places, minlength=6))
    assert (found.rows, found.keyless, found.keys) == (len(KEYS) + KEYLESS, KEYLESS, 40)
    expected = [(key, int(partition_batch([key], 6)[0]), n) for key, n in Counter(KEYS).most_common(3)]
    assert list(found.hottest) == expected
    assert found.imbalance == pytest.approx(max(found.sizes) / np.mean(found.sizes))
    assert (found.grown_sizes, found.moved, found.moved_share) == (None, None, None)


def test_growth_moves_what_it_moves(rows: DataFrame) -> None:
    found = partition_profile(rows, sf.col("key"), 6, grow_to=9)
    expected = grow(KEYS, 6, 9)
    assert found.moved == expected.moving
    assert found.moved_share == pytest.approx(expected.share)
    np.testing.assert_array_equal(found.grown_sizes, np.bincount(partition_batch(KEYS, 9), minlength=9))


def test_another_profile_leaves_other_rows_unplaced(spark: SparkSession) -> None:
    rows = spark.createDataFrame([("",), ("a",), (None,)], "key string")
    assert partition_profile(rows, "key", 6).keyless == 1
    assert partition_profile(rows, "key", 6, profile="librdkafka").keyless == 2


def test_a_sample_is_scaled_up(spark: SparkSession) -> None:
    rows = spark.range(40_000).select(sf.pmod("id", sf.lit(100)).cast("string").alias("key"))
    found = partition_profile(rows, "key", 4, sample=0.25)
    exact = partition_profile(rows, "key", 4)
    np.testing.assert_allclose(found.sizes, exact.sizes, rtol=0.1)
    assert found.hottest[0].rows > 300


def test_no_rows_have_an_even_profile(rows: DataFrame) -> None:
    found = partition_profile(rows.where("1 = 0"), "key", 3, grow_to=4)
    assert (found.rows, found.keys, found.hottest, found.imbalance, found.moved_share) == (0, 0, (), 0.0, 0.0)


@pytest.mark.parametrize(
    ("error", "arguments"),
    [
        (InvalidPartitionCountError, {"num_partitions": 0}),
        (InvalidPartitionCountError, {"num_partitions": 6, "grow_to": 5}),
        (InvalidConfigError, {"num_partitions": 6, "sample": 0.0}),
        (InvalidConfigError, {"num_partitions": 6, "top": -1}),
    ],
)
def test_meaningless_arguments_are_refused(
    rows: DataFrame, error: type[Exception], arguments: dict[str, int]
) -> None:
    with pytest.raises(error):
        partition_profile(rows, "key", **arguments)
