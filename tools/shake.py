"""Look for races: run the live tests again and again while every core is busy: `python -m tools.shake`.

A live test that fails only at load fails in CI one day. Each round runs the live tests (or what --select and
the paths choose) beside a busy loop on each core, and nothing is tried again. At the end each test that ever
failed is listed with its rounds and its first traceback. Exit code 1: a test failed.
"""
# ruff: noqa: T201 - its output is what it is for

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
BUSY = "while True: pass"


def main(arguments: list[str] | None = None) -> int:
    """Shake as often as asked; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.shake", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--workers", type=int, default=5)
    parser.add_argument("--select", default="live and not nightly", help="markers, as for pytest -m")
    parser.add_argument("tests", nargs="*", help="paths; by default all tests")
    chosen = parser.parse_args(arguments)
    failures: dict[str, list[tuple[int, str]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder, busy_cores():
        for number in range(1, chosen.rounds + 1):
            report = Path(folder) / f"round-{number}.xml"
            last_line = run_once(chosen.tests, chosen.select, chosen.workers, report)
            for test, traceback in failures_in(report):
                failures[test].append((number, traceback))
                print(f"  FAILED {test}")
            print(f"round {number} of {chosen.rounds}: {last_line}", flush=True)
    for test, failed in sorted(failures.items()):
        rounds = ", ".join(str(number) for number, _ in failed)
        print(f"\n{test} failed in {len(failed)} of {chosen.rounds} rounds ({rounds}); at first:")
        print(failed[0][1])
    print(f"{len(failures)} tests failed in {chosen.rounds} rounds at load")
    return bool(failures)


def run_once(tests: list[str], select: str, workers: int, report: Path) -> str:
    """One round; the last line that pytest prints.

    Raises:
        SystemExit: pytest could not run, or ran no test.
    """
    command = [sys.executable, "-m", "pytest", "-q", "--benchmark-skip", "-p", "no:cacheprovider", *tests]
    command += ["-p", "no:rerunfailures", "--tier", "ci", "-m", select, f"--junitxml={report}"]
    command += ["--numprocesses", str(workers), "--dist", "loadfile"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode not in {0, 1} or not report.exists():
        sys.exit(f"{done.stdout}{done.stderr}\npytest ended with exit code {done.returncode}")
    return done.stdout.strip().rpartition("\n")[2]


def failures_in(report: Path) -> Iterator[tuple[str, str]]:
    """Each test that failed, with its traceback, from pytest's report in JUnit's XML."""
    for case in ET.parse(report).iter("testcase"):
        for fault in (*case.findall("failure"), *case.findall("error")):
            yield f"{case.get('classname')}::{case.get('name')}", fault.text or fault.get("message") or ""


@contextmanager
def busy_cores() -> Iterator[None]:
    """A process on each core that does nothing, all the time."""
    loops = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


if __name__ == "__main__":
    sys.exit(main())
