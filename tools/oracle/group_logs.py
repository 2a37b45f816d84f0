"""Records what a real broker and real consumers log while a group lives: `python -m tools.oracle.group_logs`.

Each group is a folder of `tests/golden/logs`: the broker's log, a log of each consumer, and `events.json`,
which says what was done to whom, and when. All groups live side by side on one broker, whose log is cut by
group.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.consumers.clients import AIOKAFKA, JAVA, KAFKA_PYTHON, LIBRDKAFKA
from benchmarks.consumers.process import Member
from tests.support.broker import Broker, Kafka

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.consumers.clients import Client

GOLDEN = Path(__file__).parents[2] / "tests" / "golden" / "logs"
LOGGED = (
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.coordinator.group=info",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSZ",
)
PARTITIONS, GROWN = 6, 9
STRATEGY = "partition.assignment.strategy"
TIMEOUTS: dict[str, str | int] = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 2000}
COMMON: dict[str, str | int] = {
    "max.poll.interval.ms": 7000,
    "topic.metadata.refresh.interval.ms": 3000,
    "auto.offset.reset": "earliest",
}
WITH_LOGGING = """
import logging, runpy, sys
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
runpy.run_module(MODULE, run_name="__main__", alter_sys=False)
"""

DYNAMIC = (
    (0, "start c0"),
    (0.3, "start c1"),
    (12, "start c2"),
    (24, "close c2"),
    (34, "start c2"),
    (46, "kill c2"),
    (62, "busy c1 10"),
    (82, "grow"),
)
STATIC = (
    (0, "start c0"),
    (0.3, "start c1"),
    (14, "close c1"),
    (17, "start c1"),
    (30, "kill c1"),
    (33, "start c1"),
    (50, "kill c1"),
)
RESTART_S, END_S = 98, 116

# What clients repeat by the thousand while no broker answers, and what concerns no group.
LEFT_OUT = re.compile(
    r"^\s|^\*|^$|ebootstrap|REBOOTSTRAP|CGRPQUERY|NetworkClient|NodeNotReady|ECONNREFUSED|ConsumerUtils"
    r"|\|(?:FAIL|DUMP\w*|OFFSET\w*|PAUSE|REMOVE|SRVPEND|PART\w+|ASSIGN\w*|GRPASSIGNMENT|CGRPOP|STATE|CGRPJOINSTATE)\|"
    r"|Heartbeat for group|FetchSession|selector|ClusterConnection|kafka\.conn|kafka\.net|Config"
)


@dataclass(frozen=True)
class RecordedGroup:
    """A group: its client, what happens, and settings beyond the common ones."""

    name: str
    client: Client
    config: dict[str, str | int] = field(default_factory=dict)
    steps: Sequence[tuple[float, str]] = DYNAMIC

    @property
    def static(self) -> bool:
        """Whether its members are."""
        return self.steps is STATIC

    def command(self) -> list[str]:
        """How a consumer that logs is started."""
        command = self.client.command()
        if self.client is JAVA:
            quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
            loud = ["-Dorg.slf4j.simpleLogger.defaultLogLevel=info", *LOGGED[1:]]
            loud.append("-Dorg.slf4j.simpleLogger.showDateTime=true")
            return [argument for old in command for argument in (loud if old == quiet else [old])]
        if self.client is LIBRDKAFKA:
            return command
        return [sys.executable, "-c", WITH_LOGGING.replace("MODULE", repr(command[-1]))]

    def settings(self, servers: str, topic: str, consumer: str) -> dict[str, object]:
        """What the consumer's process is given."""
        config = COMMON | self.config
        config |= {"bootstrap.servers": servers, "group.id": self.name, "client.id": consumer}
        if self.static:
            config["group.instance.id"] = f"i-{consumer}"
        if self.client is LIBRDKAFKA:
            config["debug"] = "cgrp,consumer"
        return {"topics": [topic], "config": self.client.own_names(config)}


CONSUMER = {"group.protocol": "consumer"}
GROUPS = (
    RecordedGroup("java-range", JAVA, {STRATEGY: "range"} | TIMEOUTS),
    RecordedGroup("java-cooperative", JAVA, {STRATEGY: "cooperative-sticky"} | TIMEOUTS),
    RecordedGroup("java-static", JAVA, {STRATEGY: "range"} | TIMEOUTS, STATIC),
    RecordedGroup("java-consumer", JAVA, dict(CONSUMER)),
    RecordedGroup("librdkafka-range", LIBRDKAFKA, {STRATEGY: "range"} | TIMEOUTS),
    RecordedGroup("librdkafka-cooperative", LIBRDKAFKA, {STRATEGY: "cooperative-sticky"} | TIMEOUTS),
    RecordedGroup("librdkafka-static", LIBRDKAFKA, {STRATEGY: "range"} | TIMEOUTS, STATIC),
    RecordedGroup("librdkafka-consumer", LIBRDKAFKA, dict(CONSUMER)),
    RecordedGroup("kafka-python-range", KAFKA_PYTHON, {STRATEGY: "own:range"} | TIMEOUTS),
    RecordedGroup("aiokafka-range", AIOKAFKA, {STRATEGY: "own:range"} | TIMEOUTS),
)


def main() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="group-logs-") as folder,
        Broker(java_options=LOGGED) as broker,
    ):
        kafka = Kafka(broker.bootstrap_servers)
        lives = [_Life(group, kafka, Path(folder) / group.name) for group in GROUPS]
        begin = time.monotonic()
        steps = [(at, life, what) for life in lives for at, what in life.group.steps]
        for at, one, what in sorted(steps, key=lambda step: step[0]):
            time.sleep(max(0, begin + at - time.monotonic()))
            one.do(what, kafka)
        time.sleep(max(0, begin + RESTART_S - time.monotonic()))
        for life in lives:
            life.note("restart of the coordinator")
        broker.stop()
        broker.start()
        time.sleep(max(0, begin + END_S - time.monotonic()))
        for life in lives:
            life.close()
        time.sleep(5)
        log = broker.logs[0].read_text(errors="replace")
        shutil.rmtree(GOLDEN, ignore_errors=True)
        for life in lives:
            life.save(log)


class _Life:
    def __init__(self, group: RecordedGroup, kafka: Kafka, folder: Path) -> None:
        folder.mkdir()
        self.group, self._folder = group, folder
        self._servers, self._topic = kafka.bootstrap_servers, kafka.create_topic(PARTITIONS)
        self._running: dict[str, Member] = {}
        self._all: list[Member] = []
        self._done: list[dict[str, object]] = []
        for name in ("c0", "c1", "c2"):
            self._prepare(name)

    def _prepare(self, name: str) -> None:
        number = sum(member.name == name for member in self._all)
        folder = self._folder / str(number)
        folder.mkdir(exist_ok=True)
        settings = self.group.settings(self._servers, self._topic, name)
        self._all.append(Member(name, settings, folder, self.group.command()))
        self._running[name] = self._all[-1]
        self._running[name].wait_until_ready()

    def note(self, what: str) -> None:
        self._done.append({"at": round(time.time(), 3), "what": what})

    def do(self, what: str, kafka: Kafka) -> None:
        self.note(what)
        verb, _, rest = what.partition(" ")
        name, _, seconds = rest.partition(" ")
        if verb == "grow":
            kafka.grow_topic(self._topic, GROWN)
        elif verb == "kill":
            self._running[name].signal("kill")
        else:
            self._running[name].tell(f"{verb} {seconds}".strip())
        if verb in {"close", "kill"}:
            self._prepare(name)

    def close(self) -> None:
        for member in self._running.values():
            with_started = any(line["event"] == "start" for line in member.output())
            if with_started and not member.over:
                member.tell("close")

    def save(self, log: str) -> None:
        """Write what belongs to this group."""
        folder = GOLDEN / self.group.name
        folder.mkdir(parents=True)
        named = re.compile(rf"\b{self.group.name}\b|__consumer_offsets-\d+(?! .*[Gg]roup [a-z])")
        broker = [line for line in log.splitlines() if "coordinator.group" in line and named.search(line)]
        _write(folder / "broker.log.gz", broker)
        for member in self._all:
            member.events()
        for path in sorted(self._folder.glob("*/*.err")):
            lines = path.read_text(errors="replace").splitlines()
            if kept := [line for line in lines if not LEFT_OUT.search(line)]:
                _write(folder / f"{path.stem}-{path.parent.name}.log.gz", kept)
        events = {"client": self.group.client.name, "config": self.group.config, "steps": self._done}
        (folder / "events.json").write_text(json.dumps(events, indent=1) + "\n")


def _write(path: Path, lines: list[str]) -> None:
    path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0))


if __name__ == "__main__":
    main()
