"""Ask the real clients again: `python -m tools.oracle.clients.regenerate [client ...]`; all by default.

The files come out the same, byte for byte, until a client's version or the questions change.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tools.oracle.clients import programs
from tools.oracle.clients.clusters import mock_cluster, real_cluster
from tools.oracle.clients.keys import PARTITION_COUNTS
from tools.oracle.clients.placing import place, write_keys
from tools.oracle.clients.strategies import write_strategies

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from tools.oracle.clients.programs import Command


def place_on(cluster: Callable[[dict[str, int]], AbstractContextManager[str]], command: Command) -> None:
    """Place keys by producing to topics `keys-<partition count>`."""
    with cluster({f"keys-{count}": count for count in PARTITION_COUNTS}) as bootstrap_servers:
        place(command, KAFKA_BOOTSTRAP_SERVERS=bootstrap_servers)


CLIENTS: dict[str, Callable[[], None]] = {
    "java": lambda: place(programs.java("current", "PlaceKeys")),
    "strategies": write_strategies,
    "pulsar-java": lambda: place(programs.java("pulsar", "PlaceKeys"), text=True),
    "pulsar-cpp": lambda: place(programs.python_apart("pulsar_cpp")),
    "go": lambda: place(programs.go()),
    "node": lambda: place_on(real_cluster, programs.node()),
    "librdkafka": lambda: place_on(mock_cluster, programs.python("librdkafka")),
    "quix": lambda: place_on(mock_cluster, programs.python_apart("quix")),
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
