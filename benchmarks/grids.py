"""A grid of simulations in one process, in one a core, and on Spark: CPU and the clock, in seconds.

`python -m benchmarks.grids` prints a table. The ways take turns; CPU counts all processes below this, Spark's
JVM too, and the session is there before the first turn.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from assignors import Topic
from benchmarks.sink_costs import cpu_s
from copartition.simulation import Consumer, RollingRestart, Scenario, simulate_grid
from spark_integration import simulate_grid as simulate_on_spark
from tests.support.spark import start_spark

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
GRID = {"assignor": ["range", "cooperative-sticky"], "session.timeout.ms": [10_000, 45_000]}
DEPLOY = Scenario(
    topics=(Topic("orders", 200),),
    consumers=tuple(Consumer(f"worker-{number}") for number in range(40)),
    events=(RollingRestart(at_ms=10_000, every_ms=60_000, down_ms=5_000),),
)


def main(sizes: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        spark = start_spark(Path(folder))
        ways = {
            "one process": lambda runs: simulate_grid(DEPLOY, GRID, runs, processes=1),
            "a process a core": lambda runs: simulate_grid(DEPLOY, GRID, runs),
            "Spark, a task a core": lambda runs: simulate_on_spark(spark, DEPLOY, GRID, runs).collect(),
        }
        print("| simulations | way | CPU, s | clock, s |\n|---|---|---|---|")
        for size in sizes:
            runs = size // 4
            taken: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
            answers = []
            for _ in range(ROUNDS):
                for name, way in ways.items():
                    cpu, begun = cpu_s(), time.perf_counter()
                    rows = way(runs)
                    taken[name].append((cpu_s() - cpu, time.perf_counter() - begun))
                    answers.append([[*row] if isinstance(row, tuple) else [*row.values()] for row in rows])
            assert all(answer == answers[0] for answer in answers), "the ways differ in their rows"
            for name, figures in taken.items():
                cpu, clock = (min(column) for column in zip(*figures, strict=True))
                print(f"| {size:,} | {name} | {cpu:.1f} | {clock:.1f} |", flush=True)
        spark.stop()
    print(f"load average at the end: {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [40, 400, 2000])
