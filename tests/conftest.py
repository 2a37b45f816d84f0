"""Clusters that any test can ask for."""

import os
from collections.abc import Iterator

import pytest

from partitioning.testing.mock_cluster import MockCluster
from tests.support.broker import Broker, Kafka
from tests.support.encrypted import Encrypted, encrypted_broker
from tests.support.prerequisites import (
    pytest_collection_modifyitems,
    pytest_runtest_makereport,
    pytest_runtest_setup,
)
from tests.support.secured import Secured, secured_broker

__all__ = [
    "broker",
    "encrypted",
    "mock_cluster",
    "pytest_collection_modifyitems",
    "pytest_runtest_makereport",
    "pytest_runtest_setup",
    "secured",
]


@pytest.fixture(scope="session")
def broker() -> Iterator[Kafka]:
    """A real broker: the cluster at KAFKA_BOOTSTRAP_SERVERS where set, else one started here."""
    if servers := os.environ.get("KAFKA_BOOTSTRAP_SERVERS"):
        kafka = Kafka(servers)
        yield kafka
        kafka.delete_topics()
    else:
        with Broker() as own:
            yield Kafka(own.bootstrap_servers)


@pytest.fixture(scope="session")
def secured() -> Iterator[Secured]:
    """A real broker with users, always one of our own."""
    with secured_broker() as own:
        yield own


@pytest.fixture(scope="session")
def encrypted() -> Iterator[Encrypted]:
    """A real broker with TLS, always one of our own."""
    with encrypted_broker() as own:
        yield own


@pytest.fixture(scope="session")
def mock_cluster() -> Iterator[MockCluster]:
    """One mock cluster for all tests: give every topic a name of its own."""
    with MockCluster() as cluster:
        yield cluster
