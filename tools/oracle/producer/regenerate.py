"""Run the real producer again, here: `python -m tools.oracle.producer.regenerate [line ...]`.

All of it takes 10 to 25 minutes. Figures are measurements: they differ from run to run, and from machine to
machine.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tools.oracle.clients.clusters import real_cluster
from tools.oracle.clients.programs import ask, built
from tools.oracle.producer.cases import cases

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.oracle.clients.programs import Command, Json
    from tools.oracle.producer.cases import Case

FIGURES = Path(__file__).parents[3] / "tests" / "golden" / "producer" / "figures.jsonl"
RUNS = 3  # of each case, those in which the machine kept pace best
QUIET_MS = 2.0  # 99 % of the records are sent that soon after their time
ROUNDS = 8  # at most, where the machine does not come to rest
WARM_UP = 3  # cases that run before a round, for the JVMs' compilers


def main() -> None:
    """Measure every case, or those whose line numbers (from 1) are given, and write one line a case."""
    table = list(cases())
    chosen = [int(argument) - 1 for argument in sys.argv[1:]] or list(range(len(table)))
    lines = FIGURES.read_text().splitlines() if sys.argv[1:] else [""] * len(table)
    for n, runs in zip(chosen, _measure([table[n] for n in chosen]), strict=True):
        lines[n] = json.dumps({"case": table[n], "runs": runs})
    FIGURES.parent.mkdir(parents=True, exist_ok=True)
    FIGURES.write_text("".join(f"{line}\n" for line in lines))


def _measure(table: Sequence[Case]) -> list[list[Json]]:
    """Run the cases until each has enough quiet runs; the quietest of each."""
    target = built(Path(__file__).parent) / "target"
    classpath = os.pathsep.join([str(target / "classes"), str(target / "lib" / "*")])
    command: Command = ["java", "-Xmx1g", "-cp", classpath, "copartition.oracle.PacedProducer"]
    runs: list[list[Json]] = [[] for _ in table]
    for number in range(ROUNDS):
        wanted = [n for n, done in enumerate(runs) if sum(map(_is_quiet, done)) < RUNS]
        if not wanted:
            break
        sys.stderr.write(f"round {number + 1}: {len(wanted)} cases ...\n")
        for n, report in zip(wanted, _run(command, [table[n] for n in wanted]), strict=True):
            runs[n].append(report)
    return [sorted(done, key=_lateness)[:RUNS] for done in runs]


def _run(command: Command, table: Sequence[Case]) -> list[Json]:
    asked = [{**case, "topic": f"paced-{n}"} for n, case in enumerate([*table[:WARM_UP], *table])]
    with real_cluster({case["topic"]: case["partitions"] for case in asked}) as servers:
        return ask(command, map(json.dumps, asked), KAFKA_BOOTSTRAP_SERVERS=servers)[-len(table) :]


def _lateness(report: Json) -> float:
    late_ms: float = report["late_ms"]["p99"]
    return late_ms


def _is_quiet(report: Json) -> bool:
    return _lateness(report) <= QUIET_MS


if __name__ == "__main__":
    main()
