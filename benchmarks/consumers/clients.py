"""The clients: how a consumer's process of each is started, and what it calls librdkafka's settings."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support import jars
from tests.support.broker import POM

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
STRATEGY = "partition.assignment.strategy"
METADATA_AGE = {"topic.metadata.refresh.interval.ms": "metadata.max.age.ms"}
JAVA_OPTIONS = [
    "-Xmx96m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
]


@dataclass(frozen=True, slots=True)
class Client:
    """A client library.

    Attributes:
        name: what it is called in tables.
        command: how a process is started.
        names: its names of settings, where librdkafka has others.
        strategies: likewise of assignors.
    """

    name: str
    command: Callable[[], list[str]]
    names: dict[str, str] = field(default_factory=dict)
    strategies: dict[str, str] = field(default_factory=dict)

    def own_names(self, config: dict[str, str | int]) -> dict[str, str | int]:
        """A configuration in librdkafka's words, in this client's."""
        named = {self.names.get(name, name): value for name, value in config.items()}
        if (strategy := named.get(STRATEGY)) is not None:
            names = str(strategy).split(",")
            named[STRATEGY] = ",".join(self.strategies.get(name, name) for name in names)
        return named


def _java() -> list[str]:
    return [
        "java",
        *JAVA_OPTIONS,
        "-cp",
        jars.class_path("consumer", POM, [HERE / "Consumer.java"]),
        "Consumer",
    ]


LIBRDKAFKA = Client("librdkafka", lambda: [sys.executable, str(HERE / "consumer.py")])

JAVA = Client(
    "java",
    _java,
    METADATA_AGE,
    {
        name: f"org.apache.kafka.clients.consumer.{class_name}"
        for name, class_name in {
            "range": "RangeAssignor",
            "roundrobin": "RoundRobinAssignor",
            "sticky": "StickyAssignor",
            "cooperative-sticky": "CooperativeStickyAssignor",
        }.items()
    },
)

KAFKA_PYTHON = Client(
    "kafka-python",
    lambda: [sys.executable, "-m", "benchmarks.consumers.consumer_kafka_python"],
    METADATA_AGE,
)

AIOKAFKA = Client(
    "aiokafka", lambda: [sys.executable, "-m", "benchmarks.consumers.consumer_aiokafka"], METADATA_AGE
)
