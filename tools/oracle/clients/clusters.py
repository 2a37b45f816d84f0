"""Clusters with the topics that a client is to write to."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from partitioning.testing.mock_cluster import MockCluster
from tests.support.broker import Broker

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

START_SECONDS = 60


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
            created.result(START_SECONDS)
        _wait_until_up(admin, topics)
        yield broker.bootstrap_servers


def _wait_until_up(admin: AdminClient, topics: Mapping[str, int]) -> None:
    """Wait until every partition answers for itself: metadata names its leader before it is open."""
    earliest = OffsetSpec.earliest()
    partitions = [TopicPartition(name, number) for name, count in topics.items() for number in range(count)]
    deadline = time.monotonic() + START_SECONDS
    while True:
        answers = admin.list_offsets(dict.fromkeys(partitions, earliest), request_timeout=START_SECONDS)
        try:
            for answer in answers.values():
                answer.result()
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return
