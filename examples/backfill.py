"""Write a folder of Parquet files to a topic: each record in its key's partition, a key's records in order.

Start it again after a failure and it goes on with the files that were not finished: the checkpoint remembers.
A batch of files that failed half-way is sent again as a whole (at least once).

    python examples/backfill.py flights/ --topic flights --servers localhost:9092 --order-by time --checkpoint
    state/

The files hold the columns key and value (string or binary) and those to order by; `timestamp` becomes the
records' timestamp. The topic's partition count is asked of the cluster.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from spark_integration import kafka_partition, partition_count, register, route

RECORD = ("key", "value", "headers", "timestamp", "partition")


def backfill(
    spark: SparkSession,
    folder: str,
    servers: str,
    topic: str,
    *,
    order_by: list[str],
    checkpoint: str,
    files_at_once: int = 8,
) -> None:
    """Write every file that the checkpoint does not know yet, oldest files first.

    Args:
        spark: a session.
        folder: where the Parquet files are.
        servers: the brokers.
        topic: an existing topic.
        order_by: columns that order a key's records; the files must follow the same order.
        checkpoint: folder that remembers what is done.
        files_at_once: files in a batch.
    """
    num_partitions = partition_count(topic, {"bootstrap.servers": servers})

    def write(batch: DataFrame, _batch_id: int) -> None:
        register(batch.sparkSession)
        placed = batch.withColumn("partition", kafka_partition("key", num_partitions))
        routed = route(placed, num_partitions).sortWithinPartitions(*order_by)
        records = routed.select(*(column for column in RECORD if column in routed.columns))
        sink = records.write.format("copartition").option("kafka.bootstrap.servers", servers)
        sink.option("topic", topic).option("partitions", num_partitions).mode("append").save()

    schema = spark.read.parquet(folder).schema
    files = spark.readStream.schema(schema).option("maxFilesPerTrigger", files_at_once).parquet(folder)
    query = files.writeStream.foreachBatch(write).option("checkpointLocation", checkpoint)
    query.trigger(availableNow=True).start().awaitTermination()


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
