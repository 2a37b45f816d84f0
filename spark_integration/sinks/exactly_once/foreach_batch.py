"""Exactly once in one call, for `foreachBatch` and for a DataFrame that nobody has routed."""

import os
from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from spark_integration.columns import AS_IT_IS, kafka_partition
from spark_integration.errors import ColumnError
from spark_integration.routing import hashable, route
from spark_integration.session import register
from spark_integration.sinks.exactly_once.driver import place_for
from spark_integration.sinks.exactly_once.target import target_of
from spark_integration.sinks.options import librdkafka_names, read_options
from spark_integration.sinks.placement import check_choice
from spark_integration.sinks.records import TYPES, check_columns


def write_exactly_once(
    df: DataFrame,
    version: int,
    *,
    topic: str,
    app_id: str,
    config: Mapping[str, str],
    order_by: Column | str | Sequence[Column | str] = (),
    tasks: int | None = None,
    profile: str | None = None,
    partition: str | None = None,
    first_version: int | None = None,
) -> None:
    """Place, route, sort and write the rows of one version, each once, whatever is run again.

    A version that is in already is computed once more, compared and not written; one that is in half goes on
    at the next record. So its rows must be the same each time, as those of a micro-batch are, which the
    checkpoint names: without rand(), the time of the day, or a join with what changes meanwhile. Their order
    need not be: in the topic the rows of a partition are in the order of `order_by`, and of the record's
    columns after that: only equal records change places.

    >>> def write(batch, batch_id):  # for `stream.writeStream.foreachBatch(write)`, with a checkpoint
    ...     write_exactly_once(batch, batch_id, topic="orders", app_id="shop", config=config)
    >>> write(df, 0), write(df, 0)  # nothing is written the second time
    (None, None)
    >>> spark.read.format("copartition").options(**config, subscribe="orders").load().count()
    100

    Args:
        df: rows with the columns of a record: value, and as wanted key, headers, timestamp, partition. More
            columns may be there to sort by; they are not written. Without a column `partition` rows are
            placed by their key, for as many partitions as the topic has. A version of which a part is in is
            finished on the partitions that it began with, also if the topic has grown since.
            A column `partition` is compared with the partition that the profile gives each key: drop the one
            that a Kafka source brought along, which is of another topic.
        version: its number, above that of the version before: in `foreachBatch` the batch's id.
        topic: the topic.
        app_id: who writes: one application, or one stream, by a name that outlives its checkpoint. The ledger
            of what is in is the consumer group `copartition/<app_id>`, which nobody else may use.
        config: librdkafka's producer settings, "bootstrap.servers" at least.
        order_by: what decides the order in which the records of a partition, and so of a key, are written: a
            column, or several.
        tasks: how many Spark tasks share the partitions, each whole in one of them; at most one for each
            partition. By default two for each core that Spark has now, and one for each partition under
            dynamic allocation, where waiting tasks are what brings more cores.
        profile: whose rule places keys; by default the one that column `partition` has noted, or else "java".
        partition: "as it is" writes each row to the partition that its column names, whatever its key is.
        first_version: the version that begins a ledger, whatever records are in the topic. Unless given,
            version 0 begins one, in partitions without records; any other version is refused where the
            ledger is missing, which after seven days without a version it is (`offsets.retention.minutes`).

    Raises:
        ColumnError: no column `key` to place rows by, and no `partition`.
        PartitionCountError: column `partition` was computed for another count than the topic has.
        ExactlyOnceError: a subclass says why the version cannot be written now.
        RoutingError, in a task: a key's partition is another than its row's column says.
        InvalidConfigError: a setting has no meaning, or `profile` and `partition` contradict each other.
        UnknownTopicError: the cluster has no such topic.
        BrokerUnreachableError: no broker answers, or it refuses us.
    """
    check_choice(profile, partition, df.columns)
    options = {
        **{f"kafka.{name}": value for name, value in librdkafka_names(config).items()},
        "topic": topic,
        "txnAppId": app_id,
        "txnVersion": str(version),
    }
    if first_version is not None:
        options["txnFirstVersion"] = str(first_version)
    # The count is not known yet.
    count = place_for(target_of(read_options(options, os.environ), 0, None, stream=False))
    if "partition" not in df.columns:
        if "key" not in df.columns:
            raise ColumnError("rows are placed by a column 'key' or 'partition', and have neither")
        df = df.select("*", kafka_partition("key", count, profile=profile or "java", spread_by=hashable(df)))
    elif partition is not None:
        options["partition"] = partition
    elif profile is not None:
        options["profile"] = profile
    # The topic is an option; a column of this name could say another one.
    written = [name for name in TYPES if name in df.columns and name != "topic"]
    check_columns({name: df.schema[name].dataType.simpleString() for name in written}, topic=topic)
    # The sink compares each row with its key, so the layout needs not to.
    shared = min(count, _two_a_core(df.sparkSession, count) if tasks is None else tasks)
    routed = route(df, count, tasks=shared, partition=AS_IT_IS)
    # The record's own columns come last in the order: rows that are equal in `order_by` must not change
    # places between two runs.
    columns = [order_by] if isinstance(order_by, str | Column) else order_by
    # A task writes one partition after the other.
    first = ["partition"] if shared < count else []
    ordered = routed.sortWithinPartitions(*first, *columns, *(sf.col(name) for name in written))
    register(df.sparkSession)
    writer = ordered.select(*written).write.format("copartition").options(**options)
    writer.option("partitions", count).option("tasks", shared).mode("append").save()


def _two_a_core(spark: SparkSession, partitions: int) -> int:
    """Return two tasks for each core that Spark has now, or `partitions` if it adds cores to waiting tasks.

    With two for each a core that was given light partitions goes on with others, and a task costs no more
    than 0.1 s of one.
    """
    if spark.conf.get("spark.dynamicAllocation.enabled", "false") == "true":
        return partitions
    # Spark cuts a range into a part for each core; the last one's number is asked of that part only. Neither
    # the number nor `defaultParallelism` can be had from a Connect session otherwise.
    (last,) = spark.range(1_000_000).select(sf.spark_partition_id()).tail(1)
    return 2 * (int(last[0]) + 1)
