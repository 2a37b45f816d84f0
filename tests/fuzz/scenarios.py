"""Scenario files of all three formats, read and, where they are small, run."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from assignors.simulation import Scenario, simulate
from tests.fuzz.mutation import mutate

if TYPE_CHECKING:
    from random import Random

YAML = b"""
topics: {orders: 12, pay: 4}
consumers: 3
static: true
assignor: sticky
settings: {session.timeout.ms: 60000}
heartbeats: in-step
seed: 7
events:
  - {event: rolling-restart, at_ms: 10, every_ms: 100, down_ms: 5}
  - {event: join, at_ms: 5000, consumer: late}
  - {event: join, at_ms: 5001, consumer: {name: other, static: false, topics: [pay]}}
  - {event: leave, at_ms: 6000, consumer: worker-0}
  - {event: crash, at_ms: 7000, consumer: worker-1}
  - {event: restart, at_ms: 8000, consumer: worker-2, down_ms: 20}
  - {event: grow, at_ms: 9000, topic: pay, partitions: 8}
"""
TOML = b"""
consumers = ["a", {name = "b", static = true}]
seed = 5
[topics]
orders = 2
[settings]
"session.timeout.ms" = 60000
[[events]]
event = "leave"
at_ms = 5
consumer = "a"
"""
JSON = b"""{"topics": {"t": 3}, "consumers": [{"name": "a", "topics": ["t"]}, "b"], "seed": 1,
"settings": {"heartbeat.interval.ms": 1e3},
"events": [{"event": "grow", "at_ms": 5, "topic": "t", "partitions": 6}]}"""
FOLDER = tempfile.TemporaryDirectory(prefix="copartition-fuzz-")


def make(rng: Random) -> tuple[str, bytes]:
    ending, content = rng.choice(((".yaml", YAML), (".toml", TOML), (".json", JSON)))
    return ending, mutate(rng, content)


def check(case: tuple[str, bytes]) -> None:
    ending, content = case
    path = Path(FOLDER.name, f"scenario{ending}")
    path.write_bytes(content)
    scenario = Scenario.from_file(path)
    if len(scenario.consumers) < 50 and sum(topic.partitions for topic in scenario.topics) < 500:
        simulate(scenario)


TARGETS = {"scenarios": (make, check)}
