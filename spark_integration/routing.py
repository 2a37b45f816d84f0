"""Lay a DataFrame out as its topic is: Spark partition i holds exactly the rows of Kafka partition i.

Call `route` last. The layout survives `filter`, `withColumn`, `sortWithinPartitions`, `mapInArrow` and
caching. Every operation that shuffles or merges partitions destroys it; `assert_routed` finds out whether
that has happened. `docs/spark.md` shows joins.
"""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from struct import pack
from typing import Any

import mmh3
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ByteType, IntegerType, LongType, ShortType, StructField

from partitioning.errors import InvalidPartitionCountError
from partitioning.profiles import find_profile
from partitioning.topic_partition import MAX_PARTITIONS, checked_partition_count
from spark_integration.columns import AS_IT_IS, KEY, LANES, PARTITIONS, PROFILE, TASKS, kafka_partition
from spark_integration.errors import (
    ColumnError,
    PartitionCountError,
    RecordError,
    RoutingError,
    error_text,
    key_type_error,
)
from spark_integration.sinks.placement import KeyRule, check_choice, profile_of, profile_rule
from spark_integration.sinks.records import TYPES

EXAMPLES = 10
_PLAIN = "__copartition_partition"
_UNHASHED = re.compile(r"\bmap<|\bvariant\b")


def route(
    df: DataFrame,
    num_partitions: int,
    *,
    by: str = "partition",
    lanes: int = 1,
    tasks: int | None = None,
    key: Column | str | None = None,
    profile: str | None = None,
    partition: str | None = None,
) -> DataFrame:
    """Lay the rows out so that Spark partition i holds exactly the rows of Kafka partition i.

    This takes one shuffle. Empty partitions stay, and adaptive execution does not change the layout. Rows
    arrive in no particular order: call `sortWithinPartitions` afterwards if their order in the topic matters.

    Each row's partition is compared with the one that the profile gives its key. A task fails at the first
    keyed row that differs, and the error shows its key. This check is needed because a DataFrame that was
    read from Kafka or files may have a column `partition` of another topic or another key. The check hashes
    each key once more.

    >>> routed = route(df.select("*", kafka_partition("key", 12)), 12)
    >>> routed.selectExpr("spark_partition_id() AS task", "partition").first()
    Row(task=0, partition=0)

    Args:
        df: rows with their Kafka partition, as `kafka_partition` computes it.
        num_partitions: partition count of the topic.
        by: name of the column with the partition. It comes back as an int; a task fails at the first null or
            value outside 0 .. num_partitions - 1, and the error names the value. The count and the layout
            are noted in the column's metadata. From these notes a sink knows to refuse a topic with another
            count, and to refuse an exactly-once write of rows in lanes.
        lanes: number of Spark partitions (and tasks) for each Kafka partition, for topics with fewer
            partitions than the cluster has cores. Spark partition i then holds a part of Kafka partition
            i // lanes. All rows of a key are in one lane, so their order can be kept; the order between keys
            cannot. Rows that have no key by the rule of the noted profile are spread over the lanes by a
            hash of the whole row.
        tasks: number of Spark partitions (and tasks) for all Kafka partitions together, at most and by
            default `num_partitions`. Spark partition i then holds exactly the Kafka partitions p with
            p % tasks == i. It is for topics with many partitions and few rows. For an exactly-once write,
            call `sortWithinPartitions("partition", ...)` between `route` and the write.
        key: the column of the serialized key, or its name, by which rows are compared and get their lanes. By
            default the column that `kafka_partition` has noted, or else column `key`.
        profile: the profile whose rule places the keys; by default the noted one, or else "java".
        partition: "as it is" lays the rows out by their column whatever their keys are, and compares nothing.
            It is for tables without keys, and for joins of topics as they were read.

    Raises:
        ColumnError: there is no such column, it is not of an integer type, or there is no key to compare by.
        InvalidConfigError: `partition` has another value or is given together with `profile`, or the column
            notes another profile.
        UnknownStrategyError: there is no such profile.
        PartitionCountError: the column was computed for another count than `num_partitions`.
        InvalidPartitionCountError: `num_partitions` or `lanes` is below 1, or their product above 2**31 - 1;
            `tasks` is below 1 or above `num_partitions`, or is given together with `lanes`.
    """
    field = _partition_field(df, num_partitions, by, lanes, tasks)
    layout = num_partitions * lanes if tasks is None else tasks
    check_choice(profile, partition, ["partition"])
    noted = field.metadata.get(KEY)
    name = noted if key is None and noted in df.columns else "key" if key is None else key
    rule = None
    if partition is None:
        rule = _row_rule(df, name, profile_of(profile, field.metadata), field.metadata)
    # On Connect `withColumn` drops the metadata of an alias, so `withMetadata` sets it. That accepts plain
    # names only, without dots, so the column has a plain name meanwhile.
    checked = (
        df.withColumn(by, checked_partition(by, num_partitions, rule))
        .withColumnRenamed(by, _PLAIN)
        .withMetadata(_PLAIN, {**field.metadata, PARTITIONS: num_partitions, LANES: lanes, TASKS: layout})
        .withColumnRenamed(_PLAIN, by)
    )
    target = _column(by)
    if lanes > 1:
        lane = sf.pmod(_lane_hash(df, _key_column(df, name), field.metadata.get(PROFILE)), sf.lit(lanes))
        target = (target * lanes + lane).cast("int")
    # `hasattr` asks the type, because a DataFrame takes any unknown attribute for a column.
    if hasattr(type(checked), "repartitionById"):
        # Spark itself computes the remainder by `layout`. So it knows that two DataFrames with equal `tasks`
        # are laid out alike, and joins them without a shuffle.
        return checked.repartitionById(layout, target)
    # The table is one literal text, which Spark splits when it plans the query. An array of literals would
    # cost one call to the JVM for each partition.
    table = ",".join(map(str, salt_table(layout)))
    salts = sf.split(sf.lit(table), ",").cast("array<int>")
    return checked.repartition(layout, sf.get(salts, sf.pmod(target, sf.lit(layout))))


def assert_routed(
    df: DataFrame,
    num_partitions: int,
    *,
    by: str = "partition",
    lanes: int = 1,
    tasks: int | None = None,
) -> None:
    """Raise RoutingError if any row is not in the Spark partition of its Kafka partition.

    `df` is computed once, with all its columns. Otherwise Spark would leave out a window or a join whose
    columns are not used, and with it a shuffle that the write runs. So give the very DataFrame that is
    written. If columns are dropped later, this may raise although the smaller DataFrame is routed.

    >>> assert_routed(df.select("*", kafka_partition("key", 12)).coalesce(1), 12)
    Traceback (most recent call last):
    spark_integration.errors.RoutingError: 92 rows are not in the Spark partition of their Kafka partition...

    Args:
        df: the DataFrame that `route` returned, or one made from it. Cache it if it is costly to compute.
        num_partitions: partition count of the topic.
        by: name of the column with the partition.
        lanes: as it was given to `route`.
        tasks: as it was given to `route`. If it was given there, it must be given here, too: otherwise
            Spark partition i is expected to hold Kafka partition i only.

    Raises:
        RoutingError: rows are misplaced. The message says how many; `rows` has a few of them.
        ColumnError: there is no such column, or it is not of an integer type.
        PartitionCountError: the column was computed for another count than `num_partitions`.
    """
    _partition_field(df, num_partitions, by, lanes, tasks)
    here, belongs = sf.col("spark_partition"), sf.col("kafka_partition")
    rows = df.select(
        sf.spark_partition_id().alias("spark_partition"),
        _column(by).alias("kafka_partition"),
        sf.struct("*").alias("row"),
    )
    # `at_home` is also false for a partition that is null or out of range.
    if tasks is None:
        at_home = sf.floor(here / lanes).eqNullSafe(belongs) & (here < num_partitions * lanes)
    else:
        exists = (belongs >= 0) & (belongs < num_partitions)
        at_home = here.eqNullSafe(sf.pmod(belongs, sf.lit(tasks))) & exists
    strays = rows.where(~at_home)
    # Whole rows are collected. For a count alone Spark would need no other columns, and would run another
    # plan than that of the write.
    examples = strays.take(EXAMPLES)
    if examples:
        shown = "; ".join(
            f"Spark partition {r[0]} holds a row of Kafka partition {r[1]}" for r in examples[:3]
        )
        raise RoutingError(
            f"{_count_whole(strays)} rows are not in the Spark partition of their Kafka partition ({shown}). "
            "coalesce, repartition, orderBy, limit, union, joins, aggregations and windows destroy routing: "
            "call route() last.",
            examples,
        )


def _count_whole(rows: DataFrame) -> int:
    """Return the number of rows, by a plan that computes every column of `row`."""
    whole = sf.length(sf.col("row").cast("string"))
    counted: int = rows.agg(sf.count("*"), sf.max(whole)).collect()[0][0]
    return counted


def salt_table(num_partitions: int) -> list[int]:
    """Return for each partition the smallest int from 0 on that Spark's hash partitioning puts there.

    `repartition(n, expr)` sends a row to partition pmod(Murmur3(expr, seed 42), n). With this table any row
    can be sent to any partition, also by a Spark that has no `repartitionById` yet.
    """
    salts: dict[int, int] = {}
    salt = 0
    while len(salts) < num_partitions:
        salts.setdefault(mmh3.hash(pack("<i", salt), 42) % num_partitions, salt)
        salt += 1
    return [salts[partition] for partition in range(num_partitions)]


def _lane_hash(df: DataFrame, key: Column, profile: str | None) -> Column:
    """Return the hash by which a row gets its lane: that of its key, or of the whole row if it has no key.

    Args:
        df: the rows.
        key: the column of the serialized key.
        profile: the profile that the partition column notes, which says whether an empty key is a key; None
            if it notes none.
    """
    keyless = key.isNull()
    if profile is not None and find_profile(profile).empty == "unkeyed":
        keyless |= sf.length(key) == 0
    return sf.when(keyless, sf.xxhash64(*hashable(df))).otherwise(sf.xxhash64(key))


@dataclass(frozen=True)
class RowRule:
    """Compares the partition of each row with that of its key, by expressions in Spark's plan.

    Attributes:
        key: the column of the serialized key.
        rule: the rule that gives each key its partition.
    """

    key: Column
    rule: KeyRule

    def misplacement(self, value: Column, num_partitions: int) -> tuple[Column, Column]:
        """Return two columns: whether a row has another partition than its key, and the error's text.

        Args:
            value: the column of the partition.
            num_partitions: partition count of the topic.
        """
        profile = self.rule.profile.name
        expected = kafka_partition(self.key, num_partitions, profile=profile, nulls="null")
        wrong = ~value.eqNullSafe(expected)
        if self.rule.keyless:
            wrong &= expected.isNotNull()
        if self.rule.unplaced:
            wrong &= value.isNotNull()
        fault = sf.concat(
            sf.lit(error_text(RoutingError, "a row with key ")),
            sf.coalesce(
                sf.concat(sf.lit("'"), sf.substring(self.key.cast("string"), 1, 60), sf.lit("'")),
                sf.lit("null"),
            ),
            sf.lit(" has partition "),
            sf.coalesce(value.cast("string"), sf.lit("null")),
            sf.lit(f" of {num_partitions}, and profile '{profile}' puts this key into "),
            sf.coalesce(expected.cast("string"), sf.lit("none")),
            sf.lit(f": {self.rule.way_out(num_partitions)}"),
        )
        return wrong, fault


def _row_rule(df: DataFrame, key: Column | str, profile: str | None, notes: Mapping[str, Any]) -> RowRule:
    """Return the rule with which rows are compared.

    Args:
        df: the rows.
        key: the column of the serialized key, or its name.
        profile: the profile that is named or noted; None for neither.
        notes: the metadata of the partition column.

    Raises:
        ColumnError: there is no such key column, or it has neither text nor bytes.
    """
    if isinstance(key, str) and key not in df.columns:
        raise ColumnError(
            f"the DataFrame has no column {key!r}, only {', '.join(map(repr, df.columns))}, by which "
            "column 'partition' could be compared: name the column of the serialized key with key=..., or "
            f"give partition='{AS_IT_IS}' to lay rows out by the column unseen"
        )
    return RowRule(_key_column(df, key), profile_rule(profile, notes))


def _key_column(df: DataFrame, key: Column | str) -> Column:
    """Return the column of the key; ColumnError if there is none of this name, or it has no text or bytes."""
    if not isinstance(key, str):
        return key
    kind = _existing(df, key).dataType.simpleString()
    if kind not in TYPES["key"]:
        raise key_type_error(key, kind)
    return _column(key)


def hashable(df: DataFrame) -> tuple[Column, ...]:
    """Return the columns that Spark can hash: all but maps, variants, and types that contain one of these."""
    return tuple(_column(f.name) for f in df.schema.fields if not _UNHASHED.search(f.dataType.simpleString()))


def checked_partition(
    by: str, num_partitions: int, rule: RowRule | None = None, *, nulls: bool = False
) -> Column:
    """Return an integer column as an int column that checks its values.

    Args:
        by: name of the column with the partition. A task fails with RecordError at a value outside
            0 .. num_partitions - 1.
        num_partitions: partition count of the topic.
        rule: a task fails with RoutingError at a row that this rule does not fit; None for no such check.
        nulls: whether nulls are allowed; otherwise a task fails at a null, too.
    """
    value = _column(by)
    outside = sf.concat(
        sf.lit(error_text(RecordError, f"column '{by}' holds partition ")),
        sf.coalesce(value.cast("string"), sf.lit("null")),
        sf.lit(
            f", which a topic of {num_partitions} partitions (0 to {num_partitions - 1}) does not have. "
            f"Compute the column with kafka_partition(key, {num_partitions}), which gives keyless rows a "
            "partition too unless nulls='null'."
        ),
    )
    fits = (value >= 0) & (value < num_partitions)
    checked = sf.when(
        ~(fits | value.isNull() if nulls else sf.coalesce(fits, sf.lit(False))), sf.raise_error(outside)
    )
    if rule is not None:
        misplaced, fault = rule.misplacement(value, num_partitions)
        checked = checked.when(misplaced, sf.raise_error(fault))
    checked = checked.otherwise(value).cast("int")
    # `coalesce` tells Spark that the column is never null. Otherwise Spark filters nulls before a join, which
    # computes the column twice, and so hashes every key twice.
    return checked if nulls else sf.coalesce(checked, sf.lit(0))


def _partition_field(
    df: DataFrame, num_partitions: int, by: str, lanes: int, tasks: int | None
) -> StructField:
    """Check the arguments of `route` and the partition column's metadata, and return the column's field.

    Raises:
        InvalidPartitionCountError: a number is out of range, or `lanes` and `tasks` are both given.
        ColumnError: there is no such column, or it is not of an integer type.
        PartitionCountError: the column was computed for another partition count.
    """
    checked_partition_count(num_partitions)
    if lanes < 1 or num_partitions * lanes > MAX_PARTITIONS:
        raise InvalidPartitionCountError(
            f"lanes is {lanes}; give at least 1, and at most 2**31 - 1 lanes of all partitions together"
        )
    if tasks is not None and (lanes > 1 or not 1 <= tasks <= num_partitions):
        raise InvalidPartitionCountError(
            f"tasks is {tasks}; give 1 to {num_partitions}, a task for each partition at most, and no lanes: "
            "lanes are for more tasks than partitions, tasks for fewer"
        )
    if not isinstance(by, str):
        raise ColumnError(f"by is {by!r}; give the name of the column that holds the partition")
    field = _existing(df, by)
    if not isinstance(field.dataType, (ByteType, ShortType, IntegerType, LongType)):
        raise ColumnError(
            f"column {by!r} is of type {field.dataType.simpleString()}; a partition is an integer, "
            "as kafka_partition() gives it"
        )
    computed_for = field.metadata.get(PARTITIONS, num_partitions)
    if computed_for != num_partitions:
        raise PartitionCountError(
            f"column {by!r} was computed for {computed_for} partitions, and {num_partitions} are asked for: "
            f"compute it with kafka_partition(key, {num_partitions}), or route to {computed_for}"
        )
    return field


def _existing(df: DataFrame, name: str) -> StructField:
    """Return the field of this name; if there is none, raise a ColumnError that names the closest one."""
    fields = {field.name: field for field in df.schema.fields}
    if name not in fields:
        close = difflib.get_close_matches(name.lower(), {n.lower() for n in fields}, n=1)
        hint = next((f"; did you mean {n!r}?" for n in fields if [n.lower()] == close), "")
        raise ColumnError(f"the DataFrame has no column {name!r}, only {', '.join(map(repr, fields))}{hint}")
    return fields[name]


def _column(name: str) -> Column:
    """Return the column of exactly this name, which may contain dots and backquotes."""
    return sf.col(f"`{name.replace('`', '``')}`")
