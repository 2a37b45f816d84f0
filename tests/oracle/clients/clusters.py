"""Clusters with the topics that a client is to write to."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from confluent_kafka.admin import AdminClient, NewTopic

from partitioning.testing.mock_cluster import MockCluster
from tests.support.broker import Broker

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@contextmanager
def mock_cluster(topics: Mapping[str, int]) -> Iterator[str]:
    """librdkafka's mock cluster with these topics and partition counts; its bootstrap servers."""
    with MockCluster() as cluster:
        for name, partitions in topics.items():
            cluster.create_topic(name, partitions)
        yield cluster.bootstrap_servers


@contextmanager
def real_cluster(topics: Mapping[str, int]) -> Iterator[str]:
    """The same on a real broker, for clients that do not accept the mock's ApiVersions answer."""
    with Broker() as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
        made = admin.create_topics([NewTopic(name, partitions, 1) for name, partitions in topics.items()])
        for created in made.values():
            created.result(60)
        yield broker.bootstrap_servers
