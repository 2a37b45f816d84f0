"""One scenario, run: processes of the loop, faults that strike them, and what the topics hold in the end."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from itertools import cycle
from pathlib import Path
from signal import SIGCONT, SIGTERM
from typing import TYPE_CHECKING, Any, Self

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AclOperation, AdminClient, ResourceType
from kafka.partitioner.default import murmur2

from benchmarks.faults import hits
from benchmarks.faults.checking import Verdict, check
from benchmarks.faults.watching import Stalls, read
from benchmarks.loop_faults.scenarios import TRANSACTION_S
from benchmarks.loop_faults.worker import POISONED
from partitioning.clients.confluent import PartitioningProducer
from tests.support.broker import Broker, Kafka, dies_with_us
from tests.support.encrypted import SECRETS, allowed, as_user, give_passwords, listening_with_tls
from tests.support.proxy import Proxy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from signal import Signals

    from benchmarks.loop_faults.scenarios import Scenario

ROOT = Path(__file__).parents[2]
PROCESSES = 3
SOURCE_PARTITIONS, TARGET_PARTITIONS, DEAD_PARTITIONS = 4, 6, 2
KEYS = 40
POISONED_KEYS = 2
RECORDS = 12_000
GROWN_RECORDS = 1_200
BATCH = 50
LIMIT_S = 420
LOOPER = "looper"
SETTLED_S = 2
"""How long all is read before the processes are ended: whoever has just woken finds out first."""


REPLICATED = """
default.replication.factor=3
min.insync.replicas=2
offsets.topic.replication.factor=3
transaction.state.log.replication.factor=3
transaction.state.log.min.isr=2
controlled.shutdown.enable=true
"""


class Environment:
    """A broker and a proxy before it, for all runs; use it as a context manager."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self.proxy = self._stack.enter_context(Proxy())
        try:
            self.broker = self._stack.enter_context(Broker(self.proxy.listeners))
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @contextmanager
    def cluster(self, scenario: Scenario) -> Iterator[tuple[Broker, dict[str, str]]]:
        """That broker, or another one or a cluster of several for one run, and how the loop comes there."""
        if scenario.secured:
            with listening_with_tls() as (broker, listeners):
                yield broker, as_user(listeners, LOOPER, _admitted(broker))
        elif scenario.nodes > 1 or scenario.version:
            racks = [f"rack{number}" for number in range(scenario.nodes)]
            settings = REPLICATED if scenario.nodes > 1 else ""
            with Broker(settings, racks=racks, version=scenario.version) as broker:
                yield broker, {"bootstrap.servers": broker.bootstrap_servers}
        else:
            server = self.proxy if scenario.proxied else self.broker
            yield self.broker, {"bootstrap.servers": server.bootstrap_servers}


def _admitted(broker: Broker) -> str:
    """The password of a user who may do all that a loop does."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    give_passwords(admin)
    kinds = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID
    rights = [allowed(LOOPER, kind, "*", AclOperation.ALL) for kind in kinds]
    for granted in admin.create_acls(rights).values():
        granted.result(30)
    return SECRETS[LOOPER]


class Run:
    """A scenario under way, as its acts see it.

    Attributes:
        broker: the cluster.
        proxy: before it.
        topics: names of `source`, `target` and `dead_letters`.
        transactions: whether the loop has them.
        written: for each key how many records were given to the loop.
    """

    def __init__(
        self,
        scenario: Scenario,
        broker: Broker,
        proxy: Proxy,
        folder: Path,
        *,
        clients: dict[str, str],
        transactions: bool,
        seed: str,
        records: int,
    ) -> None:
        self.broker, self.proxy = broker, proxy
        self._scenario, self._folder = scenario, folder
        self.transactions = transactions
        counts = {
            "source": SOURCE_PARTITIONS,
            "target": TARGET_PARTITIONS,
            "dead_letters": DEAD_PARTITIONS,
        }
        self._kafka = Kafka(broker.bootstrap_servers)
        self.topics = {name: self._kafka.create_topic(count) for name, count in counts.items()}
        self._partitions = SOURCE_PARTITIONS
        self.group = f"loop-{self.topics['source']}"
        plan = {
            **self.topics,
            "group": self.group,
            "seed": seed,
            "faults": scenario.faults,
            "calls": scenario.calls,
            "batch": BATCH,
            "consumer": scenario.consumer | clients,
            "static": scenario.static,
            "producer": {"transaction.timeout.ms": TRANSACTION_S * 1000, **clients},
            "transactions": transactions,
            "servers": clients["bootstrap.servers"],
        }
        (folder / "plan.json").write_text(json.dumps(plan))
        self.written = fill(self.broker.bootstrap_servers, self.topics["source"], records)
        settings = {"bootstrap.servers": self.broker.bootstrap_servers, "group.id": self.group}
        self._reader = Consumer(settings | {"isolation.level": "read_committed", "log_level": 0})
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._replaced: list[subprocess.Popen[bytes]] = []
        self._frozen: dict[int, float] = {}  # when to wake a process
        self._mend_at: list[float] = []
        self._struck = 0
        self.ends: Counter[int] = Counter()
        self._turns = cycle((2, 3))
        self._is_down: int | None = None

    def follow(self) -> str:
        """Strike as the plan says until the source is read to its end; what became of the processes."""
        deadline = time.monotonic() + LIMIT_S
        asked = read_since = time.monotonic()
        while True:
            if time.monotonic() > deadline:
                return f"not finished after {LIMIT_S} s"
            for number in range(PROCESSES):
                self._keep(str(number))
            for hit in hits.read(self._folder, after=self._struck):
                self._struck += 1
                self._strike(hit)
            self._wake()
            if time.monotonic() > asked + 0.5:
                asked = time.monotonic()
                if self._frozen or self._mend_at or not self._all_read():
                    read_since = asked
                if asked > read_since + SETTLED_S:
                    return self.end()
            time.sleep(0.02)

    def end(self) -> str:
        """End all processes; says so where one did not end in order."""
        self._wake(at_once=True)
        for process in self._all():
            process.send_signal(SIGTERM)
        for process in self._all():
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        # Whoever was replaced while it stood still is fenced, and ends with an error; whoever has just been
        # started does not listen to SIGTERM yet.
        orderly = (0, -SIGTERM)
        codes = [each.returncode for each in self._running.values() if each.returncode not in orderly]
        return f"ended with {codes}" if codes else "finished"

    def take_down(self, by: Signals) -> None:
        """End a node of a cluster of three, once the others have all that it has."""
        self._is_down = next(self._turns)
        self.broker.stop(self._is_down, by)

    def mend_node(self) -> None:
        """Start the node that is down, if one is, and wait until it has all that the others have."""
        if self._is_down is None:
            return
        self.broker.start(self._is_down)
        self._is_down = None
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap_servers, "log_level": 0})
        deadline = time.monotonic() + 60
        while not _in_sync(admin):
            if time.monotonic() > deadline:
                raise TimeoutError("a node that was started again is not in sync after 60 s")
            time.sleep(0.1)

    def grow(self) -> None:
        """Give the source two more partitions, and records of new keys: no key changes its partition."""
        self._partitions += 2
        self._kafka.grow_topic(self.topics["source"], self._partitions)
        servers, first = self.broker.bootstrap_servers, len(self.written)
        self.written |= fill(servers, self.topics["source"], GROWN_RECORDS, first)

    def errors(self) -> dict[str, int]:
        """What processes ended with by themselves, and what transactions were aborted for."""
        found: Counter[str] = Counter()
        for log in self._folder.glob("log-*"):
            text = re.sub(r"\n.*\n\nThe above exception", "", log.read_text(errors="replace"))
            for line in text.splitlines():
                if line.startswith("Timeout ("):
                    found["hung"] += 1
                elif aborted := re.search(r"abort \d+: KafkaError\{.*?code=(\w+)", line):
                    found[f"abort: {aborted[1]}"] += 1
                elif ended := re.match(
                    r"(?:\w+\.)*(\w+(?:Error|Exception)): (?:KafkaError\{code=(\w+))?", line
                ):
                    found[f"end: {ended[2] or ended[1]}"] += 1
        return dict(found.most_common())

    def verdict(self) -> Verdict:
        """What is wrong with the outputs and with the dead letters, together."""
        servers = self.broker.bootstrap_servers
        both = []
        for topic, partitions, poisoned in (
            (self.topics["target"], TARGET_PARTITIONS, False),
            (self.topics["dead_letters"], DEAD_PARTITIONS, True),
        ):
            written = {key: count for key, count in self.written.items() if is_poisoned(key) is poisoned}
            homes = {key: (murmur2(key.encode()) & 0x7FFFFFFF) % partitions for key in written}
            both.append(asdict(check(read(servers, topic, partitions), written, homes)))
        return Verdict(*(sum(each[name] for each in both) for name in both[0]))

    def keep_logs(self, name: str) -> Path:
        """Copy all that the run left to where it stays."""
        kept = Path(tempfile.gettempdir()) / f"loop-faults-{re.sub(r'[^a-z]+', '-', name)}"
        shutil.copytree(self._folder, kept, dirs_exist_ok=True)
        return kept

    def _keep(self, name: str) -> None:
        """Have a process of this name run."""
        process = self._running.get(name)
        if process is not None:
            if process.poll() is None:
                return
            self.ends[process.returncode] += 1
        self._running[name] = self._launch(name)

    def _launch(self, name: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "benchmarks.loop_faults.worker", str(self._folder), name]
        with (self._folder / f"log-{name}").open("ab") as log:
            return subprocess.Popen(
                [*dies_with_us(), *command], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def _strike(self, hit: dict[str, Any]) -> None:
        if hit["fault"] == "freeze":
            self._frozen[hit["pid"]] = time.monotonic() + self._scenario.lasts_s
            if self._scenario.replaced:
                self._replaced.append(self._running.pop(hit["name"]))
        elif hit["fault"] == "wait":
            self._scenario.strike(self)
            (self._folder / f"done-{hit['number']:03}").touch()
            self._mend_at.append(time.monotonic() + self._scenario.lasts_s)

    def _wake(self, *, at_once: bool = False) -> None:
        now = time.monotonic()
        for pid, due in list(self._frozen.items()):
            if at_once or now >= due:
                del self._frozen[pid]
                for process in self._all():
                    if process.pid == pid:
                        process.send_signal(SIGCONT)
        if self._mend_at and (at_once or now >= max(self._mend_at)):
            self._mend_at = []
            self._scenario.mend(self)

    def _all(self) -> list[subprocess.Popen[bytes]]:
        return [*self._running.values(), *self._replaced]

    def _all_read(self) -> bool:
        """Whether the group has committed all records of the source."""
        places = [TopicPartition(self.topics["source"], number) for number in range(self._partitions)]
        with suppress(KafkaException):
            committed = self._reader.committed(places, timeout=5)
            return sum(max(each.offset, 0) for each in committed) == sum(self.written.values())
        return False


def is_poisoned(key: str) -> bool:
    """Whether the loop refuses the records of this key."""
    return int(key.removeprefix("key-")) < POISONED_KEYS


def _in_sync(admin: AdminClient) -> bool:
    """Whether each partition has all its replicas."""
    with suppress(KafkaException):
        topics = admin.list_topics(timeout=5).topics.values()
        return all(
            len(each.isrs) == len(each.replicas) for topic in topics for each in topic.partitions.values()
        )
    return False


def fill(servers: str, topic: str, records: int, first_key: int = 0) -> dict[str, int]:
    """Write numbered records of `KEYS` keys, those of a key in order; for each key how many they are."""
    written: Counter[str] = Counter()
    with PartitioningProducer({"bootstrap.servers": servers, "enable.idempotence": True}) as producer:
        for number in range(records):
            key = f"key-{first_key + number % KEYS}"
            poison = POISONED if is_poisoned(key) else b"sound"
            producer.produce(topic, b"%d %s %s" % (written[key], poison, b"." * 100), key)
            written[key] += 1
            producer.poll(0)
    return dict(written)


def run(
    name: str,
    scenario: Scenario,
    environment: Environment,
    *,
    transactions: bool,
    seed: int,
    records: int = RECORDS,
) -> dict[str, Any]:
    """Run a scenario, and count."""
    started = time.monotonic()
    with (
        environment.cluster(scenario) as (broker, clients),
        tempfile.TemporaryDirectory(prefix="copartition-loop-faults-") as folder,
    ):
        running = Run(
            scenario,
            broker,
            environment.proxy,
            Path(folder),
            clients=clients,
            transactions=transactions,
            seed=f"{seed}/{name}",
            records=records,
        )
        servers, target = running.broker.bootstrap_servers, running.topics["target"]
        try:
            with Stalls(servers, target, TARGET_PARTITIONS) as stalls:
                outcome = running.follow()
                if not stalls.settled(within_s=60):
                    outcome += ", readers stand still"
        finally:
            running.end()
        if outcome != "finished":
            print(f"{name}, {outcome}: see {running.keep_logs(name)}", file=sys.stderr)
        struck = hits.read(Path(folder))
        return {
            "scenario": name,
            "loop": "transactions" if transactions else "at least once",
            "seed": seed,
            "outcome": outcome,
            "records": sum(running.written.values()),
            "struck": len(struck),
            "open": sum(hit["open"] > 0 for hit in struck),
            "in_transaction": sum(hit["in_transaction"] for hit in struck),
            **asdict(running.verdict()),
            "longest_stall_s": round(stalls.longest_s, 1),
            "seconds": round(time.monotonic() - started),
            "events": running.errors(),
        }
