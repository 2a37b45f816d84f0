"""Clusters that any test can ask for.

confluent-kafka is imported where a cluster is asked for: tests of the core run without it.
"""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from partitioning.testing.mock_cluster import MockCluster
from tests.support import prerequisites, schedule, second_tries, tiers
from tests.support.servers import OneOfEach

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.broker import Kafka
    from tests.support.encrypted import Encrypted
    from tests.support.secured import Secured


def pytest_addoption(parser: pytest.Parser) -> None:
    tiers.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    # Each Spark that a test starts ends before Java's second compiler would pay: a quarter of its CPU time.
    os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    starts = {"broker": own_broker, "secured": _secured_broker, "encrypted": _encrypted_broker}
    config.pluginmanager.register(tiers, "tiers")
    config.pluginmanager.register(prerequisites, "prerequisites")
    config.pluginmanager.register(second_tries, "second tries")
    config.pluginmanager.register(schedule, "schedule")
    if tiers.tier() != "quick":  # where no test may ask for one
        config.pluginmanager.register(OneOfEach(config, starts), "servers")


@contextmanager
def own_broker() -> Iterator[str]:
    """The address of a broker started here."""
    from tests.support.broker import Broker

    with Broker() as own:
        yield own.bootstrap_servers


def _secured_broker() -> AbstractContextManager[Any]:
    from tests.support.secured import secured_broker

    return secured_broker()


def _encrypted_broker() -> AbstractContextManager[Any]:
    from tests.support.encrypted import encrypted_broker

    return encrypted_broker()


@pytest.fixture(scope="session", autouse=True)
def _no_folders_of_the_fuzzer_left() -> Iterator[None]:
    """Remove them at the end: a worker may end without what Python does at an exit."""
    yield
    for name in [name for name in sys.modules if name.startswith("tools.fuzz.")]:
        if folder := getattr(sys.modules[name], "FOLDER", None):
            folder.cleanup()


@pytest.fixture(scope="session")
def broker(pytestconfig: pytest.Config) -> Iterator[Kafka]:
    """A real broker: the cluster at KAFKA_BOOTSTRAP_SERVERS where set, else one started for this run.

    All tests share it: topics and groups have names of their own.
    """
    from tests.support.broker import Kafka

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
