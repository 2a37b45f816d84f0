"""One run: a topic that is written and read is copied, switched and proven, and maybe struck meanwhile."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from confluent_kafka.admin import AdminClient

from benchmarks.reshape.cpu import python_workers
from benchmarks.reshape.groups import Group
from benchmarks.reshape.writers import Writer
from spark_integration.reshaping.topics import topic_bounds
from tests.spark_integration.reshaping.written import Record, read_records
from tests.support.broker import Broker, Kafka, dies_with_us

ROOT = Path(__file__).parents[2]
KEYS, BEHIND = 100_000, 3_000
PARTITIONERS = {"java": "murmur2_random", "librdkafka": "consistent_random"}


@dataclass(frozen=True)
class Scenario:
    """What is reshaped.

    Attributes:
        name: in the page.
        old: partitions of the old topic.
        new: partitions of the new one.
        old_rule: profile of the old topic's writers; "mixed" where each client has its own default.
        writers: clients that write, beside Spark.
        kills: how many times something is killed meanwhile.
        connector: whether Spark's own connector copies the same topic, too.
    """

    name: str
    old: int
    new: int
    old_rule: str
    writers: tuple[str, ...]
    kills: int = 0
    connector: bool = False


class Job:
    """A driver that can be killed and asked again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0
        self.rounds: list[dict[str, Any]] = []
        self.process = self._launch()

    def ask(self, **what: Any) -> dict[str, Any]:
        """The answer; {} if the driver died before it came."""
        try:
            assert self.process.stdin is not None
            self.process.stdin.write(json.dumps(what) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return {}
        return self._answer()

    def again(self) -> None:
        """Start a driver in place of one that is gone, JVM and all."""
        self.kill(signal.SIGKILL)
        self.process = self._launch()

    def kill(self, by: signal.Signals) -> None:
        """Kill the driver with its JVM."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, by)
        self.process.wait()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            answer = json.loads(line)
            if "done" in answer or "ready" in answer:
                return answer
            self.rounds.append(answer)
        return {}

    def _launch(self) -> subprocess.Popen[str]:
        self._number += 1
        with (self._folder / "job.log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *dies_with_us(),
                    sys.executable,
                    "-m",
                    "benchmarks.reshape.job",
                    str(self._folder / f"spark-{self._number}"),
                ],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        assert self._answer() == {"ready": True}
        return self.process


class Strikes:
    """Kills, one for each call that is asked to be struck, at a drawn time of it."""

    KINDS = ("driver", "python worker", "broker", "command")

    def __init__(self, job: Job, broker: Broker, seed: int) -> None:
        self._job, self._broker = job, broker
        self._chance = random.Random(seed)
        self.made: list[tuple[str, str]] = []

    def ask(self, step: str, usual_s: float, **what: Any) -> dict[str, Any]:
        """Ask, kill something meanwhile, and ask again until an answer comes."""
        kind = self.KINDS[len(self.made) % len(self.KINDS)]
        due = self._chance.uniform(0.05, 0.9) * usual_s
        answered = threading.Event()
        striking = threading.Thread(target=self._strike, args=(step, kind, due, answered))
        striking.start()
        answer = self._job.ask(**what)
        answered.set()
        striking.join()
        while not answer or "failed" in answer:
            if not answer:
                self._job.again()
            answer = self._job.ask(**what)
        if self._job.process.poll() is not None:
            self._job.again()
        return answer

    def _strike(self, step: str, kind: str, due: float, answered: threading.Event) -> None:
        if answered.wait(due):
            return  # it was faster than usual
        if kind == "driver":
            self._job.kill(signal.SIGKILL)
        elif kind == "command":
            self._job.process.kill()  # and its JVM ends by itself
        elif kind == "broker":
            self._broker.stop(by=signal.SIGKILL)
            self._broker.start()
        else:
            workers = python_workers(self._job.process.pid)
            if not workers:
                return
            with suppress(ProcessLookupError):
                os.kill(self._chance.choice(workers), signal.SIGKILL)
        self.made.append((step, kind))


class Place:
    """A broker and a driver, for one run after the other; use it as a context manager."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self.folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="reshape-")))
        self.broker = self._stack.enter_context(Broker(version="4.4.0"))
        self.job = Job(self.folder)
        self._stack.callback(lambda: self.job.kill(signal.SIGKILL))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def run(place: Place, scenario: Scenario, records: int, rate: int) -> dict[str, Any]:
    """What a run found and took."""
    with ExitStack() as stack:
        return _Run(scenario, records, rate, place, stack).result()


class _Run:
    def __init__(self, scenario: Scenario, records: int, rate: int, place: Place, stack: ExitStack) -> None:
        self._scenario, self._records = scenario, records
        self._servers = place.broker.bootstrap_servers
        kafka = Kafka(self._servers)
        self._old, self._new = kafka.create_topic(scenario.old), kafka.create_topic(scenario.new)
        self._plain = kafka.create_topic(scenario.new) if scenario.connector else ""
        self._checkpoints = Path(tempfile.mkdtemp(dir=place.folder))
        self._log = place.folder / "job.log"
        profile = scenario.old_rule if scenario.old_rule in PARTITIONERS else "java"
        self._settings = {
            "servers": self._servers,
            "old": self._old,
            "new": self._new,
            "old_count": scenario.old,
            "old_profile": profile,
            "new_profile": "java",
            "keys": KEYS,
            "checkpoint": str(self._checkpoints / "copy"),
        }
        each = records // (len(scenario.writers) + 1)
        rule = "consistent_random" if scenario.old_rule == "mixed" else PARTITIONERS[profile]
        self._writers = [
            Writer(client, self._servers, self._old, rule, (each, rate // len(scenario.writers), KEYS))
            for client in scenario.writers
        ]
        for writer in self._writers:
            stack.callback(writer.kill)
        self._of_spark = each
        self._job = place.job
        self._job.rounds.clear()
        self._strikes = Strikes(self._job, place.broker, len(scenario.name))
        names = [("classic", 10**6), ("consumer", 10**6), ("classic", max(records // 200, 50))]
        self._groups = [
            Group(f"{protocol}-{number}-{uuid.uuid4().hex[:6]}", self._servers, protocol, limit)
            for number, (protocol, limit) in enumerate(names)
        ]

    def result(self) -> dict[str, Any]:
        config = {"bootstrap.servers": self._servers}
        self._must(self._job.ask(on=self._settings, do="write", first=0, count=self._of_spark))
        for writer in self._writers:
            writer.await_first()
        for group in self._groups:
            group.start(self._old)
        times: dict[str, Any] = {}
        # The connector copies first: both then read what is in the page cache, and it the lesser part.
        if self._plain:
            asked = {"topic": self._plain, "checkpoint": str(self._checkpoints / "plain")}
            times["connector"] = self._must(self._job.ask(on=self._settings, do="connector", **asked))
        follow = {"do": "copy", "until_behind": BEHIND, "also_write": 500}
        say(self._scenario.name, "copies")
        times["copy"] = self._must(self._job.ask(on=self._settings, **follow))
        rounds = list(self._job.rounds)
        usual_s = 6.0
        while len(self._strikes.made) < self._scenario.kills * 5 // 6:
            begin = time.monotonic()
            self._must(self._strikes.ask("copy", usual_s, on=self._settings, **follow))
            usual_s = min(max(usual_s, 0.5 * (time.monotonic() - begin)), 12.0)
            print(len(self._strikes.made), "kills", flush=True)
        # The switch: writers end, their last records are copied, groups stop and get their positions.
        begin = time.monotonic()
        written = {writer.client: writer.drain() for writer in self._writers}
        self._job.rounds.clear()
        times["last copy"] = self._ask("last copy", usual_s, do="copy", until_behind=0)
        commits = {group.name: group.stop(self._old, self._scenario.old) for group in self._groups}
        stopped_s = time.monotonic() - begin
        times["positions"] = self._ask("positions", 3.0, do="positions", commits=commits)
        positions = times["positions"].pop("positions")
        admin = AdminClient(config)
        for group in self._groups:
            own = {partition: offset for name, partition, offset, _ in positions if name == group.name}
            group.move(admin, self._new, own)
        pause_s = time.monotonic() - begin
        ends = dict(topic_bounds(config, self._new).ends)
        read = {group.name: group.read_rest(self._new, ends) for group in self._groups}
        say(self._scenario.name, "is proven")
        times["prove"] = self._ask("prove", 5.0, do="prove")
        while len(self._strikes.made) < self._scenario.kills:
            self._must(self._strikes.ask("prove", 5.0, on=self._settings, do="prove"))
        found = {
            **asdict(self._scenario),
            "records": times["prove"]["records"],
            "of": written | {"spark": "rest"},
            "rounds": rounds,
            "times": {
                step: {name: round(answer[name], 1) for name in ("s", "cpu_s")}
                for step, answer in times.items()
            },
            "pause_s": round(pause_s, 1),
            "stopped_s": round(stopped_s, 1),
            "proof": {
                name: value for name, value in times["prove"].items() if name not in {"s", "cpu_s", "done"}
            },
            "struck": [list(strike) for strike in self._strikes.made],
        }
        old, new = (read_records(self._servers, topic) for topic in (self._old, self._new))
        found["seen"] = compare(old, new)
        places = {(record.partition, record.offset) for record in old}
        found["groups"] = {
            group.name[:-7]: moved(places, commits[group.name], read[group.name])
            | {"promised": sum(place[3] for place in positions if place[0] == group.name)}
            for group in self._groups
        }
        return found

    def _ask(self, step: str, usual_s: float, **what: Any) -> dict[str, Any]:
        if len(self._strikes.made) < self._scenario.kills:
            return self._must(self._strikes.ask(step, usual_s, on=self._settings, **what))
        return self._must(self._job.ask(on=self._settings, **what))

    def _must(self, answer: dict[str, Any]) -> dict[str, Any]:
        assert answer, self._log.read_text()[-3000:]
        assert "failed" not in answer, answer["failed"]
        return answer


def say(*words: object) -> None:
    """Tell whoever waits how far it is."""
    print(time.strftime("%H:%M:%S"), *words, flush=True)


def compare(old: list[Record], new: list[Record]) -> dict[str, int]:
    """Faults that a plain consumer sees: each record beside the old one at the place in its header."""
    content = {(record.partition, record.offset): record[2:5] for record in old}
    seen: set[tuple[int, int]] = set()
    highest: dict[tuple[bytes | None, int], int] = {}
    found = {"lost": 0, "doubled": 0, "changed": 0, "out_of_order": 0}
    for record in new:
        place = record.origin
        found["doubled"] += place in seen
        found["changed"] += content.get(place) != record[2:5]
        seen.add(place)
        unit = record.key, place[0]
        found["out_of_order"] += place[1] < highest.get(unit, -1)
        highest[unit] = max(place[1], highest.get(unit, -1))
    found["lost"] = len(content.keys() - seen)
    return found


def moved(
    places: set[tuple[int, int]], commits: dict[int, int], read: list[tuple[int, int]]
) -> dict[str, int]:
    """How a group went on: records of the old topic that it never read, and those it read twice."""
    before = {place for place in places if place[1] < commits[place[0]]}
    return {
        "lag": len(places) - len(before),
        "missed": len(places - before - set(read)),
        "repeats": len([place for place in read if place in before]) + len(read) - len(set(read)),
    }
