"""Scenario files of all three formats, read and, where they are small, run."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from copartition.simulation import Autoscaler, CrashLoop, Create, Grow, ScaleTo, Scenario, simulate
from copartition.simulation.inputs.file import scenario_to_dict
from tools.fuzz.mutation import mutate

if TYPE_CHECKING:
    from random import Random

YAML = b"""
topics: {orders: 12, pay: {partitions: 2, racks: [[a, b], [c]], id: 00000000-0000-0000-0000-000000000007}}
consumers:
  - {count: 3, prefix: worker}
  - {name: other, static: false, topics: [pay], rack: a, client: librdkafka, beat_ms: 1.5 s}
  - {name: finder, pattern: "o.*", assignors: [range, sticky]}
static: true
assignor: sticky
settings: {session.timeout.ms: 60000, heartbeat.interval.ms: 4 s}
settled_ms: 0
costs:
  poll_ms: {lognormal: {median: 50, p95: 2 s}}
  revoke_ms: {exponential: 10}
  assignor_ms: measured
  network_ms: 1
load: {rate: {orders: 10, pay: 0.5}, capacity: 40, batch: 100, commit: before, transactions: true}
until_ms: 10 min
question: Why so often?
source: https://example.com/1
conclusion: Everybody waits.
seed: 7
events:
  - {event: rolling-restart, at_ms: 10, every_ms: 100, down_ms: 5}
  - {event: join, at_ms: 5 s, consumer: late}
  - {event: join, at_ms: 5001, consumer: {name: later, static: false, topics: [pay]}}
  - {event: leave, at_ms: 6000, consumer: worker-0}
  - {event: crash, when: lag > 20 for 2 s, consumer: worker-1}
  - {event: grow, at_ms: 9000, topic: pay, partitions: 8}
  - {event: create, when: members < 3, topic: new, partitions: 3}
  - {event: slow-poll, at_ms: 10 s, consumer: worker-2, for_ms: {uniform: [1000, 6 s]}}
  - {event: stall, at_ms: 11 s, consumer: other, for_ms: 1 min}
  - {event: failover, at_ms: 12 s, down_ms: 500}
  - {event: duplicate-instance, at_ms: 13 s, consumer: worker-2}
  - {event: restart, at_ms: 20 s, consumer: worker-2, down_ms: {exponential: 3 s}, assignors: [sticky]}
  - {event: statefulset-roll, at_ms: 30 s, down_ms: 2 s, ready_ms: 3 s}
  - {event: deployment, at_ms: 1 min, surge: 2, unavailable: 1, start_ms: 1 s, ready_ms: 2 s}
  - {event: scale-to, at_ms: 2 min, consumers: 8, start_ms: 1 s}
  - {event: autoscaler, at_ms: 3 min, lag_per_consumer: 50, cooldown_ms: 60 s, fewest: 2, most: 9}
  - {event: crash-loop, at_ms: 0, consumer: finder, times: 3, up_ms: 5 s, backoff_ms: 1 s, most_ms: 3 s}
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
JSON = b"""{"topics": {"orders": 2}, "consumers": ["a", {"name": "b", "static": true}], "seed": 5,
"settings": {"session.timeout.ms": 6e4},
"events": [{"event": "leave", "at_ms": 5, "consumer": "a"}]}"""
FOLDER = tempfile.TemporaryDirectory(prefix="copartition-fuzz-")


def make(rng: Random) -> tuple[str, bytes]:
    ending, content = rng.choice(((".yaml", YAML), (".toml", TOML), (".json", JSON)))
    return ending, mutate(rng, content)


def check(case: tuple[str, bytes]) -> None:
    ending, content = case
    path = Path(FOLDER.name, f"scenario{ending}")
    path.write_bytes(content)
    scenario = Scenario.from_file(path)
    assert Scenario.from_dict(json.loads(json.dumps(scenario_to_dict(scenario)))) == scenario
    if _is_small(scenario):
        simulate(scenario)


def _is_small(scenario: Scenario) -> bool:
    """Whether it runs in much less than a second."""
    looks = [1_000, *(event.polling_ms for event in scenario.events if isinstance(event, Autoscaler))]
    counts = [len(scenario.consumers)]
    counts += [event.consumers for event in scenario.events if isinstance(event, ScaleTo)]
    counts += [event.times for event in scenario.events if isinstance(event, CrashLoop)]
    partitions = [topic.partitions for topic in scenario.topics]
    partitions += [event.partitions for event in scenario.events if isinstance(event, Grow | Create)]
    return max(counts) < 50 and sum(partitions) < 500 and (scenario.until_ms or 0) / min(looks) <= 1_000


TARGETS = {"scenarios": (make, check)}
