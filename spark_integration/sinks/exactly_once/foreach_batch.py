"""Write exactly once in one call, for `foreachBatch` and for a DataFrame that was not routed before."""

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
from spark_integration.sinks.options import librdkafka_names, read_sink_options
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
    """Place, route, sort and write the rows of one version, each once even if the version is written again.

    If the topic has the version already, its rows are computed again and compared, and nothing is written. If
    the topic has a part of it, the write continues with the next record. So the rows must be the same each
    time they are computed. The rows of a micro-batch are the same, because the checkpoint names their
    offsets, unless they depend on rand(), on the time, or on a join with data that changes. Their order may
    differ: each partition's rows are sorted by `order_by` and then by the record's own columns, before they
    are written.

    >>> def write(batch, batch_id):  # for `stream.writeStream.foreachBatch(write)`, with a checkpoint
    ...     write_exactly_once(batch, batch_id, topic="orders", app_id="shop", config=config)
    >>> write(df, 0), write(df, 0)  # nothing is written the second time
    (None, None)
    >>> spark.read.format("copartition").options(**config, subscribe="orders").load().count()
    100

    Args:
        df: rows with the columns of a record: `value`, and if wanted `key`, `headers`, `timestamp` and
            `partition`. Further columns may be there to sort by; they are not written. Without a column
            `partition` rows are placed by their key, for as many partitions as the topic has. But a version
            that is written in part is finished on the partitions that it began with, even if the topic has
            grown since. A column `partition` is compared with the partition that the profile gives each key.
            Drop a column `partition` that a Kafka source brought along: it is that of another topic.
        version: the version's number, higher than that of the version before; in `foreachBatch` the batch id.
        topic: name of the topic, which must exist.
        app_id: a name of the application or stream that writes, which stays the same if its checkpoint is
            lost. The ledger is the consumer group `copartition/<app_id>`, which no other program may use.
        config: librdkafka's producer settings, "bootstrap.servers" at least.
        order_by: the column or columns by which the records of a partition, and so of a key, are sorted.
        tasks: number of Spark tasks that write, at most one for each partition. A partition is always written
            by one task alone. By default two for each core that Spark has now; with dynamic allocation one
            for each partition, because Spark adds cores only if tasks wait.
        profile: the profile whose rule places keys. By default the one that column `partition` was computed
            with, or else "java".
        partition: "as it is" writes each row to the partition that its column names, whatever its key is.
        first_version: the version that may begin a ledger, whatever records are in the topic. If None,
            version 0 may begin one, in partitions without records, and any other version is refused if the
            ledger is missing. Brokers delete a ledger after seven days without a new version
            (`offsets.retention.minutes`).

    Raises:
        ColumnError: the rows have neither a column `key` nor a column `partition` to place them by.
        PartitionCountError: column `partition` was computed for another count than the topic has.
        ExactlyOnceError: a subclass says why the version cannot be written now.
        RoutingError: a row is in another partition than the profile gives its key; raised in a task.
        InvalidConfigError: a setting is unknown or has no valid value, or `profile` and `partition`
            contradict each other.
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
    # The count 0 is a stand-in: `place_for` returns the count for which the rows have to be placed.
    count = place_for(target_of(read_sink_options(options, os.environ), 0, None, stream=False))
    if "partition" not in df.columns:
        if "key" not in df.columns:
            raise ColumnError("rows are placed by a column 'key' or 'partition', and have neither")
        df = df.select("*", kafka_partition("key", count, profile=profile or "java", spread_by=hashable(df)))
    elif partition is not None:
        options["partition"] = partition
    elif profile is not None:
        options["profile"] = profile
    # The topic is given as an option. A column `topic` is left out, because it could name another one.
    written = [name for name in TYPES if name in df.columns and name != "topic"]
    check_columns({name: df.schema[name].dataType.simpleString() for name in written}, topic=topic)
    # `route` gets AS_IT_IS, which compares nothing: the sink compares each row's partition with its key.
    shared = min(count, _two_a_core(df.sparkSession, count) if tasks is None else tasks)
    routed = route(df, count, tasks=shared, partition=AS_IT_IS)
    # Rows that are equal in `order_by` must not change places between two runs, so the record's own columns
    # follow in the order. Rows that are equal in these, too, are the same record.
    columns = [order_by] if isinstance(order_by, str | Column) else order_by
    # A task with several partitions needs its rows sorted by partition, see `write_task`.
    first = ["partition"] if shared < count else []
    ordered = routed.sortWithinPartitions(*first, *columns, *(sf.col(name) for name in written))
    register(df.sparkSession)
    writer = ordered.select(*written).write.format("copartition").options(**options)
    writer.option("partitions", count).option("tasks", shared).mode("append").save()


def _two_a_core(spark: SparkSession, partitions: int) -> int:
    """Return twice the number of cores that Spark has now; `partitions` if it allocates cores dynamically.

    With two tasks for each core, a core whose task had little to write goes on with another. A task costs
    at most 0.1 s of a core.
    """
    if spark.conf.get("spark.dynamicAllocation.enabled", "false") == "true":
        return partitions
    # A Connect session offers no `defaultParallelism`. But Spark cuts a range into one part for each core, so
    # the number of the last part tells how many cores there are. `tail` runs that part only.
    (last,) = spark.range(1_000_000).select(sf.spark_partition_id()).tail(1)
    return 2 * (int(last[0]) + 1)
