"""A version's rows and where they go, for tests that call a task's writing themselves."""

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from partitioning.clients.ledger import Entry, entries, ledger_group
from spark_integration.sinks.exactly_once.driver import look_up
from spark_integration.sinks.exactly_once.target import Target, target_of
from spark_integration.sinks.options import read_sink_options


def target(servers: str, topic: str, version: int = 0, app_id: str | None = None, **settings: str) -> Target:
    """Version 0 of a new application, on its way to an existing topic."""
    given = {
        "bootstrap.servers": servers,
        "topic": topic,
        "txnAppId": app_id or uuid.uuid4().hex,
        "txnVersion": str(version),
        **settings,
    }
    found = look_up(target_of(read_sink_options(given, {}), 1, None, stream=False))
    return replace(found, partitions=found.actual)


def next_version(before: Target) -> Target:
    """The version after."""
    return replace(before, version=before.version + 1)


def batches(values: Sequence[int], partition: int = 0, size: int = 100) -> Iterator[pa.RecordBatch]:
    """Rows with these values, so many to a batch."""
    for first in range(0, len(values), size):
        some = values[first : first + size]
        yield pa.record_batch(
            {
                "value": pa.array([str(value).encode() for value in some]),
                "partition": pa.array([partition] * len(some), pa.int32()),
            }
        )


def ledger(of: Target, partition: int = 0) -> Entry | None:
    """What the ledger says."""
    consumer = Consumer(
        {"bootstrap.servers": of.config["bootstrap.servers"], "group.id": ledger_group(of.app_id)}
    )
    try:
        return entries(consumer.committed([TopicPartition(of.topic, partition)], 10))[partition]
    finally:
        consumer.close()


def forget(of: Target) -> None:
    """Have the cluster lose the ledger, as it does by itself after `offsets.retention.minutes`."""
    admin = AdminClient({"bootstrap.servers": of.config["bootstrap.servers"]})
    admin.delete_consumer_groups([ledger_group(of.app_id)])[ledger_group(of.app_id)].result(30)
