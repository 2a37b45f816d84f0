"""Ask the real clients again: `python -m tests.oracle.clients.regenerate [client ...]`; all by default.

The files come out the same, byte for byte, until a client's version or the questions change.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from confluent_kafka.admin import AdminClient, NewTopic

from partitioning.testing.mock_cluster import MockCluster
from tests.oracle.clients import programs
from tests.oracle.clients.keys import PARTITION_COUNTS
from tests.oracle.clients.placing import place, write_keys
from tests.oracle.clients.strategies import write_strategies
from tests.support.broker import Broker

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.oracle.clients.programs import Command


def place_by_producing(command: Command) -> None:
    """Place keys by producing to topics `keys-<partition count>` of a mock cluster."""
    with MockCluster() as cluster:
        for count in PARTITION_COUNTS:
            cluster.create_topic(f"keys-{count}", count)
        place(command, KAFKA_BOOTSTRAP_SERVERS=cluster.bootstrap_servers)


def place_by_really_producing(command: Command) -> None:
    """The same on a real broker: @platformatic/kafka does not accept the mock's ApiVersions answer."""
    with Broker() as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
        topics = [NewTopic(f"keys-{count}", count, 1) for count in PARTITION_COUNTS]
        for created in admin.create_topics(topics).values():
            created.result(60)
        place(command, KAFKA_BOOTSTRAP_SERVERS=broker.bootstrap_servers)


CLIENTS: dict[str, Callable[[], None]] = {
    "java": lambda: place(programs.java("current", "PlaceKeys")),
    "strategies": write_strategies,
    "pulsar-java": lambda: place(programs.java("pulsar", "PlaceKeys"), text=True),
    "pulsar-cpp": lambda: place(programs.python_apart("pulsar_cpp")),
    "go": lambda: place(programs.go()),
    "node": lambda: place_by_really_producing(programs.node()),
    "librdkafka": lambda: place_by_producing(programs.python("librdkafka")),
    "quix": lambda: place_by_producing(programs.python_apart("quix")),
    "pure-python": lambda: place(programs.python("pure_python")),
    "clickhouse": lambda: place(programs.python_apart("clickhouse")),
}


def main() -> None:
    """Regenerate what the command line names."""
    chosen = sys.argv[1:] or list(CLIENTS)
    unknown = [client for client in chosen if client not in CLIENTS]
    if unknown:
        sys.exit(f"no such client: {', '.join(unknown)}; there are: {', '.join(CLIENTS)}")
    write_keys()
    for client in chosen:
        sys.stderr.write(f"{client} ...\n")
        CLIENTS[client]()


if __name__ == "__main__":
    main()
