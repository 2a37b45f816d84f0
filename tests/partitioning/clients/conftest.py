"""The clusters that a client is tried on, and strategies that say what they were asked."""

import uuid
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from partitioning.testing.mock_cluster import MockCluster

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python reads its schemas in an older way
    import kafka  # noqa: F401


@dataclass(frozen=True)
class Cluster:
    bootstrap_servers: str
    create_topic: Callable[[int], str]


@pytest.fixture(params=["mock", pytest.param("broker", marks=pytest.mark.broker)])
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """Both the mock cluster and the real broker, one after the other."""
    if request.param == "broker":
        kafka = request.getfixturevalue("broker")
        return Cluster(kafka.bootstrap_servers, kafka.create_topic)
    return mock(request.getfixturevalue("mock_cluster"))


@pytest.fixture
def mocked(mock_cluster: MockCluster) -> Cluster:
    """The mock cluster, where a real broker would show nothing more."""
    return mock(mock_cluster)


def mock(mock_cluster: MockCluster) -> Cluster:
    def create_topic(partitions: int) -> str:
        name = f"topic-{uuid.uuid4().hex[:12]}"
        mock_cluster.create_topic(name, partitions)
        return name

    return Cluster(mock_cluster.bootstrap_servers, create_topic)
