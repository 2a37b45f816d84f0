"""Producers under test."""

from collections.abc import Callable

from confluent_kafka import KafkaError, Message

from partitioning.clients.confluent import PartitioningProducer
from partitioning.interface import Partitioner
from tests.partitioning.clients.clusters import Cluster
from tests.partitioning.clients.strategies import Strategy, last
from tests.support.broker import Kafka
from tests.support.waiting import GENEROUS_S


def surprise(error: KafkaError | None, message: Message) -> None:
    assert error is None, f"partition {message.partition()}: {error}"


def producer_for(
    cluster: Cluster | Kafka,
    partitioner: str | Partitioner,
    on_delivery: Callable[[KafkaError | None, Message], None] = surprise,
    max_block_ms: int = round(GENEROUS_S * 1000),
    **config: object,
) -> PartitioningProducer:
    options = {name.replace("_", "."): value for name, value in config.items()}
    return PartitioningProducer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "log_level": 0,
            "on_delivery": on_delivery,
            **options,
        },
        partitioner=partitioner,
        max_block_ms=max_block_ms,
    )


def unwatched_producer(cluster: Cluster, *, only_errors: bool = False) -> PartitioningProducer:
    config = {
        "bootstrap.servers": cluster.bootstrap_servers,
        "log_level": 0,
        "delivery.report.only.error": only_errors,
    }
    return PartitioningProducer(config, partitioner=Strategy(last))
