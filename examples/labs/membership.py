"""A consumer is killed: its partitions wait for the session to end. With group.instance.id it may come back.

Four groups of three side by side. A kill with a session of 45 s (the default since 3.0) and of 10 s (the one
before); a static member that is back within its session, and one that comes back later.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from assignors import Topic
from copartition import Scenario, SimulationResult, simulate
from copartition.simulation import Consumer, Crash, Restart, Settings
from examples.labs.kit import Between, Lab, Picture
from examples.labs.kit import segments as seg
from examples.labs.kit.readers import Reader, loads, unread_s, wait_for
from tests.support.broker import dies_with_us

PARTITIONS, HEARTBEAT_S = 6, 1
BEGINS_MS = 10_000


@dataclass(frozen=True)
class Case:
    """What is done to the second of three consumers, and the session of all three."""

    name: str
    session_s: int
    static: bool = False
    back: str = ""  # "soon", "late": when a static member is started again

    def predict(self) -> SimulationResult:
        """The same in the simulation."""
        who = "worker-1"
        event: Any = Crash(at_ms=BEGINS_MS, consumer=who)
        if self.static:
            down_s = self.session_s + 3 if self.back == "late" else 1
            event = Restart(at_ms=BEGINS_MS, consumer=who, down_ms=down_s * 1000)
        return simulate(
            Scenario(
                (Topic("t", PARTITIONS),),
                tuple(Consumer(f"worker-{number}", static=self.static) for number in range(3)),
                events=[event],
                assignor="range",
                settings=Settings(
                    session_timeout_ms=self.session_s * 1000, heartbeat_interval_ms=HEARTBEAT_S * 1000
                ),
                settled_ms=0,
                until_ms=BEGINS_MS + 2_000 * self.session_s + 20_000,
            )
        )

    def config(self, lab: Lab, topic: str, number: int) -> dict[str, Any]:
        return lab.servers | {
            "group.id": topic,
            "session.timeout.ms": self.session_s * 1000,
            "heartbeat.interval.ms": HEARTBEAT_S * 1000,
            "partition.assignment.strategy": "range",
            **({"group.instance.id": f"worker-{number}"} if self.static else {}),
        }


def cases(*, short: bool) -> list[Case]:
    """The session of the short form is the shortest that a broker takes by default."""
    first, second = (6, 7) if short else (45, 10)
    return [
        Case(f"killed, session {first} s", first),
        *([] if short else [Case(f"killed, session {second} s", second)]),
        Case("static, back within its session", 45, static=True, back="soon"),
        Case("static, back after its session", second, static=True, back="late"),
    ]


def run(lab: Lab) -> None:
    every = cases(short=lab.short)
    results = {case.name: case.predict() for case in every}
    # The last heartbeat may have been one interval before the kill.
    waits = {case.name: case.session_s - HEARTBEAT_S - 0.5 for case in every if case.back != "soon"}
    lab.predict(
        {f"{name}: rebalances": result.summary.rebalances for name, result in results.items()}
        | {f"{name}: seconds unread": Between(least, unit=" s") for name, least in waits.items()}
    )
    with ThreadPoolExecutor(len(every)) as together:
        seen = list(together.map(partial(live, lab), every))
    lab.picture = Picture("How long the partitions of the one that went had no reader", label=230)
    most = max(unread for _, unread in seen)
    for case, (rebalances, unread) in zip(every, seen, strict=True):
        lab.saw(f"{case.name}: rebalances", rebalances)
        if case.name in waits:
            lab.saw(f"{case.name}: seconds unread", unread)
        pause = results[case.name].summary.longest_pause_ms / 1000
        lab.figure(f"{case.name}: seconds unread", pause, unread)
        text = f"{unread:.1f} s, rebalances: {rebalances}"
        lab.picture.figure(case.name, unread, most, text, 1 if rebalances else 2)


def live(lab: Lab, case: Case) -> tuple[int, float]:
    """Rebalances since the consumer went, and how long the first of its partitions had no reader."""
    servers, topic = lab.cluster.kafka.bootstrap_servers, lab.topic(PARTITIONS)
    readers = [Reader(f"worker-{number}", [topic], case.config(lab, topic, number)) for number in (0, 2)]
    victim: Any = None
    try:
        if case.static:
            victim = Reader("worker-1", [topic], case.config(lab, topic, 1))
            assert wait_for(lambda: loads([*readers, victim]) == [2, 2, 2])
        else:
            victim = process(case.config(lab, topic, 1), topic)
            assert wait_for(lambda: loads(readers) == [2, 2])
        before, since = seg.generation(servers, topic), time.monotonic()
        (place, *_) = {(topic, number) for number in range(PARTITIONS)} - readers[0].has - readers[1].has
        if not case.static:
            victim.kill()
            wait_for(lambda: loads(readers) == [3, 3])
            return seg.generation(servers, topic) - before, unread_s(readers, place, since)
        victim.leave()
        since = time.monotonic()
        if case.back == "late":
            wait_for(lambda: loads(readers) == [3, 3])
            unread = unread_s(readers, place, since)
        victim = Reader("worker-1", [topic], case.config(lab, topic, 1))
        wait_for(lambda: loads([*readers, victim]) == [2, 2, 2])
        time.sleep(2 * HEARTBEAT_S)  # a rebalance that nobody expects would have begun by now
        if case.back == "soon":
            unread = unread_s([victim], place, since)
        return seg.generation(servers, topic) - before, unread
    finally:
        for reader in readers:
            reader.leave()
        if isinstance(victim, Reader):
            victim.leave()
        elif victim:
            victim.kill()
            victim.wait()


def process(config: dict[str, Any], topic: str) -> subprocess.Popen[bytes]:
    """A consumer that can be killed: a process of its own."""
    program = (
        "import sys, json; from confluent_kafka import Consumer; c = Consumer(json.loads(sys.argv[1]));"
        "c.subscribe([sys.argv[2]])\nwhile True: c.poll(1)"
    )
    settings = json.dumps(config | {"client.id": "worker-1"})
    return subprocess.Popen([*dies_with_us(), sys.executable, "-c", program, settings, topic])
