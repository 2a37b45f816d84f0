"""Write a folder of Parquet files to a topic: each record in its key's partition, a key's records in order.

Start it again after a failure and it goes on with the files that were not finished: the checkpoint remembers.
A batch of files that failed half-way is sent again as a whole (at least once). Should the topic have got more
partitions meanwhile, it stops: half of a key's records would be in another partition than the rest.

    python examples/backfill.py flights/ --topic flights --servers localhost:9092 --order-by time --checkpoint
    state/

The files hold the columns key and value (string or binary) and those to order by; `timestamp` becomes the
records' timestamp. The topic's partition count is asked of the cluster, and kept beside the checkpoint.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from spark_integration import PartitionCountError, kafka_partition, partition_count, register, route

RECORD = ("key", "value", "headers", "timestamp", "partition")


def backfill(
    spark: SparkSession,
    folder: str,
    servers: str,
    topic: str,
    *,
    order_by: list[str],
    checkpoint: str,
    bytes_at_once: int = 1 << 30,
) -> None:
    """Write every file that the checkpoint does not know yet, oldest files first.

    Args:
        spark: a session.
        folder: where the Parquet files are.
        servers: the brokers.
        topic: an existing topic.
        order_by: columns that order a key's records; the files must follow the same order.
        checkpoint: folder that remembers what is done.
        bytes_at_once: files of so many bytes in a batch, one file at least. Spark sorts a batch, and what
            does not fit in memory spills to disk; a batch that fails is sent again.

    Raises:
        PartitionCountError: the topic has another partition count than when this backfill began.
    """
    num_partitions = partition_count(topic, {"bootstrap.servers": servers})
    keep_count(spark, f"{checkpoint}/partition-count", topic, num_partitions)

    def write(batch: DataFrame, _batch_id: int) -> None:
        register(batch.sparkSession)
        placed = batch.withColumn("partition", kafka_partition("key", num_partitions))
        routed = route(placed, num_partitions).sortWithinPartitions(*order_by)
        records = routed.select(*(column for column in RECORD if column in routed.columns))
        sink = records.write.format("copartition").option("kafka.bootstrap.servers", servers)
        sink.option("topic", topic).option("partitions", num_partitions).mode("append").save()

    schema = spark.read.parquet(folder).schema
    files = spark.readStream.schema(schema).option("maxBytesPerTrigger", bytes_at_once).parquet(folder)
    query = files.writeStream.foreachBatch(write).option("checkpointLocation", checkpoint)
    query.trigger(availableNow=True).start().awaitTermination()


def keep_count(spark: SparkSession, path: str, topic: str, count: int) -> None:
    """Write down the partition count at the first run, and hold later ones to it, wherever checkpoints live.

    Args:
        spark: a session.
        path: where it is kept.
        topic: what is written.
        count: its partition count now.

    Raises:
        PartitionCountError: it was another.
    """
    try:
        kept = [row.partitions for row in spark.read.schema("partitions int").json(path).collect()]
    except AnalysisException:  # there is no such path
        kept = []
    if not kept:
        spark.range(1).selectExpr(f"{count} AS partitions").write.mode("overwrite").json(path)
    elif kept != [count]:
        raise PartitionCountError(
            f"this backfill of topic {topic!r} began with {kept[0]} partitions, and the topic has {count} "
            f"now: keys that are in it lie by {kept[0]}, and more of their records would lie by {count}. "
            "Write all into a new topic, with a new checkpoint; or, if no key comes again, delete "
            f"{path!r} and go on"
        )


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--topic", required=True)
    parser.add_argument("--servers", required=True)
    parser.add_argument("--order-by", nargs="+", required=True)
    parser.add_argument("--checkpoint", required=True, type=Path)
    arguments = parser.parse_args()
    spark = SparkSession.builder.appName(f"backfill {arguments.topic}").getOrCreate()
    backfill(
        spark,
        arguments.folder,
        arguments.servers,
        arguments.topic,
        order_by=arguments.order_by,
        checkpoint=str(arguments.checkpoint.absolute()),
    )


if __name__ == "__main__":
    main()
