import functools
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from partitioning import partition_for_key
from partitioning.errors import InvalidConfigError, InvalidPartitionCountError, UnknownStrategyError
from partitioning.profiles import PROFILES
from spark_integration import hash_columns, kafka_partition
from spark_integration.columns import KEY, NULLS, PARTITIONS, PROFILE
from spark_integration.hash_columns import murmur2_expression

REPOSITORY = Path(__file__).parents[2]
TEXTS = ["", "a", "key", "user-1", "한글", "\x00", "x" * 300, *(f"flight-{n * 7919:x}" for n in range(200))]


KAFKA_IN_THE_JVM = pytest.param("jvm", marks=pytest.mark.needs("classic"))
ARROW = pytest.param("arrow", marks=pytest.mark.needs("arrow_udf"))


@pytest.fixture(params=[KAFKA_IN_THE_JVM, ARROW, "pandas"])
def engine(request: pytest.FixtureRequest, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every way to hash that this Spark has."""
    if request.param == "jvm":
        if murmur2_expression(sf.lit(b"")) is None:
            pytest.skip("kafka-clients is not on Spark's class path: it is fetched with Maven")
        return request.param
    monkeypatch.setattr(hash_columns, "murmur2_expression", lambda _: None)
    if request.param == "pandas":
        monkeypatch.delattr(sf, "arrow_udf", raising=False)
    return request.param


@pytest.fixture(scope="module")
def keys(spark: SparkSession) -> DataFrame:
    """Keys as text and as bytes, and one null."""
    random = np.random.default_rng(3)
    binary = [random.bytes(length) for length in range(70)]
    texts = [(text, bytearray(text.encode())) for text in TEXTS] + [(None, None)]
    rows = texts + [(None, bytearray(value)) for value in binary]
    return spark.createDataFrame(rows, "text string, binary binary").cache()


def expected(key: bytes | None, num_partitions: int, profile: str) -> int | None:
    return partition_for_key(None if key is None else bytes(key), num_partitions, profile=profile)


@pytest.mark.every_spark
def test_text_and_bytes_go_where_the_java_client_puts_them(keys: DataFrame, engine: str) -> None:
    counts = (1, 12, 1000, 2**31 - 1)
    placed = keys.select(
        "*",
        *(kafka_partition("binary", n, nulls="null").alias(f"binary_{n}") for n in counts),
        *(kafka_partition(sf.col("text"), n, nulls="null").alias(f"text_{n}") for n in counts),
    ).collect()
    for row in placed:
        of_binary = [row[f"binary_{n}"] for n in counts]
        assert of_binary == [expected(row.binary, n, "java") for n in counts]
        assert [row[f"text_{n}"] for n in counts] == ([None] * 4 if row.text is None else of_binary)


def test_every_profile_places_as_in_python(keys: DataFrame) -> None:
    # Pulsar's Java client hashes text; what is not UTF-8 has no answer there.
    of_text = {"pulsar-java"}
    for rows, profiles in (
        (keys, PROFILES.keys() - of_text),
        (keys.where("text is not null or binary is null"), of_text),
    ):
        columns = [kafka_partition("binary", 97, profile=name, nulls="null").alias(name) for name in profiles]
        placed = rows.select("binary", *columns).collect()
        for name in profiles:
            assert [row[name] for row in placed] == [expected(row.binary, 97, name) for row in placed], name


@pytest.mark.every_spark
def test_keyless_rows_are_spread_evenly_and_the_same_each_time(spark: SparkSession) -> None:
    rows = spark.range(12_000).select(sf.lit(None).cast("string").alias("key"), "id")
    placed = rows.withColumn("partition", kafka_partition("key", 12))
    again = rows.repartition(5).withColumn("partition", kafka_partition("key", 12))
    assert sorted(placed.collect(), key=lambda row: row.id) == sorted(again.collect(), key=lambda row: row.id)
    sizes = Counter(row.partition for row in placed.collect())
    assert sizes.keys() == set(range(12))
    assert max(sizes.values()) < 1.2 * min(sizes.values())


@pytest.mark.every_spark
def test_keyless_rows_are_spread_by_the_columns_named(spark: SparkSession) -> None:
    rows = spark.range(600).select(
        sf.lit(None).cast("string").alias("key"), "id", sf.pmod("id", sf.lit(40)).alias("group")
    )
    placed = rows.withColumn("partition", kafka_partition("key", 12, spread_by=("group",)))
    homes = placed.groupBy("group").agg(sf.count_distinct("partition").alias("homes")).collect()
    assert {row.homes for row in homes} == {1}
    assert placed.select("partition").distinct().count() > 6


def test_a_grouping_takes_named_columns(spark: SparkSession) -> None:
    rows = spark.createDataFrame([("a",), ("a",), (None,)], "key string")
    grouped = rows.groupBy(kafka_partition("key", 12, spread_by=("key",))).count().collect()
    assert max(row["count"] for row in grouped) == 2


@pytest.mark.every_spark
@pytest.mark.parametrize("profile", ["java", "librdkafka"])
def test_keyless_rows_fail_the_job_where_asked(spark: SparkSession, profile: str) -> None:
    rows = spark.createDataFrame([("a",), (None,)], "key string")
    with pytest.raises(Exception, match=f"no key that profile '{profile}' hashes"):
        rows.select(kafka_partition("key", 12, profile=profile, nulls="error")).collect()


def test_keyed_rows_pass_where_keyless_ones_would_fail(spark: SparkSession) -> None:
    rows = spark.createDataFrame([("key",)], "key string")
    assert rows.select(kafka_partition("key", 12, nulls="error")).collect() == [(1,)]


def test_an_empty_key_is_keyless_to_librdkafkas_default_and_not_to_java(spark: SparkSession) -> None:
    rows = spark.createDataFrame([("",)], "key string")
    both = [kafka_partition("key", 12, profile=p, nulls="null").alias(p) for p in ("java", "librdkafka")]
    assert rows.select(*both).collect() == [(275646681 % 12, None)]


@pytest.mark.every_spark
@pytest.mark.parametrize(("key", "named"), [("text", {KEY: "text"}), (None, {})])
def test_the_column_is_an_int_named_partition_that_knows_how_it_came_about(
    keys: DataFrame, key: str | None, named: dict[str, str]
) -> None:
    placed = kafka_partition(key or sf.lower("text"), 12, profile="sarama", nulls="error")
    (field,) = keys.select(placed).schema.fields
    assert (field.name, field.dataType.simpleString()) == ("partition", "int")
    assert field.metadata == {PARTITIONS: 12, PROFILE: "sarama", NULLS: "error", **named}


@pytest.mark.every_spark
def test_an_empty_frame_has_no_partitions(keys: DataFrame, engine: str) -> None:
    assert keys.where("1 = 0").select(kafka_partition("text", 12)).collect() == []


@pytest.mark.every_spark
@pytest.mark.parametrize("engine", [KAFKA_IN_THE_JVM], indirect=True)
def test_the_connector_makes_murmur2_native(
    keys: DataFrame, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    keys.select(kafka_partition("binary", 12)).explain()
    plan = capsys.readouterr().out
    assert "murmur2" in plan
    assert "Python" not in plan


@pytest.mark.every_spark
def test_without_kafkas_classes_python_hashes(
    keys: DataFrame, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(hash_columns, "KAFKA_UTILS", "org.apache.kafka.NoSuchClass")
    with warnings.catch_warnings(action="error"):
        assert murmur2_expression(sf.col("binary")) is None
    # A client that another test's sink keeps may say meanwhile that its broker is gone.
    lines = "".join(capfd.readouterr()).splitlines()
    assert [line for line in lines if "rdkafka#" not in line] == []
    assert keys.where("text = 'key'").select(kafka_partition("text", 12)).collect() == [(1,)]


WITHOUT_PY4J = """
import importlib.util, pyspark.sql
found = importlib.util.find_spec
importlib.util.find_spec = lambda name: None if name == "py4j" else found(name)
from spark_integration.hash_columns import murmur2_expression
class ConnectColumn: pass
print(murmur2_expression(ConnectColumn()))
"""


@pytest.mark.live
def test_the_engine_in_the_jvm_stays_out_where_spark_came_as_the_package_pyspark_client() -> None:
    command = [sys.executable, "-c", WITHOUT_PY4J]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("None\n", "")


@pytest.mark.every_spark
def test_crc32_needs_no_python(keys: DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    keys.select(kafka_partition("binary", 12, profile="librdkafka-consistent")).explain()
    assert "Python" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (UnknownStrategyError, functools.partial(kafka_partition, "key", 12, profile="jav")),
        (InvalidPartitionCountError, functools.partial(kafka_partition, "key", 0)),
        (InvalidPartitionCountError, functools.partial(kafka_partition, "key", 2**31)),
        (InvalidConfigError, functools.partial(kafka_partition, "key", 12, nulls="random")),
        (InvalidConfigError, functools.partial(kafka_partition, "key", 12, spread_by=())),
    ],
)
def test_meaningless_arguments_are_refused_at_once(spark: SparkSession, error: type[Exception], call) -> None:
    with pytest.raises(error):
        call()
