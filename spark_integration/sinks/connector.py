"""Writing with Spark's own Kafka connector: what it does not check, checked before.

The connector is at least once. The tasks of an executor share a producer, whose buffer holds 32 MiB
(`kafka.buffer.memory`).
"""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from spark_integration.columns import PARTITIONS
from spark_integration.errors import ColumnError
from spark_integration.routing import RowRule, checked_partition
from spark_integration.sinks.cluster import check_count, partition_count
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
    """Return the same rows, fit for `format("kafka")` and this topic.

    The connector itself ignores a column it does not know, such as `Partition`, never compares partitions
    with the topic's count (too small a count is silently wrong, too large a one fails after a minute of
    waiting), and has no timestamp column. Asks the cluster once, now. A task fails on a partition that the
    topic does not have, and on the first keyed row that is elsewhere than the profile puts its key.

    >>> checked_for_topic(df.select("*", kafka_partition("key", 6)), "orders", config)
    Traceback (most recent call last):
    spark_integration.errors.PartitionCountError: ...

    Args:
        df: rows with the connector's columns: value, and as wanted key, partition, headers.
        topic: the topic they will be written to.
        config: librdkafka's settings to reach the cluster with, "bootstrap.servers" at least.
        profile: whose rule places keys; by default the one that the column has noted, or else "java".
        partition: "as it is" takes column `partition` whatever the keys are.

    Raises:
        ColumnError: a column is unknown, missing or of the wrong type.
        PartitionCountError: the partition column was computed for another count than the topic has.
        UnknownTopicError: the cluster has no such topic.
        BrokerUnreachableError: no broker answers within 10 seconds.
        InvalidConfigError: librdkafka refuses the settings, or `profile` and `partition` contradict each
            other or the column.
    """
    columns = {field.name: field.dataType.simpleString() for field in df.schema.fields}
    # The connector finds columns by their exact names and ignores all others.
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
    check_count(topic, actual, notes.get(PARTITIONS))
    compared = None if rule is None else RowRule(sf.col("key"), rule)
    # A null leaves the choice to the producer.
    return df.withColumn("partition", checked_partition("partition", actual, compared, nulls=True))
