"""Where the demo writes: KAFKA_BOOTSTRAP_SERVERS where set, else a mock cluster inside this process."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from partitioning.testing.mock_cluster import MockCluster


class Cluster(Protocol):
    """A Kafka cluster on which the demo may create topics."""

    bootstrap_servers: str

    def create_topic(self, name: str, partitions: int) -> None: ...


@dataclass
class RealCluster:
    """A cluster of the user's; every topic gets a name of its own and is removed at the end."""

    bootstrap_servers: str

    def __post_init__(self) -> None:
        self._admin = AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0})
        try:
            self._admin.list_topics(timeout=10)
        except KafkaException as error:
            raise ConnectionError(
                f"no broker at KAFKA_BOOTSTRAP_SERVERS={self.bootstrap_servers} answered within 10 s: "
                "start it, correct the address, or unset the variable to use the embedded cluster"
            ) from error
        self._created: list[str] = []

    def create_topic(self, name: str, partitions: int) -> None:
        self._admin.create_topics([NewTopic(name, partitions, -1)])[name].result(30)
        self._created.append(name)

    def close(self) -> None:
        for done in self._admin.delete_topics(self._created).values() if self._created else ():
            done.result(30)


@contextmanager
def cluster() -> Iterator[Cluster]:
    """The cluster the environment names, or the embedded one."""
    if servers := os.environ.get("KAFKA_BOOTSTRAP_SERVERS"):
        real = RealCluster(servers)
        try:
            yield real
        finally:
            real.close()
    else:
        with MockCluster() as mock:
            yield mock


def topic_name(stem: str) -> str:
    """A topic name that no earlier run has used."""
    return f"{stem}-{uuid.uuid4().hex[:8]}"
