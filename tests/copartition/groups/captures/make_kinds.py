"""Take the captures of share groups and Streams groups in this folder from a broker of our own, Kafka 4.4.0.

    python -m tests.copartition.groups.captures.make_kinds

Maven fetches the broker, the tools and Kafka Streams. The groups are "shared" (three members of one topic)
and "words" (two instances that count); "billing" beside them is a consumer group.
"""

from __future__ import annotations

import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

from confluent_kafka import ShareConsumer

from tests.copartition.groups.captures.make import POM
from tests.copartition.groups.worker import Worker
from tests.support.broker import Broker, Kafka
from tests.support.jars import cache_folder, fetch
from tests.support.waiting import wait_for

HERE = Path(__file__).parent
VERSION = "4.4.0"
SETTINGS = """
group.share.min.session.timeout.ms=1000
group.streams.initial.rebalance.delay.ms=0
"""
TOOLS = "org.apache.kafka.tools"
SHARE = f"{TOOLS}.consumer.group.ShareGroupCommand"
STREAMS = f"{TOOLS}.streams.StreamsGroupCommand"
KINDS = {
    "share-offsets": (SHARE, "--describe --group shared"),
    "share-members": (SHARE, "--describe --group shared --members"),
    "share-members-verbose": (SHARE, "--describe --group shared --members --verbose"),
    "share-state": (SHARE, "--describe --group shared --state"),
    "share-state-verbose": (SHARE, "--describe --group shared --state --verbose"),
    "streams-offsets": (STREAMS, "--describe --group words"),
    "streams-offsets-verbose": (STREAMS, "--describe --group words --verbose"),
    "streams-members": (STREAMS, "--describe --group words --members"),
    "streams-members-verbose": (STREAMS, "--describe --group words --members --verbose"),
    "streams-state": (STREAMS, "--describe --group words --state"),
    "streams-state-verbose": (STREAMS, "--describe --group words --state --verbose"),
    "groups-list": (f"{TOOLS}.GroupsCommand", "--list"),
}
"""For each capture, the class of the tool and its arguments."""


class Sharer:
    """A member of a share group, which polls in a thread until it is stopped."""

    def __init__(self, servers: str, client_id: str, group: str = "shared", topic: str = "orders") -> None:
        config = {"bootstrap.servers": servers, "group.id": group, "client.id": client_id, "log_level": 0}
        self._consumer: Any = ShareConsumer(config)
        self._consumer.subscribe([topic])
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ends.is_set():
            self._consumer.poll(0.2)

    def stop(self) -> None:
        """End the member."""
        self._ends.set()
        self._thread.join()
        self._consumer.close()


def streams_member(servers: str, client_id: str, folder: str) -> subprocess.Popen[bytes]:
    """Start an instance of the application "words", which is killed by its caller."""
    jars = fetch(HERE / "streams" / "pom.xml")
    source = str(HERE / "streams" / "CountWords.java")
    return subprocess.Popen(
        ["java", "-Xmx256m", "-cp", f"{jars}/*", source, servers, "words", client_id, f"{folder}/{client_id}"]
    )


def tool(servers: str, name: str, arguments: str) -> str:
    """Return what a tool of Kafka prints."""
    pom = cache_folder() / f"captures-{VERSION}.xml"
    pom.write_text(POM.format(version=VERSION))
    command = ["java", "-cp", f"{fetch(pom)}/*", name, "--bootstrap-server", servers, *arguments.split()]
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return ran.stdout


_MEMBERS = {"share": ("shared", "sharer-", 3), "streams": ("words", "words-", 2)}
"""For each kind, its group, how client ids begin, and how many members there are."""


def _wait_for_members(servers: str, command: str, kind: str) -> None:
    """Wait until the tool shows all members of the group of a kind."""
    group, client, members = _MEMBERS[kind]
    describe = f"--describe --group {group} --members"
    wait_for(lambda: tool(servers, command, describe), lambda shown: shown.count(client) >= members)


def main() -> None:
    """Start the groups, wait for them, and keep what each tool says of them."""
    with tempfile.TemporaryDirectory() as folder, Broker(SETTINGS, version=VERSION) as broker:
        servers = broker.bootstrap_servers
        Kafka(servers).create_topic(4, name="orders")
        members = [Sharer(servers, f"sharer-{number}") for number in range(3)]
        worker = Worker(servers, "billing", ["orders"], "worker-0")
        applications = [streams_member(servers, f"words-{number}", folder) for number in range(2)]
        try:
            for name, (command, arguments) in KINDS.items():
                if (kind := name.partition("-")[0]) in _MEMBERS:
                    _wait_for_members(servers, command, kind)
                (HERE / f"{name}-{VERSION}.txt").write_text(tool(servers, command, arguments))
        finally:
            for application in applications:
                application.kill()
            for member in (*members, worker):
                member.stop()


if __name__ == "__main__":
    main()
