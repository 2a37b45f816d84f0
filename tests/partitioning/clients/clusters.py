"""The clusters that a client is tried on."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from partitioning.testing.mock_cluster import MockCluster


@dataclass(frozen=True)
class Cluster:
    """A cluster, and how to get a new topic of so many partitions on it."""

    bootstrap_servers: str
    create_topic: Callable[[int], str]


def mock(mock_cluster: MockCluster) -> Cluster:
    """The mock cluster, which leaves topic names to the caller."""

    def create_topic(partitions: int) -> str:
        name = f"topic-{uuid.uuid4().hex[:12]}"
        mock_cluster.create_topic(name, partitions)
        return name

    return Cluster(mock_cluster.bootstrap_servers, create_topic)
