"""A real Kafka broker of our own, and topics on whichever cluster the tests use."""

from __future__ import annotations

import random
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from tests.support import jars

if TYPE_CHECKING:
    from collections.abc import Sequence

POM = Path(__file__).parent / "broker" / "pom.xml"

JAVA = [
    "java",
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
]

CLUSTER_ID = "copartitionTestBroker1"  # 16 bytes in base64, as Kafka wants it

# The first node is the controller of all, too.
FIRST = """
process.roles=broker,controller
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
"""
FURTHER = """
process.roles=broker
listeners=PLAINTEXT://127.0.0.1:{port}
"""

# A node that answers as fast as a test wants to go on.
SETTINGS = """
node.id={node}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
controller.quorum.bootstrap.servers=127.0.0.1:{controller_port}
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={data}
broker.rack={rack}
auto.create.topics.enable=false
controlled.shutdown.enable=false
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.abort.timed.out.transaction.cleanup.interval.ms=500
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
group.consumer.min.heartbeat.interval.ms=100
group.consumer.heartbeat.interval.ms=500
group.consumer.min.session.timeout.ms=1000
group.consumer.session.timeout.ms=6000
"""


class BrokerError(RuntimeError):
    """The broker did not start, ended by itself, or a topic did not come up."""


class Kafka:
    """Topics for tests on a running cluster.

    Args:
        bootstrap_servers: host:port of one or more brokers.

    Raises:
        BrokerError: no broker answers within 5 seconds.
    """

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        self._admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
        self._topics: list[str] = []
        try:
            self._admin.list_topics(timeout=5)
        except KafkaException as error:
            raise BrokerError(f"no broker answers at {bootstrap_servers}: {error}") from error

    def create_topic(self, partitions: int = 1) -> str:
        """The name of a new topic, every partition of which has a leader; it keeps records of any age."""
        name = f"copartition-test-{uuid.uuid4().hex[:12]}"
        topic = NewTopic(name, partitions, -1, config={"retention.ms": "-1"})
        self._admin.create_topics([topic])[name].result(30)
        self._topics.append(name)
        self._wait_for_leaders(name, partitions)
        return name

    def grow_topic(self, name: str, partitions: int) -> None:
        """Give a topic more partitions; each has a leader when this returns."""
        self._admin.create_partitions([NewPartitions(name, partitions)])[name].result(30)
        self._wait_for_leaders(name, partitions)

    def delete_topics(self) -> None:
        """Remove the topics created here."""
        topics, self._topics = self._topics, []
        for done in self._admin.delete_topics(topics).values() if topics else ():
            done.result(30)

    def _wait_for_leaders(self, name: str, partitions: int) -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            found = self._admin.list_topics(name, timeout=10).topics[name].partitions
            if sum(partition.leader >= 0 for partition in found.values()) == partitions:
                return
            time.sleep(0.02)
        raise BrokerError(f"topic {name!r} has not {partitions} partitions with a leader after 30 s: {found}")


class Broker:
    """KRaft nodes on free loopback ports, one unless more racks are named; use it as a context manager.

    Args:
        settings: more of them, or others; `SETTINGS` shows how ports are written.
        java_options: more options for its JVM, such as a level for one logger.
        racks: of each node; the first one is the controller too.

    Raises:
        JarsError: its jars could not be fetched.
        BrokerError: it did not start; the message ends with its last log lines.
    """

    def __init__(
        self, settings: str = "", java_options: Sequence[str] = (), racks: Sequence[str] = ("rack0",)
    ) -> None:
        self._java = [*JAVA, *java_options, "-cp", f"{jars.fetch(POM)}/*"]
        self._folder = Path(tempfile.mkdtemp(prefix="copartition-broker-"))
        self.log = self._folder / "broker.log"
        self._processes: list[subprocess.Popen[bytes]] = []
        controller_port, *ports = free_ports(1 + len(racks))
        self.bootstrap_servers = ",".join(f"127.0.0.1:{port}" for port in ports)
        try:
            for node, (port, rack) in enumerate(zip(ports, racks, strict=True), 1):
                written = self._folder / f"server-{node}.properties"
                written.write_text(
                    ((FIRST if node == 1 else FURTHER) + SETTINGS + settings).format(
                        node=node,
                        port=port,
                        controller_port=controller_port,
                        rack=rack,
                        data=self._folder / f"data-{node}",
                    )
                )
                self._format_storage(written, "--standalone" if node == 1 else "--no-initial-controllers")
                self._processes.append(self._launch("kafka.Kafka", written))
            self._wait_until_ready()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Stop the broker and remove its data; once is enough, twice does no harm."""
        for process in self._processes:
            process.kill()  # its data goes too, so nothing is left that a clean end would save
            process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _launch(self, main_class: str, *arguments: str | Path) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [*_dies_with_us(), *self._java, main_class, *arguments],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def _format_storage(self, settings: Path, controllers: str) -> None:
        command = ("kafka.tools.StorageTool", "format", controllers, "-t", CLUSTER_ID, "-c")
        if code := self._launch(*command, settings).wait():
            raise self._error(f"formatting its storage failed with exit code {code}")

    def _wait_until_ready(self) -> None:
        admin = AdminClient(
            {"bootstrap.servers": self.bootstrap_servers, "reconnect.backoff.max.ms": 100, "log_level": 0}
        )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            for process in self._processes:
                if (code := process.poll()) is not None:
                    raise self._error(f"it ended with exit code {code} while starting")
            with suppress(KafkaException):
                if len(admin.list_topics(timeout=0.5).brokers) == len(self._processes):
                    return
        raise self._error(f"it does not answer at {self.bootstrap_servers} after 60 s")

    def _error(self, what: str) -> BrokerError:
        lines = self.log.read_text(errors="replace").splitlines()[-20:]
        return BrokerError("\n".join([f"the test broker: {what}. Its last log lines:", *lines]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, from below those that the system gives to outgoing connections."""
    free: set[int] = set()
    while len(free) < count:
        port = random.randint(15_000, 30_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            free.add(port)
    return list(free)


def _dies_with_us() -> list[str]:
    """What makes Linux end a process whose parent was killed before it could clean up."""
    return ["setpriv", "--pdeathsig", "TERM"] if shutil.which("setpriv") else []
