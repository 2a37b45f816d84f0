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
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self
from zlib import crc32

from confluent_kafka import Producer

from benchmarks.reshape.cpu import python_workers
from benchmarks.reshape.groups import Group
from benchmarks.reshape.judge import compare, compare_reads, read_columns
from benchmarks.reshape.writers import Writer
from copartition.reshape.switch import HEADER
from spark_integration.reshaping.topics import topic_bounds
from tests.support.broker import Broker, Kafka, dies_with_us
from tests.support.reading import read_topic

ROOT = Path(__file__).parents[2]
KEYS, BEHIND = 100_000, 3_000
MOST_OF_A_CLIENT = 250_000
"""Records that a client writes at once before the copy begins, at most; Spark writes the others."""
STRIKING_S = 180.0
"""Seconds from the start of a run after which nothing is killed any more."""
KINDS = ("driver", "python worker", "broker", "command")
"""What is killed, one after the other."""
PARTITIONERS = {"java": "murmur2_random", "librdkafka": "consistent_random"}


@dataclass(frozen=True)
class Scenario:
    """What is reshaped.

    Attributes:
        name: in the page.
        old: partitions of the old topic.
        new: partitions of the new one.
        old_rule: profile of the old topic's writers; "mixed" where each client has its own default.
        writers: clients that write, beside Spark; if there are none, no group reads either, and `prove` alone
            judges: so a topic can be large.
        kills: how many times something is killed meanwhile.
        struck: the steps in which that happens, each as often.
        connector: whether Spark's own connector copies the same topic, too.
    """

    name: str
    old: int
    new: int
    old_rule: str
    writers: tuple[str, ...]
    kills: int = 0
    struck: tuple[str, ...] = ("copy", "following", "switch")
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
        """Start a driver in place of one that is gone; if its JVM is there still, that ends by itself."""
        self.process.wait()
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


class WayBack:
    """`copartition reshape --back` as a person runs it: a program of its own, without Spark.

    It is asked and killed as a `Job` is.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        # One that has ended, so that there always is one to look at.
        self.process: subprocess.Popen[bytes] = subprocess.Popen(["true"])
        self.process.wait()

    def ask(self, on: dict[str, Any]) -> dict[str, Any]:
        """Run it to its end; {} if it was killed."""
        command = [Path(sys.executable).with_name("copartition"), "reshape", on["old"], "--to", on["new"]]
        command += ["--partitions", str(on["new_count"]), "--profile", on["new_profile"], "-b", on["servers"]]
        begin = time.monotonic()
        with self._log.open("ab") as log:
            self.process = subprocess.Popen([*command, "--back", "--execute"], stdout=log, stderr=log)
        if (code := self.process.wait()) < 0:
            return {}
        if code:
            return {"failed": f"exit code {code}: {self._log.read_text()[-300:]}"}
        return {"s": time.monotonic() - begin, "cpu_s": 0.0, "load": os.getloadavg()[0]}

    def again(self) -> None:
        """It starts whenever it is asked."""


class Strikes:
    """Kills at drawn times, some in a row while one question is asked, until they are enough or it is late.

    Args:
        broker: the broker that is killed and started again.
        scenario: has the steps to strike in, and how often.
    """

    IN_A_ROW = 4
    """The most kills for one question, after which it is left to end."""

    def __init__(self, broker: Broker, scenario: Scenario) -> None:
        self._broker, self._steps = broker, scenario.struck
        self._most = scenario.kills // max(len(scenario.struck), 1)
        self._chance = random.Random(crc32(scenario.name.encode()))
        self._late = time.monotonic() + STRIKING_S
        # Seconds within which the next kill comes, by step: what the step took when it was last asked.
        self._usual_s = {"back": 1.0}
        self.made: list[tuple[str, str]] = []
        # One thread for the whole run: Linux ends a broker as soon as the thread that started it ends.
        self._thread = ThreadPoolExecutor(1)

    def left(self, step: str) -> int:
        """How many kills are left for a step; none once it is late."""
        if step not in self._steps or time.monotonic() > self._late:
            return 0
        return self._most - sum(struck == step for struck, _ in self.made)

    def ask(self, job: Job | WayBack, step: str, **what: Any) -> dict[str, Any]:
        """Ask, kill something meanwhile, and ask again until an answer comes."""
        left = self.left(step) - self.IN_A_ROW
        while True:
            answered = threading.Event()
            striking = self._thread.submit(self._strike, job, step, max(left, 0), answered)
            answer = job.ask(**what)
            answered.set()
            striking.result()
            if job.process.poll() is not None:
                job.again()
            if answer and "failed" not in answer:
                self._usual_s[step] = answer["s"]
                return answer
            say(step, "is asked again:", answer.get("failed", "nobody answered")[:200])

    def _strike(self, job: Job | WayBack, step: str, until: int, answered: threading.Event) -> None:
        """Kill one thing after another, until there is an answer or so many are left."""
        kinds = KINDS if isinstance(job, Job) else ("broker", "command")
        while self.left(step) > until:
            kind = kinds[sum(struck == step for struck, _ in self.made) % len(kinds)]
            if answered.wait(self._chance.uniform(0.05, 0.9) * self._usual_s.get(step, 6.0)):
                return  # it was faster than usual
            if job.process.poll() is not None:
                continue  # it has ended by itself, or is not started again yet
            if kind == "python worker":
                workers = python_workers(job.process.pid)
                if not workers:
                    continue  # none yet
                with suppress(ProcessLookupError):
                    os.kill(self._chance.choice(workers), signal.SIGKILL)
            elif kind == "broker":
                self._broker.stop(by=signal.SIGKILL)
                self._broker.start()
            elif kind == "driver":
                assert isinstance(job, Job)
                job.kill(signal.SIGKILL)
            else:
                job.process.kill()
            self.made.append((step, kind))
            say(len(self.made), "kills, the last one:", step, kind)


class Place:
    """A broker and a driver, for one run after the other; use it as a context manager."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self.folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="reshape-")))
        self.broker = self._stack.enter_context(Broker(version="4.4.0"))
        return self

    @cached_property
    def job(self) -> Job:
        """The driver, which is started when it is asked for."""
        job = Job(self.folder)
        self._stack.callback(lambda: job.kill(signal.SIGKILL))
        return job

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def run(place: Place, scenario: Scenario, records: int, rate: int) -> dict[str, Any]:
    """What a run found and took."""
    with ExitStack() as stack:
        return _Run(scenario, records, rate, place, stack).result()


def run_back(place: Place, scenario: Scenario, records: int) -> dict[str, Any]:
    """What the way back leaves of groups' commits while it is struck; it needs no Spark.

    The new topic has records with the copy's header, as a copy leaves them, and three groups have positions
    on it. The way back is asked again and again, each time after these were written anew.
    """
    servers = place.broker.bootstrap_servers
    kafka = Kafka(servers)
    old, new = kafka.create_topic(scenario.old), kafka.create_topic(scenario.new)
    settings = {"servers": servers, "old": old, "new": new, "new_count": scenario.new, "new_profile": "java"}
    producer = Producer({"bootstrap.servers": servers, "partitioner": PARTITIONERS["java"], "log_level": 0})
    for number in range(records):
        key = b"user-%d" % number
        producer.produce(old, b"", key)
        producer.produce(new, b"", key, headers=[(HEADER, b"0:%d" % number)])
    assert producer.flush(600) == 0
    groups = [Group(f"back-{number}-{uuid.uuid4().hex[:6]}", servers, "classic", 1) for number in range(3)]
    offsets = {
        topic: dict.fromkeys(range(count), 1 + number)
        for number, (topic, count) in enumerate({old: scenario.old, new: scenario.new}.items())
    }
    strikes, way_back, differing = Strikes(place.broker, scenario), WayBack(place.folder / "back.log"), []
    for group in groups:
        group.commit(old, offsets[old])
        assert group.committed_offsets(old, scenario.old) == offsets[old]
    while strikes.left("back"):
        for group in groups:
            group.commit(new, offsets[new])
        answer = strikes.ask(way_back, "back", on=settings)
        assert "failed" not in answer, answer
        differing.append(
            sum(
                len(group.committed_offsets(new, scenario.new))
                + len(group.committed_offsets(old, scenario.old).items() ^ offsets[old].items())
                for group in groups
            )
        )
    copies = len(read_topic(servers, new))
    say(scenario.name, "left", sum(differing), "commits that differ, and", records - copies, "copies too few")
    return {
        "name": scenario.name,
        "struck": [list(strike) for strike in strikes.made],
        "undone": differing,
        "copies_lost": records - copies,
    }


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
            "new_count": scenario.new,
            "old_profile": profile,
            "new_profile": "java",
            "keys": KEYS,
            "checkpoint": str(self._checkpoints / "copy"),
        }
        first = min(records // (len(scenario.writers) + 1), MOST_OF_A_CLIENT)
        rule = "consistent_random" if scenario.old_rule == "mixed" else PARTITIONERS[profile]
        self._writers = [
            Writer(client, self._servers, self._old, rule, (first, rate // len(scenario.writers), KEYS))
            for client in scenario.writers
        ]
        for writer in self._writers:
            stack.callback(writer.kill)
        self._of_spark = records - first * len(scenario.writers)
        self._job = place.job
        self._job.rounds.clear()
        self._behind = max(BEHIND, records // 100)
        self._strikes = Strikes(place.broker, scenario)
        names = [("classic", 10**6), ("consumer", 10**6), ("classic", max(records // 200, 50))]
        names = names if scenario.writers else []
        self._groups = [
            Group(f"{protocol}-{number}-{uuid.uuid4().hex[:6]}", self._servers, protocol, limit)
            for number, (protocol, limit) in enumerate(names)
        ]

    def result(self) -> dict[str, Any]:
        self._must(self._job.ask(on=self._settings, do="write", first=0, count=self._of_spark))
        for writer in self._writers:
            writer.await_first()
        for group in self._groups:
            group.start(self._old)
        times: dict[str, Any] = {}
        # The connector copies first: both then read what is in the page cache, and it the lesser part.
        if self._plain:
            asked = {"topic": self._plain, "checkpoint": str(self._checkpoints / "plain")}
            say(self._scenario.name, "is copied by the connector")
            times["connector"] = self._must(self._job.ask(on=self._settings, do="connector", **asked))
        follow = {"do": "copy", "until_behind": self._behind, "also_write": 500}
        say(self._scenario.name, "copies")
        times["copy"] = self._ask("copy", **follow)
        rounds = list(self._job.rounds)
        while self._strikes.left("following"):
            self._ask("following", **follow)
        # The switch: writers end and groups stop, then the command copies the rest and writes positions.
        say(self._scenario.name, "is switched")
        begin = time.monotonic()
        written = {writer.client: writer.drain() for writer in self._writers}
        commits = {group.name: group.stop(self._old, self._scenario.old) for group in self._groups}
        stopped_s = time.monotonic() - begin
        switch = ["--switch", "--execute", "--checkpoint", self._settings["checkpoint"], "-o", "json"]
        times["switch"] = self._ask("switch", do="command", options=switch)
        pause_s = time.monotonic() - begin
        groups = {group["group"]: group for group in json.loads(times["switch"]["printed"])["groups"]}
        way_back = WayBack(self._log)
        times["back"] = self._must(way_back.ask(self._settings))
        undone = [self._commits_beside(commits)]
        while self._strikes.left("back"):
            # As the switch has left them, for the next way back.
            for group in self._groups:
                group.commit(self._new, groups[group.name]["positions"])
            self._must(self._strikes.ask(way_back, "back", on=self._settings))
            undone.append(self._commits_beside(commits))
        self._ask("switch", do="command", options=switch)
        say(self._scenario.name, "is proven")
        times["prove"] = self._ask("prove", do="prove")
        while self._strikes.left("prove"):
            times["prove"] = self._ask("prove", do="prove")
        ends = dict(topic_bounds({"bootstrap.servers": self._servers}, self._new).ends)
        read = {group.name: group.read_rest(self._new, ends) for group in self._groups}
        found = {
            **asdict(self._scenario),
            "records": times["prove"]["records"],
            "of": written | {"spark": "rest"},
            "rounds": rounds,
            "times": {
                step: {name: round(answer[name], 1) for name in ("s", "cpu_s", "load")}
                for step, answer in times.items()
            },
            "pause_s": round(pause_s, 1),
            "stopped_s": round(stopped_s, 1),
            "proof": {
                name: value
                for name, value in times["prove"].items()
                if name not in {"s", "cpu_s", "load", "done"}
            },
            "struck": [list(strike) for strike in self._strikes.made],
            "undone": undone,
        }
        if not self._scenario.writers:
            return found | {"seen": {}, "groups": {}}
        old = read_columns(self._servers, self._old, copied=False)
        found["seen"] = compare(old, read_columns(self._servers, self._new, copied=True))
        found["groups"] = {
            group.name[:-7]: compare_reads(old, commits[group.name], read[group.name])
            | {"promised": groups[group.name]["repeats"]}
            for group in self._groups
        }
        return found

    def _ask(self, step: str, **what: Any) -> dict[str, Any]:
        """Ask, and kill something meanwhile if the step is to be struck."""
        if not self._strikes.left(step):
            return self._must(self._job.ask(on=self._settings, **what))
        return self._must(self._strikes.ask(self._job, step, on=self._settings, **what))

    def _commits_beside(self, commits: dict[str, dict[int, int]]) -> int:
        """How many commits are not what they were before the switch, of which none was on the new topic."""
        return sum(
            len(group.committed_offsets(self._new, self._scenario.new))
            + len(
                group.committed_offsets(self._old, self._scenario.old).items() ^ commits[group.name].items()
            )
            for group in self._groups
        )

    def _must(self, answer: dict[str, Any]) -> dict[str, Any]:
        assert answer, self._log.read_text()[-3000:]
        assert "failed" not in answer, answer["failed"]
        return answer


def say(*words: object) -> None:
    """Tell whoever waits how far it is."""
    print(time.strftime("%H:%M:%S"), *words, flush=True)
