from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from random import Random

import mmh3
import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

from partitioning.errors import InvalidPartitionCountError
from spark_integration import (
    ColumnError,
    PartitionCountError,
    RoutingError,
    assert_routed,
    hash_columns,
    kafka_partition,
    route,
)
from spark_integration.columns import AS_IT_IS, LANES, PARTITIONS, PROFILE, TASKS
from spark_integration.routing import salt_table
from tests.support.tiers import sample

EVERY_SPARK = pytest.mark.every_spark

# Rows of most tests have no keys.
lay_out = partial(route, partition=AS_IT_IS)


@pytest.fixture(params=[pytest.param("id", marks=pytest.mark.needs("repartitionById")), "salt"])
def exchange(request: pytest.FixtureRequest, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to lay rows out, on a Spark that has both."""
    if request.param == "salt":
        for dataframe in type(spark.range(1)).__mro__:
            monkeypatch.delattr(dataframe, "repartitionById", raising=False)
    return request.param


@pytest.fixture(params=["true", pytest.param("false", marks=pytest.mark.slow)], ids=["adaptive", "static"])
def adaptive(request: pytest.FixtureRequest, spark: SparkSession) -> str:
    spark.conf.set("spark.sql.adaptive.enabled", request.param)
    yield request.param
    spark.conf.unset("spark.sql.adaptive.enabled")


def rows(spark: SparkSession, num_partitions: int, count: int) -> DataFrame:
    """`count` rows whose partitions go round, in an order that is not theirs."""
    partition = sf.pmod(sf.col("id") * 7919, sf.lit(num_partitions)).cast("int")
    return spark.range(0, count, 1, 2).withColumn("partition", partition)


def layout(df: DataFrame) -> list[tuple[int, int | None, int | None, int]]:
    """Of each Spark partition, empty ones too: its number, lowest and highest `partition`, and its rows."""

    def describe(batches):
        import pyarrow as pa
        from pyspark import TaskContext

        held = [value for batch in batches for value in batch.column(0).to_pylist()]
        yield pa.RecordBatch.from_pylist(
            [
                {
                    "at": TaskContext.get().partitionId(),
                    "low": min(held, default=None),
                    "high": max(held, default=None),
                    "rows": len(held),
                }
            ],
            pa.schema([("at", pa.int32()), ("low", pa.int32()), ("high", pa.int32()), ("rows", pa.int64())]),
        )

    described = df.select("partition").mapInArrow(describe, "at int, low int, high int, rows long")
    return sorted(tuple(row) for row in described.collect())


# Each n costs n Python tasks here, so the counts are few; the next test has more, without Python.
@pytest.mark.parametrize(
    "num_partitions", [1, pytest.param(7, marks=EVERY_SPARK), pytest.param(16, marks=pytest.mark.slow)]
)
def test_spark_partition_i_holds_exactly_kafka_partition_i(
    spark: SparkSession, exchange: str, adaptive: str, num_partitions: int
) -> None:
    routed = lay_out(rows(spark, num_partitions, 5 * num_partitions), num_partitions)
    assert layout(routed) == [(p, p, p, 5) for p in range(num_partitions)]


@EVERY_SPARK
@pytest.mark.parametrize("tasks", [1, 2, 7])
def test_tasks_share_kafka_partitions_and_each_is_whole_in_one(
    spark: SparkSession, exchange: str, tasks: int
) -> None:
    routed = lay_out(rows(spark, 7, 35), 7, tasks=tasks)
    assert_routed(routed, 7, tasks=tasks)
    found = routed.groupBy(sf.spark_partition_id(), "partition").count().collect()
    assert sorted(map(tuple, found)) == sorted((p % tasks, p, 5) for p in range(7))


def test_shared_tasks_are_routed_only_for_whom_they_were_asked(spark: SparkSession) -> None:
    routed = lay_out(rows(spark, 4, 20), 4, tasks=2)
    with pytest.raises(RoutingError, match="10 rows are not in the Spark partition"):
        assert_routed(routed, 4)
    with pytest.raises(RoutingError, match="10 rows are not in the Spark partition"):
        assert_routed(lay_out(rows(spark, 4, 20), 4), 4, tasks=2)


@pytest.mark.parametrize(("tasks", "lanes"), [(0, 1), (5, 1), (2, 2)])
def test_more_tasks_than_partitions_or_with_lanes_are_refused(
    spark: SparkSession, tasks: int, lanes: int
) -> None:
    with pytest.raises(InvalidPartitionCountError, match=f"tasks is {tasks}; give 1 to 4"):
        lay_out(rows(spark, 4, 4), 4, tasks=tasks, lanes=lanes)


def assert_every_row_is_once_where_it_belongs(spark: SparkSession, num_partitions: int) -> None:
    """Three rows a partition; one job, without Python, that also tells how many partitions there are."""
    routed = lay_out(rows(spark, num_partitions, 3 * num_partitions), num_partitions)
    # A union puts these behind the last of the routed partitions, be it empty.
    behind = spark.range(-2, 0, 1, 2).withColumn("partition", sf.lit(-1))
    found = routed.union(behind).select(sf.spark_partition_id(), "id").collect()
    home = [(number * 7919 % num_partitions, number) for number in range(3 * num_partitions)]
    assert sorted(found) == sorted([*home, (num_partitions, -2), (num_partitions + 1, -1)])


# Connect sends the same plans to the same Spark, only more slowly.
FEW = (1, 2, 31, 1000)
COUNTS = [
    *FEW,
    *(
        pytest.param(count, marks=pytest.mark.nightly if count % 40 else pytest.mark.slow)
        for count in range(1, 201)
        if count not in FEW
    ),
]


@pytest.mark.parametrize("num_partitions", COUNTS)
def test_no_row_is_misplaced_or_lost(spark: SparkSession, adaptive: str, num_partitions: int) -> None:
    assert_every_row_is_once_where_it_belongs(spark, num_partitions)


@pytest.mark.parametrize("num_partitions", [31, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("exchange", ["salt"], indirect=True)
def test_salted_no_row_is_misplaced_or_lost(spark: SparkSession, exchange: str, num_partitions: int) -> None:
    assert_every_row_is_once_where_it_belongs(spark, num_partitions)


@pytest.mark.parametrize(
    ("count", "held"),
    [pytest.param(0, [], marks=EVERY_SPARK, id="empty"), pytest.param(1, [(0, 0, 1)], id="one row")],
)
def test_a_frame_with_hardly_a_row_still_has_every_partition(
    spark: SparkSession, exchange: str, adaptive: str, count: int, held: list[tuple[int, int, int]]
) -> None:
    routed = layout(lay_out(rows(spark, 5, 8).where(sf.col("id") < count), 5))
    # Spark may leave out altogether what it knows to be empty.
    assert [at for at, *_ in routed] == [0, 1, 2, 3, 4] or not (held or routed)
    assert [(low, high, n) for _, low, high, n in routed if n] == held


def test_one_hot_partition_leaves_the_others_empty(spark: SparkSession, exchange: str, adaptive: str) -> None:
    hot = spark.range(1000).withColumn("partition", sf.lit(2))
    assert layout(lay_out(hot, 4)) == [
        (0, None, None, 0),
        (1, None, None, 0),
        (2, 2, 2, 1000),
        (3, None, None, 0),
    ]


def test_a_salt_hashes_to_its_partition_and_none_smaller_does() -> None:
    for count in (*range(1, 201), 1000):
        salts = salt_table(count)
        place = [mmh3.hash(salt.to_bytes(4, "little"), 42) % count for salt in range(max(salts) + 1)]
        assert [place.index(partition) for partition in range(count)] == salts, count


@pytest.mark.every_spark
def test_lanes_split_a_partition_by_key(spark: SparkSession, exchange: str) -> None:
    df = rows(spark, 3, 3000).withColumn("key", sf.pmod("id", sf.lit(50)).cast("string"))
    routed = lay_out(df, 3, lanes=4)
    lanes = routed.select(sf.spark_partition_id().alias("lane"), "partition", "key").distinct().collect()
    assert len(lanes) == len({(row.partition, row.key) for row in lanes})
    assert {(row.lane // 4, row.partition) for row in lanes} == {(0, 0), (1, 1), (2, 2)}
    assert {row.lane for row in lanes} == set(range(12))
    assert_routed(routed, 3, lanes=4)


@pytest.mark.parametrize("type_", ["tinyint", "smallint", "int", "bigint"])
def test_the_column_comes_back_as_an_int(spark: SparkSession, type_: str) -> None:
    df = rows(spark, 3, 30).withColumn("partition", sf.col("partition").cast(type_))
    routed = lay_out(df, 3)
    assert routed.schema["partition"].dataType.simpleString() == "int"
    assert_routed(routed, 3)


def test_the_partition_column_may_have_any_name(spark: SparkSession) -> None:
    df = rows(spark, 3, 30).withColumnRenamed("partition", "odd `name.of`")
    routed = lay_out(df, 3, by="odd `name.of`")
    assert_routed(routed, 3, by="odd `name.of`")
    assert routed.count() == 30


@pytest.mark.parametrize("value", [-1, 3, None])
def test_a_partition_the_topic_does_not_have_fails_the_job_and_is_named(
    spark: SparkSession, exchange: str, value: int | None
) -> None:
    df = rows(spark, 3, 30)
    wrong = sf.when(sf.col("id") == 17, sf.lit(value).cast("int")).otherwise(sf.col("partition"))
    shown = "null" if value is None else value
    with pytest.raises(Exception, match=f"holds partition {shown}, which a topic of 3 partitions"):
        lay_out(df.withColumn("partition", wrong), 3).collect()


@pytest.mark.parametrize("action", [lay_out, assert_routed])
def test_a_missing_column_is_reported_before_any_work(spark: SparkSession, action: Callable) -> None:
    with pytest.raises(ColumnError, match=r"no column 'partition', only 'id'$"):
        action(spark.range(3), 3)


def test_a_misspelt_column_is_suggested(spark: SparkSession) -> None:
    df = rows(spark, 3, 3).withColumnRenamed("partition", "Partition")
    with pytest.raises(ColumnError, match="did you mean 'Partition'"):
        lay_out(df, 3)


@pytest.mark.parametrize(
    ("key", "profile", "lanes"),
    [(None, "java", 8), ("", "librdkafka", 8), ("", "java", 2)],
    ids=["null", "unkeyed", "a-key"],
)
def test_lanes_share_the_keyless_rows(spark: SparkSession, key: str | None, profile: str, lanes: int) -> None:
    columns = [
        sf.lit(key).cast("string").alias("key"),
        sf.create_map(sf.lit("a"), sf.lit(1)).alias("tags"),  # which Spark does not hash
    ]
    placed = rows(spark, 2, 4000).select("*", *columns).withMetadata("partition", {PROFILE: profile})
    routed = lay_out(placed, 2, lanes=4)
    counts = [count for _, _, _, count in layout(routed) if count]
    assert len(counts) == lanes
    assert max(counts) < 1.2 * 4000 / lanes
    assert_routed(routed, 2, lanes=4)


@pytest.mark.every_spark
@pytest.mark.needs("classic")
@pytest.mark.parametrize("keys", [["partition", "id"], ["id"]], ids=["with-partition", "without"])
def test_a_join_shuffles_again_unless_spark_knows_the_layout(
    spark: SparkSession, exchange: str, keys: list[str]
) -> None:
    sides = [lay_out(rows(spark, 3, 30), 3).withColumn(name, sf.lit(name)) for name in "ab"]
    joined = sides[0].hint("merge").join(sides[1], keys)
    shuffles = joined._jdf.queryExecution().executedPlan().toString().count("Exchange ")
    assert shuffles == (2 if (exchange, keys[0]) == ("id", "partition") else 4)


def test_lanes_need_the_key_column(spark: SparkSession) -> None:
    with pytest.raises(ColumnError, match="no column 'key'"):
        lay_out(rows(spark, 3, 3), 3, lanes=2)


def test_a_partition_column_that_is_no_integer_is_refused(spark: SparkSession) -> None:
    with pytest.raises(ColumnError, match="is of type string"):
        lay_out(rows(spark, 3, 3).withColumn("partition", sf.lit("1")), 3)


@pytest.mark.parametrize(("num_partitions", "lanes"), [(0, 1), (-3, 1), (2**31, 1), (3, 0), (2**30, 2)])
def test_an_impossible_count_is_refused(spark: SparkSession, num_partitions: int, lanes: int) -> None:
    with pytest.raises(InvalidPartitionCountError):
        lay_out(rows(spark, 3, 3), num_partitions, lanes=lanes)


def destroy(df: DataFrame, how: str) -> DataFrame:
    match how:
        case "coalesce":
            return df.coalesce(2)
        case "repartition":
            return df.repartition(6)
        case "orderBy":
            return df.orderBy(sf.desc("id"))
        case "union":
            return df.union(df.repartition(3))
        case "limit":
            return df.limit(500)
        case "keys join":
            return df.join(df.select("id").distinct(), "id")
    raise ValueError(how)


@pytest.mark.every_spark
@pytest.mark.sampled
@pytest.mark.parametrize(
    "how", sample(["coalesce", "repartition", "orderBy", "union", "limit", "keys join"], before_ci=3)
)
def test_assert_routed_finds_what_destroys_routing(spark: SparkSession, how: str) -> None:
    routed = lay_out(rows(spark, 6, 600), 6)
    assert_routed(routed, 6)
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    try:
        with pytest.raises(RoutingError, match="rows are not in the Spark partition") as raised:
            assert_routed(destroy(routed, how), 6)
    finally:
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")
    assert 1 <= len(raised.value.rows) <= 10
    assert all(row.spark_partition != row.kafka_partition for row in raised.value.rows)
    assert raised.value.rows[0].row.partition == raised.value.rows[0].kafka_partition


def add_columns_that_shuffle(df: DataFrame, how: str) -> DataFrame:
    """More columns by a plan that shuffles again, which Spark leaves out where nobody asks for them."""
    keyed = df.withColumn("key", sf.pmod("id", sf.lit(50)))
    by_key = Window.partitionBy("key").orderBy("id")
    match how:
        case "row_number":
            return keyed.withColumn("nth", sf.row_number().over(by_key))
        case "lag":
            return keyed.withColumn("before", sf.lag("id").over(by_key))
        case "window by another column":
            by_id = Window.partitionBy(sf.pmod("id", sf.lit(7)))
            return keyed.withColumn("greatest", sf.max("id").over(by_id))
        case "left join":
            return keyed.join(keyed.groupBy("key").count().hint("merge"), "key", "left")
    raise ValueError(how)


@pytest.mark.every_spark
@pytest.mark.sampled
@pytest.mark.parametrize(
    "how", sample(["row_number", "lag", "window by another column", "left join"], before_ci=2)
)
def test_assert_routed_judges_the_plan_with_every_column(spark: SparkSession, how: str) -> None:
    df = add_columns_that_shuffle(lay_out(rows(spark, 6, 600), 6), how)
    with pytest.raises(RoutingError, match="rows are not in the Spark partition") as raised:
        assert_routed(df, 6)
    assert f"{len(misplaced_rows(df))} rows" in str(raised.value)


def test_assert_routed_passes_once_such_columns_are_dropped(spark: SparkSession) -> None:
    df = add_columns_that_shuffle(lay_out(rows(spark, 6, 600), 6), "lag").drop("before")
    assert misplaced_rows(df) == []
    assert_routed(df, 6)


# Operations on rows of `id` and `partition`; a name that is added is the place in the chain, so it is new.
OPERATIONS: list[Callable[[DataFrame, str], DataFrame]] = [
    lambda df, _: df.where("id % 11 != 3"),
    lambda df, name: df.withColumn(name, sf.col("id") * 2),
    lambda df, _: df.sortWithinPartitions("id"),
    lambda df, _: df.select("id", "partition"),
    lambda df, _: df.drop(df.columns[-1]) if len(df.columns) > 2 else df,
    lambda df, name: df.withColumn(name, sf.lag("id").over(Window.partitionBy("partition").orderBy("id"))),
    lambda df, name: df.withColumn(
        name, sf.row_number().over(Window.partitionBy(sf.col("id") % 5).orderBy("id"))
    ),
    lambda df, name: df.join(df.groupBy("id").agg(sf.count("*").alias(name)).hint("merge"), "id", "left"),
    lambda df, name: df.join(
        df.sparkSession.range(8).withColumn(name, sf.lit(1)).hint("broadcast"), "id", "left"
    ),
    lambda df, _: df.dropDuplicates(["id"]),
    lambda df, _: df.coalesce(3),
    lambda df, _: df.repartition(4),
    lambda df, _: df.orderBy(sf.desc("id")),
    lambda df, _: df.orderBy("id").limit(40),
    lambda df, _: df.where("id % 2 = 0").union(df.where("id % 2 = 1")),
    lambda df, _: df.mapInArrow(lambda batches: batches, df.schema),
]
ROUTED_AGAIN = 6
"""Out of 22 operations, so many are `route`: many chains then end routed, and many lose it late."""


def misplaced_rows(df: DataFrame) -> list[tuple[int, int]]:
    """Spark and Kafka partition of every row that a task of the write would hold in the wrong place."""

    def list_misplaced(batches):
        import pyarrow as pa
        from pyspark import TaskContext

        here = TaskContext.get().partitionId()
        for batch in batches:
            strays = [p for p in batch.column("partition").to_pylist() if p != here]
            yield pa.RecordBatch.from_pydict(
                {
                    "here": pa.array([here] * len(strays), pa.int32()),
                    "partition": pa.array(strays, pa.int32()),
                }
            )

    return [tuple(row) for row in df.mapInArrow(list_misplaced, "here int, partition int").collect()]


def random_chain(df: DataFrame, random: Random, length: int) -> DataFrame:
    """`df` after `length` random operations."""
    for place in range(length):
        number = random.randrange(-ROUTED_AGAIN, len(OPERATIONS))
        df = lay_out(df, 4) if number < 0 else OPERATIONS[number](df, f"added_{place}")
    return df


CHAINS = [
    *((seed, 6) for seed in (0, 2, 3, 11)),
    *(pytest.param(seed, 20, marks=pytest.mark.slow) for seed in range(5)),
    *(pytest.param(seed, 20, marks=pytest.mark.nightly) for seed in range(5, 100)),
]


@pytest.mark.parametrize(("seed", "length"), CHAINS)
def test_assert_routed_agrees_with_what_tasks_hold(spark: SparkSession, seed: int, length: int) -> None:
    df = random_chain(lay_out(rows(spark, 4, 80), 4), Random(seed), length)
    misplaced = len(misplaced_rows(df))
    verdict = pytest.raises(RoutingError, match=f"^{misplaced} rows") if misplaced else nullcontext()
    with verdict:
        assert_routed(df, 4)


@pytest.mark.every_spark
@pytest.mark.parametrize(
    "keep",
    [
        lambda df: df.where("id % 2 = 0"),
        lambda df: df.withColumn("twice", sf.col("id") * 2),
        lambda df: df.sortWithinPartitions("id"),
        lambda df: df.mapInArrow(lambda batches: batches, df.schema),
    ],
    ids=["where", "withColumn", "sortWithinPartitions", "mapInArrow"],
)
def test_routing_outlives_what_moves_no_row(spark: SparkSession, keep: Callable) -> None:
    assert_routed(keep(lay_out(rows(spark, 6, 600), 6)), 6)


def test_assert_routed_finds_rows_beyond_the_topic(spark: SparkSession) -> None:
    forgetful = lay_out(rows(spark, 4, 40), 4).withColumn("partition", sf.col("partition") + 0)
    with pytest.raises(RoutingError) as raised:
        assert_routed(forgetful, 3)
    assert {row.kafka_partition for row in raised.value.rows} == {3}


@pytest.mark.every_spark
@pytest.mark.needs("repartitionById")
def test_a_join_on_partition_and_key_needs_no_further_exchange(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    left = lay_out(rows(spark, 6, 600), 6)
    right = lay_out(rows(spark, 6, 600).withColumnRenamed("id", "other"), 6)
    joined = left.hint("merge").join(right, ["partition"])
    joined.explain()
    assert capsys.readouterr().out.count("Exchange") == 2
    assert joined.count() == 6 * 100 * 100


@pytest.mark.every_spark
@pytest.mark.needs("repartitionById")
def test_a_join_of_routed_topics_hashes_each_side_once(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hash_columns, "murmur2_expression", lambda _: None)
    keyed = spark.range(600).select(sf.col("id").cast("string").alias("key"))
    left, right = (
        route(keyed.select("key", kafka_partition("key", 6), sf.lit(side).alias(side)), 6) for side in "ab"
    )
    joined = left.hint("merge").join(right, ["key", "partition"])
    joined.explain()
    plan = capsys.readouterr().out
    assert (plan.count("ArrowEvalPython"), plan.count("Exchange")) == (2, 2)
    assert joined.count() == 600


@pytest.mark.every_spark
def test_a_routed_column_knows_the_count_it_was_routed_to_and_all_it_knew_before(spark: SparkSession) -> None:
    known = sf.col("partition").alias("partition", metadata={PROFILE: "java"})
    for df, before in ((rows(spark, 8, 40), {}), (rows(spark, 8, 40).select("id", known), {PROFILE: "java"})):
        assert lay_out(df, 8).schema["partition"].metadata == {PARTITIONS: 8, LANES: 1, TASKS: 8, **before}


def test_a_count_other_than_the_columns_own_is_refused(spark: SparkSession) -> None:
    computed_for_4 = sf.col("partition").alias("partition", metadata={PARTITIONS: 4})
    df = rows(spark, 4, 40).select("id", computed_for_4)
    assert_routed(lay_out(df, 4), 4)
    with pytest.raises(PartitionCountError, match="computed for 4 partitions, and 3 are asked for"):
        lay_out(df, 3)
    with pytest.raises(PartitionCountError, match="computed for 4 partitions, and 3 are asked for"):
        assert_routed(lay_out(df, 4), 3)
