"""A long stream through the exactly-once sink: `python -m benchmarks.faults.soak --minutes 10`.

Every few seconds it takes the memory of Spark's Python workers and of the JVM, and counts the connections to
the broker; `soak.json` keeps them, and `benchmarks/faults.md` says what they come to.
"""

from __future__ import annotations

import argparse
import time
from contextlib import suppress
from pathlib import Path

from benchmarks.faults.__main__ import SAVED
from benchmarks.faults.environment import Environment
from benchmarks.faults.run import ROWS, under_way
from benchmarks.faults.scenarios import Scenario

EVERY_S = 5
FOREVER = 1_000_000
ESTABLISHED = "01"


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.faults.soak", description=__doc__)
    options.add_argument("--minutes", type=float, default=10)
    chosen = options.parse_args()
    samples = []
    stream = Scenario("soak", (), batches=FOREVER, stream=True)
    with (
        Environment() as environment,
        under_way("soak", stream, environment, exactly_once=True, seed=0) as running,
    ):
        while not running.finished_batches():
            time.sleep(EVERY_S)
        port = int(running.broker.bootstrap_servers.rpartition(":")[2])
        started = time.monotonic()
        while time.monotonic() - started < chosen.minutes * 60:
            workers, jvm = _memory_mb(environment.drivers(stream).folder)
            samples.append([round(time.monotonic() - started), workers, jvm, _connections(port)])
            time.sleep(EVERY_S)
        batches, failures = running.finished_batches(), running.errors()
    SAVED.add_soak({"records": batches * ROWS, "batches": batches, "failures": failures, "samples": samples})


def _memory_mb(folder: Path) -> tuple[int, int]:
    """Resident memory of the Python workers with their daemon, and of the JVM, of the run in this folder."""
    workers = jvm = 0
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"FAULTS_FOLDER={folder}\0" not in (process / "environ").read_text(errors="replace"):
                continue
            command = (process / "cmdline").read_text()
            pages = int((process / "statm").read_text().split()[1])
            jvm += pages if "java" in command else 0
            workers += pages if "benchmarks.faults.worker" in command else 0
    return workers * 4 // 1024, jvm * 4 // 1024


def _connections(port: int) -> int:
    """Connections of clients to this port."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    ends = (line.split() for line in lines)
    return sum(end[2].endswith(f":{port:04X}") and end[3] == ESTABLISHED for end in ends)


if __name__ == "__main__":
    main()
