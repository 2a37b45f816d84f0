"""One scenario, run: drivers that write, faults that strike them, and what the topic holds in the end."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from signal import SIGKILL
from typing import TYPE_CHECKING, Any

from kafka.partitioner.default import murmur2

from benchmarks.faults import hits
from benchmarks.faults.checking import check
from benchmarks.faults.environment import CUT
from benchmarks.faults.scenarios import COMMITTING, PRODUCING
from benchmarks.faults.watching import Stalls, read
from tests.support.broker import Kafka

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.faults.environment import Environment
    from benchmarks.faults.scenarios import Scenario
    from tests.support.broker import Broker

PARTITIONS = 4
KEYS = 40
ROWS = 2_000
LIMIT_S = 400


class Run:
    """A scenario under way, as its acts see it.

    Attributes:
        broker: the cluster.
        topic: the one that is written.
        proxy: before it, for those who come through it.
        folder: where plan, hits and logs are.
    """

    def __init__(
        self, scenario: Scenario, environment: Environment, broker: Broker, topic: str, folder: Path
    ) -> None:
        self.broker = broker
        self.proxy = environment.proxy
        self.topic = topic
        self.folder = folder
        self._names = [f"driver-{number}" for number in range(scenario.drivers)]
        self._scenario = scenario
        self._drivers = environment.drivers(scenario)
        self._drivers.point_to(folder)
        self._struck = 0

    def start_drivers(self) -> None:
        """Have all work on this run."""
        for name in self._names:
            self._drivers.give(name, self.folder)

    def kill_driver(self) -> None:
        """Kill the drivers with their JVMs."""
        for name in self._names:
            self._drivers.kill(name)

    def follow(self) -> str:
        """Strike as the plan says until all drivers have ended; what became of them."""
        deadline = time.monotonic() + LIMIT_S
        while not all((self.folder / name / "ended").exists() for name in self._names):
            if time.monotonic() > deadline:
                return f"not finished after {LIMIT_S} s"
            if died := [name for name in self._names if not self._drivers.lives(name)]:
                return f"died: {', '.join(died)}"
            for hit in hits.read(self.folder, after=self._struck):
                self._struck += 1
                self._strike(hit)
            time.sleep(0.02)
        ended = {(self.folder / name / "ended").read_text() for name in self._names}
        return ", ".join(sorted(ended))

    def errors(self) -> dict[str, int]:
        """The errors that a write or a stream ended with before it was repeated, by kind."""
        lines = [
            line.rpartition("Error: ")[0].rpartition(" ")[2].rpartition(".")[2] + "Error"
            if "Error: " in line
            else "another"
            for path in self.folder.glob("*/errors.txt")
            for line in path.read_text().splitlines()
        ]
        return dict(Counter(lines).most_common())

    def keep_logs(self, name: str, seed: int) -> Path:
        """Copy all that the run left to where it stays."""
        kept = Path(tempfile.gettempdir()) / f"faults-{name.replace(' ', '-')}-{seed}"
        shutil.copytree(self._drivers.folder, kept, dirs_exist_ok=True)  # with this run behind its link
        return kept

    def end(self) -> None:
        """Leave nothing of an unfinished run behind."""
        self.kill_driver()
        for hit in hits.read(self.folder):
            for pid in (hit["pid"], hit["executor"]):
                with suppress(OSError):
                    if "spark" in Path(f"/proc/{pid}/cmdline").read_text():
                        os.kill(pid, SIGKILL)

    def _strike(self, hit: dict[str, Any]) -> None:
        if hit["fault"] == "wait":
            self._scenario.strike(self)
            (self.folder / f"done-{hit['number']:03}").touch()
            time.sleep(self._scenario.lasts_s)
            self._scenario.mend(self)

    def finished_batches(self) -> int:
        """How many batches all drivers have written."""
        return sum(1 for _ in self.folder.glob("*/finished-*"))


@contextmanager
def under_way(
    name: str, scenario: Scenario, environment: Environment, *, exactly_once: bool, seed: int
) -> Iterator[Run]:
    """A topic for a scenario, and drivers that work on it."""
    broker = environment.broker(scenario)
    topic = Kafka(broker.bootstrap_servers).create_topic(PARTITIONS, scenario.data_node)
    plan = {
        "seed": f"{seed}/{name}",
        "faults": scenario.faults,
        "calls": COMMITTING if exactly_once else PRODUCING,
        "within": ROWS // PARTITIONS // 3,
        "batches": scenario.batches,
        "rows": ROWS,
        "keys": KEYS,
        "partitions": PARTITIONS,
        "padding": 200,
        "cut": CUT,
        "topic": topic,
        "exactly_once": exactly_once,
        "stream": scenario.stream,
        "straight": scenario.straight,
        "tasks": scenario.tasks,
        "drivers": scenario.drivers,
        "servers": (environment.proxy if scenario.proxied else broker).bootstrap_servers,
    }
    with tempfile.TemporaryDirectory(prefix="copartition-faults-run-") as folder:
        (Path(folder) / "plan.json").write_text(json.dumps(plan))
        found = Run(scenario, environment, broker, topic, Path(folder))
        found.start_drivers()
        yield found


def run(
    name: str, scenario: Scenario, environment: Environment, *, exactly_once: bool, seed: int
) -> dict[str, Any]:
    """Run a scenario, and count."""
    started = time.monotonic()
    with under_way(name, scenario, environment, exactly_once=exactly_once, seed=seed) as running:
        servers, topic = running.broker.bootstrap_servers, running.topic
        with Stalls(servers, topic, PARTITIONS) as stalls:
            outcome = running.follow()
            if not stalls.wait_for_end(within_s=90):
                outcome += ", readers stand still"
        numbers = scenario.batches * ROWS
        written = {f"key-{key}": len(range(key, numbers, KEYS)) for key in range(KEYS)}
        homes = {key: (murmur2(key.encode()) & 0x7FFFFFFF) % PARTITIONS for key in written}
        committed = list(read(servers, topic, PARTITIONS))
        verdict = check(committed, written, homes)
        uncommitted = sum(1 for _ in read(servers, topic, PARTITIONS, "read_uncommitted"))
        struck = hits.read(running.folder)
        if outcome != "finished":
            print(f"{name}, {outcome}: see {running.keep_logs(name, seed)}", file=sys.stderr)
            running.end()
        return {
            "scenario": name,
            "sink": "exactly once" if exactly_once else "at least once",
            "seed": seed,
            "outcome": outcome,
            "records": numbers,
            "struck": len(struck),
            "open": sum(hit["open"] > 0 for hit in struck),
            "in_transaction": sum(hit["in_transaction"] and hit["open"] > 0 for hit in struck),
            **asdict(verdict),
            "aborted": uncommitted - len(committed),
            "copies": sum(1 for _ in running.folder.glob("copied-*")),
            "longest_stall_s": round(stalls.longest_s, 1),
            "seconds": round(time.monotonic() - started),
            "failures": running.errors(),
        }
