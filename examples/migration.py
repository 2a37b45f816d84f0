"""Copy a topic into one with another partition count: read, re-route, write, audit both.

A topic that merely grows leaves a key's old records where they were. This writes all of them to a new topic,
each key in one partition, its records in their old order, with their headers and timestamps.

    python examples/migration.py orders orders-48 --servers localhost:9092 --counts 12 48

Both topics exist. `--counts` are partition counts that the old topic may have had.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from spark_integration import audit, audit_verdict, kafka_partition, partition_count, register, route


@dataclass(frozen=True)
class Migration:
    """What was found before and after."""

    before: str
    after: str
    read: int
    written: int


def migrate(spark: SparkSession, servers: str, source: str, target: str, counts: list[int]) -> Migration:
    """Copy every record of `source` into the empty topic `target`.

    Args:
        spark: a session.
        servers: the brokers.
        source: topic to read.
        target: topic to write; it has the new partition count.
        counts: partition counts that `source` may have had.
    """
    register(spark)
    num_partitions = partition_count(target, {"bootstrap.servers": servers})
    records = read(spark, servers, source)
    audited = audit(records, counts=counts).cache()
    # A key that changed its partition when the topic grew is in order by time only.
    grew = audited.select("num_partitions").distinct().count() > 1
    order = ["timestamp", "offset"] if grew else ["offset"]

    placed = records.withColumn("partition", kafka_partition("key", num_partitions))
    routed = route(placed, num_partitions).sortWithinPartitions(*order)
    (
        routed.select("key", "value", "headers", "timestamp", "partition")
        .write.format("copartition")
        .option("kafka.bootstrap.servers", servers)
        .option("topic", target)
        .option("partitions", num_partitions)
        .mode("append")
        .save()
    )
    copied = read(spark, servers, target)
    return Migration(
        before=audit_verdict(audited),
        after=audit_verdict(audit(copied, counts=[num_partitions])),
        read=records.count(),
        written=copied.count(),
    )


def read(spark: SparkSession, servers: str, topic: str) -> DataFrame:
    """Every record of a topic."""
    source = spark.read.format("copartition").option("kafka.bootstrap.servers", servers)
    return source.option("subscribe", topic).option("includeHeaders", "true").load()


def main() -> None:
    """Read the command line, run, and print both audits."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--servers", required=True)
    parser.add_argument("--counts", type=int, nargs="+", required=True)
    arguments = parser.parse_args()
    spark = SparkSession.builder.appName("migration").getOrCreate()
    done = migrate(spark, arguments.servers, arguments.source, arguments.target, arguments.counts)
    print(f"Before. {done.before}\n\nAfter. {done.after}\n\n{done.read:,} read, {done.written:,} written.")
    if done.read != done.written:
        raise SystemExit("The topics differ: was either written meanwhile, or the migration run twice?")


if __name__ == "__main__":
    main()
