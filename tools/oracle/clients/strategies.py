"""Have the Java producer's classes run the scenarios, and write what they do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tools.oracle.clients import golden, programs, scenarios
from tools.oracle.clients.clusters import real_cluster

if TYPE_CHECKING:
    from tools.oracle.clients.golden import Json
    from tools.oracle.clients.programs import Command

# 2.4 to 3.9.1 call a custom partitioner twice for a record that opens a batch; 3.9.2 and 4.x do not.
ROUND_ROBIN_VERSIONS = ("3.9.1", "3.9.2", "4.4.0")


def write_strategies() -> None:
    """Write the golden files of `strategies`."""
    current = programs.java("current", "Strategies")
    _write("built_in", list(scenarios.built_in()), current)
    _write("accumulator", list(scenarios.accumulator()), current)
    _write("round_robin", list(scenarios.round_robin()), current)
    _write("coordinator", list(scenarios.coordinator()), current)
    _write("sticky_cache", list(scenarios.sticky_cache()), programs.java("before4", "Strategies", "3.2.3"))
    for version in ROUND_ROBIN_VERSIONS:
        _write_producer(version)


def _write_producer(version: str) -> None:
    questions = list(scenarios.produce())
    command = programs.java("before4", "Strategies", version)
    with real_cluster({question["topic"]: question["partitions"] for question in questions}) as servers:
        _write(f"producer-{version}", questions, command, KAFKA_BOOTSTRAP_SERVERS=servers)


def _write(name: str, questions: list[Json], command: Command, **environment: str) -> None:
    answers = programs.ask(command, map(json.dumps, questions), **environment)
    pairs = zip(questions, answers, strict=True)
    golden.write(
        f"strategies/{name}", [{"scenario": question, "answer": answer} for question, answer in pairs]
    )
