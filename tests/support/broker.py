"""A real Kafka broker of our own, and topics on whichever cluster the tests use."""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from contextlib import suppress
from pathlib import Path
from signal import SIGCONT, SIGSTOP, SIGTERM, Signals
from typing import TYPE_CHECKING, Any, Self

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic, OffsetSpec

from tests.support import jars
from tests.support.waiting import GENEROUS_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

KAFKA_VERSION = "COPARTITION_KAFKA"
"""The environment's variable with the version of brokers whose test asks for none; empty: that of `POM`."""

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
        BrokerError: no broker answers within `GENEROUS_S` seconds.
    """

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        self._admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
        self._topics: list[str] = []
        try:
            self._admin.list_topics(timeout=GENEROUS_S)
        except KafkaException as error:
            raise BrokerError(f"no broker answers at {bootstrap_servers}: {error}") from error

    def create_topic(self, partitions: int = 1, node: int | None = None, name: str | None = None) -> str:
        """The name of a new topic, every partition of which has a leader; it keeps records of any age.

        Args:
            partitions: how many.
            node: the one that holds them all; None where the cluster may choose.
            name: what it is called; None for a name that nobody else has.
        """
        name = name or f"copartition-test-{uuid.uuid4().hex[:12]}"
        self._create(NewTopic(name, partitions, config={"retention.ms": "-1"}, **_held_by(node, partitions)))
        self._topics.append(name)
        self.wait_for_leaders(name, partitions)
        return name

    def create_coordinators(self, node: int) -> None:
        """Have a node coordinate all transactions and groups; nobody may have used one before."""
        for name in ("__transaction_state", "__consumer_offsets"):
            self._create(NewTopic(name, 1, config={"cleanup.policy": "compact"}, **_held_by(node, 1)))
            self.wait_for_leaders(name, 1)

    def grow_topic(self, name: str, partitions: int) -> None:
        """Give a topic more partitions; each has a leader when this returns."""
        self._admin.create_partitions([NewPartitions(name, partitions)])[name].result()
        self.wait_for_leaders(name, partitions)

    def delete_topics(self) -> None:
        """Remove the topics created here."""
        topics, self._topics = self._topics, []
        for done in self._admin.delete_topics(topics).values() if topics else ():
            done.result()

    def wait_for_leaders(self, name: str, partitions: int) -> None:
        """Wait until every partition of a topic has a leader that knows of it."""
        deadline = time.monotonic() + GENEROUS_S
        while time.monotonic() < deadline:
            found = self._admin.list_topics(name, timeout=GENEROUS_S).topics[name].partitions
            leaders = sum(partition.leader >= 0 for partition in found.values())
            if leaders == partitions and self._led(name, found):
                return
            time.sleep(0.02)
        raise BrokerError(
            f"topic {name!r} has not {partitions} partitions with a leader after {GENEROUS_S:.0f} s: {found}"
        )

    def _create(self, topic: NewTopic) -> None:
        """Create a topic as soon as a node is not fenced, as nodes are whose heartbeats come late."""
        deadline = time.monotonic() + GENEROUS_S
        while error := self._admin.create_topics([topic])[topic.topic].exception():
            if "fenced" not in str(error) or time.monotonic() > deadline:
                raise error
            time.sleep(0.1)

    def _led(self, name: str, partitions: Iterable[int]) -> bool:
        """Whether each leader knows that it is: metadata may say so before the broker does."""
        asked = {TopicPartition(name, number): OffsetSpec.earliest() for number in partitions}
        try:
            for answer in self._admin.list_offsets(asked, request_timeout=GENEROUS_S).values():
                answer.result()
        except KafkaException:
            return False
        return True


class Broker:
    """KRaft nodes on free loopback ports, one unless more racks are named; use it as a context manager.

    Args:
        settings: more of them, or others; `SETTINGS` shows how ports are written.
        java_options: more options for its JVM, such as a level for one logger.
        racks: of each node; the first one is the controller too.
        version: of Kafka; where it is empty that of `KAFKA_VERSION`, or of `POM`.

    Attributes:
        bootstrap_servers: host:port of every node.
        logs: what each node writes.
        version: of Kafka, such as "4.4.0".

    Raises:
        JarsError: its jars could not be fetched.
        BrokerError: it did not start; the message ends with its last log lines.
    """

    def __init__(
        self,
        settings: str = "",
        java_options: Sequence[str] = (),
        racks: Sequence[str] = ("rack0",),
        version: str = "",
    ) -> None:
        version = version or os.environ.get(KAFKA_VERSION, "")
        self.version = version or jars.kafka_of(POM)
        self._java = [*JAVA, *java_options, "-cp", f"{_jars(version)}/*"]
        self._folder = Path(tempfile.mkdtemp(prefix="copartition-broker-"))
        self.logs = [self._folder / f"broker-{node}.log" for node in range(1, 1 + len(racks))]
        self._settings: list[Path] = []
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
                self._format_storage(
                    node, written, "--standalone" if node == 1 else "--no-initial-controllers"
                )
                self._settings.append(written)
                self._processes.append(self._launch(node, "kafka.Kafka", written))
            self._wait_until_ready()
        except BaseException:
            self.close()
            raise

    def stop(self, node: int = 1, by: Signals = SIGTERM) -> None:
        """End a node, by default in order; it keeps its data."""
        self._processes[node - 1].send_signal(by)
        self._processes[node - 1].wait(GENEROUS_S)

    def start(self, node: int = 1) -> None:
        """Start a node that was stopped, and wait until every node answers."""
        self._processes[node - 1] = self._launch(node, "kafka.Kafka", self._settings[node - 1])
        self._wait_until_ready()

    def pause(self, node: int = 1) -> None:
        """Have a node stand still, with its connections open."""
        self._processes[node - 1].send_signal(SIGSTOP)

    def resume(self, node: int = 1) -> None:
        """Let a node go on."""
        self._processes[node - 1].send_signal(SIGCONT)

    def close(self) -> None:
        """Stop the broker and remove its data; once is enough, twice does no harm."""
        for process in self._processes:
            process.kill()  # its data goes too, so nothing is left that a clean end would save
            process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _launch(self, node: int, main_class: str, *arguments: str | Path) -> subprocess.Popen[bytes]:
        with self.logs[node - 1].open("ab") as log:
            return subprocess.Popen(
                [*dies_with_us(), *self._java, main_class, *arguments],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def _format_storage(self, node: int, settings: Path, controllers: str) -> None:
        command = ("kafka.tools.StorageTool", "format", controllers, "-t", CLUSTER_ID, "-c")
        if code := self._launch(node, *command, settings).wait():
            raise self._error(f"formatting its storage failed with exit code {code}")

    def _wait_until_ready(self) -> None:
        """Ask each node itself: the others list it for a while after it has gone."""
        deadline = time.monotonic() + GENEROUS_S
        for server in self.bootstrap_servers.split(","):
            admin = AdminClient(
                {"bootstrap.servers": server, "reconnect.backoff.max.ms": 100, "log_level": 0}
            )
            while not self._all_known_by(admin):
                for process in self._processes:
                    if (code := process.poll()) is not None:
                        raise self._error(f"it ended with exit code {code} while starting")
                if time.monotonic() > deadline:
                    raise self._error(f"it does not answer at {server} after {GENEROUS_S:.0f} s")

    def _all_known_by(self, admin: AdminClient) -> bool:
        try:
            return len(admin.list_topics(timeout=0.5).brokers) == len(self._processes)
        except KafkaException:
            return False

    def _error(self, what: str) -> BrokerError:
        lines = [
            line
            for log in self.logs
            if log.exists()
            for line in log.read_text(errors="replace").splitlines()[-20:]
        ]
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


def _jars(version: str) -> Path:
    """The folder with a version of the broker."""
    with jars.pom_of_version(POM, version or os.environ.get(KAFKA_VERSION, "")) as pom:
        return jars.fetch(pom)


def _held_by(node: int | None, partitions: int) -> dict[str, Any]:
    return {"replication_factor": -1} if node is None else {"replica_assignment": [[node]] * partitions}


def dies_with_us(by: str = "TERM") -> list[str]:
    """What makes Linux end a process whose parent was killed before it could clean up."""
    return ["setpriv", "--pdeathsig", by] if shutil.which("setpriv") else []
