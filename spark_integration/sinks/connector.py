"""Check rows before they are written with Spark's own Kafka connector, which does not check them itself.

The connector writes at least once. The tasks of an executor share one producer, whose buffer holds 32 MiB
(`kafka.buffer.memory`).
"""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from spark_integration.columns import PARTITIONS
from spark_integration.errors import ColumnError
from spark_integration.routing import RowRule, checked_partition
from spark_integration.sinks.cluster import check_partition_count, partition_count
from spark_integration.sinks.placement import key_rule
from spark_integration.sinks.records import check_columns


def checked_for_topic(
    df: DataFrame,
    topic: str,
    config: Mapping[str, str],
    *,
    profile: str | None = None,
    partition: str | None = None,
) -> DataFrame:
    """Return the same rows after checks that `format("kafka")` does not make before it writes to a topic.

    The connector ignores a column that it does not know, such as `Partition`. It does not compare partitions
    with the topic's count: rows that were placed for too small a count are written to wrong partitions, and a
    partition that does not exist fails after a minute of waiting. It writes no timestamps.

    The cluster is asked once, when this is called. The rows are checked when they are written: a task fails
    at a partition that the topic does not have, and at a keyed row in another partition than the profile
    gives its key.

    >>> checked_for_topic(df.select("*", kafka_partition("key", 6)), "orders", config)
    Traceback (most recent call last):
    spark_integration.errors.PartitionCountError: ...

    Args:
        df: rows with the connector's columns: `value`, and if wanted `key`, `partition` and `headers`.
        topic: the topic to which they will be written.
        config: librdkafka's settings to reach the cluster, "bootstrap.servers" at least.
        profile: the profile whose rule places keys. By default the one that column `partition` was computed
            with, or else "java".
        partition: "as it is" accepts column `partition` whatever the keys are.

    Raises:
        ColumnError: a column is unknown, missing or of the wrong type.
        PartitionCountError: the partition column was computed for another count than the topic has.
        UnknownTopicError: the cluster has no such topic.
        BrokerUnreachableError: no broker answers within 10 seconds.
        InvalidConfigError: librdkafka refuses the settings, or `profile` and `partition` contradict each
            other or the column.
    """
    columns = {field.name: field.dataType.simpleString() for field in df.schema.fields}
    # The connector finds columns by their exact names and ignores all others, so a misspelt one is refused.
    check_columns(columns, topic=topic)
    if "timestamp" in columns:
        raise ColumnError(
            "Spark's Kafka connector writes no timestamps: leave the column out, or write with "
            "format('copartition')"
        )
    notes = df.schema["partition"].metadata if "partition" in columns else {}
    rule = key_rule(profile, partition, notes, columns)
    actual = partition_count(topic, config)
    if "partition" not in columns:
        return df
    check_partition_count(topic, actual, notes.get(PARTITIONS))
    compared = None if rule is None else RowRule(sf.col("key"), rule)
    # A null is allowed: it leaves the choice of the partition to the producer.
    return df.withColumn("partition", checked_partition("partition", actual, compared, nulls=True))
