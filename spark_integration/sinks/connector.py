"""Writing with Spark's own Kafka connector: what it does not check, checked before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_integration.columns import PARTITIONS
from spark_integration.errors import ColumnError, PartitionCountError
from spark_integration.routing import checked_partition
from spark_integration.sinks.cluster import partition_count
from spark_integration.sinks.records import check_columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame


def checked_for_topic(df: DataFrame, topic: str, config: Mapping[str, str]) -> DataFrame:
    """The same rows, fit for `format("kafka")` and this topic.

    The connector itself ignores a column it does not know, such as `Partition`, never compares partitions
    with the topic's count (too small a count is silently wrong, too large a one fails after a minute of
    waiting), and has no timestamp column. Asks the cluster once, now; a partition out of range fails its
    task.

    Args:
        df: rows with the connector's columns: value, and as wanted key, partition, headers.
        topic: the topic they will be written to.
        config: librdkafka's settings to reach the cluster with, "bootstrap.servers" at least.

    Raises:
        ColumnError: a column is unknown, missing or of the wrong type.
        PartitionCountError: the partition column was computed for another count than the topic has.
        UnknownTopicError: the cluster has no such topic.
        BrokerUnreachableError: no broker answers within 10 seconds.
        SinkConfigError: librdkafka refuses the settings.
    """
    columns = {field.name: field.dataType.simpleString() for field in df.schema.fields}
    check_columns(columns, topic=topic)
    if "timestamp" in columns:
        raise ColumnError(
            "Spark's Kafka connector writes no timestamps: leave the column out, or write with "
            "format('copartition')"
        )
    actual = partition_count(topic, config)
    if "partition" not in columns:
        return df
    computed_for = df.schema["partition"].metadata.get(PARTITIONS, actual)
    if computed_for != actual:
        raise PartitionCountError(
            f"column 'partition' was computed for {computed_for} partitions, and topic {topic!r} has "
            f"{actual}: compute it with kafka_partition(key, {actual})"
        )
    # A null leaves the choice to the producer.
    return df.withColumn("partition", checked_partition("partition", actual, nulls=True))
