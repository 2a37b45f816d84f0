"""Clusters that any test can ask for."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from partitioning.testing.mock_cluster import MockCluster
from tests.support import prerequisites, second_tries, tiers
from tests.support.broker import Broker, Kafka
from tests.support.encrypted import Encrypted, encrypted_broker
from tests.support.secured import Secured, secured_broker
from tests.support.servers import OneOfEach


def pytest_addoption(parser: pytest.Parser) -> None:
    tiers.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    starts = {"broker": own_broker, "secured": secured_broker, "encrypted": encrypted_broker}
    config.pluginmanager.register(tiers, "tiers")
    config.pluginmanager.register(prerequisites, "prerequisites")
    config.pluginmanager.register(second_tries, "second tries")
    config.pluginmanager.register(OneOfEach(config, starts), "servers")
    if (
        config.pluginmanager.hasplugin("xdist")
        and config.getoption("tx")
        and not hasattr(config, "workerinput")
    ):
        from tests.support.schedule import Schedule  # pytest-xdist may not be installed

        config.pluginmanager.register(Schedule(), "schedule")


@contextmanager
def own_broker() -> Iterator[str]:
    """The address of a broker started here."""
    with Broker() as own:
        yield own.bootstrap_servers


@pytest.fixture(scope="session")
def broker(pytestconfig: pytest.Config) -> Iterator[Kafka]:
    """A real broker: the cluster at KAFKA_BOOTSTRAP_SERVERS where set, else one started for this run.

    All tests share it: topics and groups have names of their own.
    """
    if servers := os.environ.get("KAFKA_BOOTSTRAP_SERVERS"):
        kafka = Kafka(servers)
        yield kafka
        kafka.delete_topics()
    else:
        yield Kafka(pytestconfig.pluginmanager.get_plugin("servers").get("broker"))


@pytest.fixture(scope="session")
def secured(pytestconfig: pytest.Config) -> Secured:
    """A real broker with users, always one of our own."""
    return pytestconfig.pluginmanager.get_plugin("servers").get("secured")


@pytest.fixture(scope="session")
def encrypted(pytestconfig: pytest.Config) -> Encrypted:
    """A real broker with TLS, always one of our own."""
    return pytestconfig.pluginmanager.get_plugin("servers").get("encrypted")


@pytest.fixture(scope="session")
def mock_cluster() -> Iterator[MockCluster]:
    """One mock cluster for all tests of a worker: give every topic a name of its own."""
    with MockCluster() as cluster:
        yield cluster
