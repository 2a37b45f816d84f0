"""Read the old and the new topic, and ask the cluster where they begin and end.

Everything is read with `read_committed`, so records of aborted transactions are never seen. For the same
reason a partition ends where its first open transaction begins.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import NamedTuple

import confluent_kafka.admin  # only the module, because its classes cannot be pickled
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from copartition.reshape.switch import HEADER
from partitioning.clients.contact import quiet_client
from partitioning.errors import AccessError, ReshapeError
from spark_integration.reading.cluster import ANSWER_WITHIN_S, ClusterReader
from spark_integration.reading.options import EARLIEST, read_options
from spark_integration.session import register
from spark_integration.sinks.options import librdkafka_names

HEADERS = "array<struct<key:string,value:binary>>"
"""Spark's type of a record's headers."""

_ORIGIN = r"^[0-9]{1,9}:[0-9]{1,18}$"
"""Pattern of the header's value. Longer numbers, which no topic reaches, would not fit Spark's integers."""

_NONE = -1
"""An offset that no partition has; it stands for a partition without an offset."""

_COMPACTS, _STAMPS = "cleanup.policy", "message.timestamp.type"


class OffsetBounds(NamedTuple):
    """Names offsets of each partition of a topic: from `starts` up to, but not including, `ends`.

    Both map a partition to an offset, for the same partitions.
    """

    starts: Mapping[int, int]
    ends: Mapping[int, int]

    @property
    def size(self) -> int:
        """Number of offsets; markers of transactions and aborted records have offsets, too."""
        return sum(self.ends.values()) - sum(self.starts.values())


def reader_options(config: Mapping[str, str], topic: str) -> dict[str, str]:
    """Return the options with which `format("copartition")` reads committed records of a topic.

    Args:
        config: librdkafka's settings, "bootstrap.servers" at least.
        topic: name of the topic.

    Raises:
        InvalidConfigError: a setting is named as an option, with "kafka." before it.
    """
    settings = {f"kafka.{name}": value for name, value in librdkafka_names(config).items()}
    # `committed` comes last, so that it overrides the user's settings: a copy must not contain records of
    # aborted transactions.
    committed = {"kafka.isolation.level": "read_committed"}
    return {**settings, **committed, "subscribe": topic, "includeHeaders": "true"}


def read_topic(spark: SparkSession, config: Mapping[str, str], topic: str, bounds: OffsetBounds) -> DataFrame:
    """Return the committed records of a topic within bounds, in the columns of Spark's Kafka source.

    Args:
        spark: a session that knows the format (`register`).
        config: librdkafka's settings.
        topic: name of the topic.
        bounds: the offsets to read of each of the topic's partitions.
    """
    offsets = {
        name: json.dumps({topic: {str(partition): offset for partition, offset in side.items()}})
        for name, side in (("startingOffsets", bounds.starts), ("endingOffsets", bounds.ends))
    }
    return spark.read.format("copartition").options(**reader_options(config, topic), **offsets).load()


def topic_bounds(config: Mapping[str, str], topic: str) -> OffsetBounds:
    """Return where each partition of a topic begins and where its committed records end now.

    Raises:
        InvalidConfigError: librdkafka refuses the settings.
        UnknownTopicError: the cluster has no such topic.
        BrokerUnreachableError: no broker answers in time.
    """
    options = read_options(reader_options(config, topic), os.environ, EARLIEST)
    with ClusterReader(options.config) as cluster:
        places = cluster.places([topic])
        starts, ends = cluster.earliest(places), cluster.latest(places)
    return OffsetBounds(*({place[1]: side[place] for place in places} for side in (starts, ends)))


class TopicPair(NamedTuple):
    """Holds the bounds of the old and of the new topic, and whether at least one of them is compacted."""

    old: OffsetBounds
    new: OffsetBounds
    compacted: bool


def topic_pair(spark: SparkSession, config: Mapping[str, str], source: str, target: str) -> TopicPair:
    """Make the format known to a session, and return the bounds that both topics have now.

    Raises:
        AccessError: this user may not see whether the topics are compacted.
        MissingDependencyError: this Spark has no Python data sources, or confluent-kafka is missing.
        UnknownTopicError, BrokerUnreachableError, InvalidConfigError: as in `topic_bounds`.
    """
    register(spark)
    old, new = topic_bounds(config, source), topic_bounds(config, target)
    compacted = any("compact" in policy for policy in _settings(config, {source, target}, _COMPACTS).values())
    return TopicPair(old, new, compacted)


def check_keeps_times(config: Mapping[str, str], topic: str) -> None:
    """Raise ReshapeError if brokers would replace the timestamps of records that are written to a topic."""
    kept = _settings(config, {topic}, _STAMPS)[topic]
    if kept != "CreateTime":
        raise ReshapeError(
            f"topic {topic!r} has {_STAMPS}={kept}, so brokers would replace the timestamps of all copied "
            "records by the time of the copy: set it to CreateTime until the copy has ended"
        )


def _settings(config: Mapping[str, str], topics: set[str], name: str) -> dict[str, str]:
    """Return the value of one setting of each topic, by the topic's name.

    Args:
        config: librdkafka's settings for a reader.
        topics: the topics, at least one. They are a set, because librdkafka cannot read the answer to a
            request that names a topic twice.
        name: name of the setting.

    Raises:
        AccessError: this user may not see the settings.
    """
    options = read_options(reader_options(config, min(topics)), os.environ, EARLIEST)
    admin = quiet_client(confluent_kafka.admin.AdminClient, options.config, [])
    kinds = confluent_kafka.admin.ConfigResource.Type  # type: ignore[attr-defined]
    resources = [
        confluent_kafka.admin.ConfigResource(kinds.TOPIC, topic)  # type: ignore[attr-defined]
        for topic in sorted(topics)
    ]
    values = {}
    for resource, answer in admin.describe_configs(resources, request_timeout=ANSWER_WITHIN_S).items():
        try:
            values[resource.name] = str(answer.result()[name].value)
        except confluent_kafka.KafkaException as error:
            raise AccessError(
                f"the brokers do not show the settings of topic {resource.name!r} ({error.args[0].str()}), "
                f"of which {name} has to be known: allow this user DescribeConfigs on it"
            ) from error
    return values


def with_origin(headers: Column, partition: Column, offset: Column) -> Column:
    """Return the headers with one more at the end, which names the record's place in the old topic.

    Args:
        headers: the headers of the record; null if it has none.
        partition: the record's partition in the old topic.
        offset: the record's offset in that partition.
    """
    place = sf.concat_ws(":", partition.cast("string"), offset.cast("string")).cast("binary")
    origin = sf.array(sf.struct(sf.lit(HEADER).alias("key"), place.alias("value"))).cast(HEADERS)
    return sf.concat(_present(headers), origin)


def without_origin(headers: Column) -> Column:
    """Return the headers without the last one if the copy has added it; an empty array for null.

    If the old topic was itself a copy, its records have such a header, too. That one stays: only the last
    header is from this copy.
    """
    present = _present(headers)
    rest = sf.slice(present, sf.lit(1), sf.size(present) - 1)
    return sf.when(_last(headers)["key"] == HEADER, rest).otherwise(present)


def origin(headers: Column) -> Column:
    """Return the place in the old topic that the last header names, a struct of `partition` and `offset`.

    Null for a record that the copy did not write: its last header has another key, or names no place.
    """
    last = _last(headers)
    text = last["value"].cast("string")
    parts = sf.split(text, ":")
    place = sf.struct(
        parts[0].cast("int").alias("partition"),
        parts[1].cast("bigint").alias("offset"),
    )
    return sf.when((last["key"] == HEADER) & text.rlike(_ORIGIN), place)


def by_partition(offsets: Mapping[int, int], partition: Column) -> Column:
    """Return the offset of each row's partition, a bigint; null for a partition that `offsets` lacks.

    Args:
        offsets: partition -> offset.
        partition: the column with each row's partition.
    """
    # The table is one literal text, which Spark splits when it plans the query. An array of literals would
    # cost one call to the JVM for each partition.
    table = ",".join(str(offsets.get(number, _NONE)) for number in range(max(offsets, default=0) + 1))
    listed = sf.split(sf.lit(table), ",").cast("array<bigint>")
    return sf.nullif(sf.get(listed, partition), sf.lit(_NONE))


def _last(headers: Column) -> Column:
    """Return the last header; null if there is none."""
    # `try_element_at` is used, because `element_at` fails on an empty array in ANSI mode.
    return sf.try_element_at(headers, sf.lit(-1))


def _present(headers: Column) -> Column:
    return sf.coalesce(headers, sf.array().cast(HEADERS))
