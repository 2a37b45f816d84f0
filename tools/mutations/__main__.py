"""Change the source in one place at a time and see whether the tests notice: `python -m tools.mutations`.

It all happens in copies, two at a time. With an argument, only files whose path has that text. The quick tier
of a mutation's tests runs first, then the next tier, until a test notices the mutation. That the same tests
pass where nothing is changed is checked once. Exit code 1: one of the mutations survived.
"""
# ruff: noqa: T201 - its output is what it is for

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

from tests.support.tiers import TIERS
from tools.mutations.table import MUTATIONS, Mutation

ROOT = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__")
"""Byte code is known by time and size, which a mutation need not change."""

ENDLESS_S = 300


PASSED: set[tuple[str, ...]] = set()
"""Tiers and tests that passed where nothing was changed."""

AT_A_TIME = 2
NO_TEST = 5
"""pytest's exit code where a tier leaves out every test."""


def main(part: str = "") -> int:
    """Try them; the exit code."""
    chosen = [mutation for mutation in MUTATIONS if part in mutation.path]
    with TemporaryDirectory() as folder, ThreadPoolExecutor(AT_A_TIME) as runner:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(AT_A_TIME):
            copies.put(Path(shutil.copytree(ROOT, f"{folder}/copy-{number}", ignore=LEFT_OUT)))
        with borrow_source(copies) as copy:
            check_rows(chosen, copy)
        tiers = list(runner.map(lambda mutation: show(mutation, copies), chosen))
    counts = Counter(tiers)
    for tier in TIERS:
        print(f"{counts[tier]} of {len(chosen)} mutations were noticed by the tier {tier}")
    print(f"{counts[None]} survived")
    return bool(counts[None])


@contextmanager
def borrow_source(copies: SimpleQueue[Path]) -> Iterator[Path]:
    """A copy of the source that nobody else changes meanwhile."""
    copy = copies.get()
    try:
        yield copy
    finally:
        copies.put(copy)


def show(mutation: Mutation, copies: SimpleQueue[Path]) -> str | None:
    """The tier that notices a mutation, printed as it is known; None where none does."""
    with borrow_source(copies) as copy:
        tier = noticing_tier(mutation, copy)
    verdict = f"noticed by {tier}" if tier else "SURVIVED"
    print(f"{verdict:16} {mutation.path}: {mutation.old!r} -> {mutation.new!r}", flush=True)
    return tier


def check_rows(mutations: list[Mutation], copy: Path) -> None:
    """Every text is there once, stands for another one, and its tests are there."""
    for mutation in mutations:
        times = (copy / mutation.path).read_text(encoding="utf-8").count(mutation.old)
        if times != 1:
            sys.exit(
                f"{mutation.path} has {mutation.old!r} {times} times, not once: "
                "mend its row in tools/mutations"
            )
        missing = [test for test in mutation.tests.split() if not (copy / test.partition("::")[0]).exists()]
        if missing or mutation.old == mutation.new:
            fault = f"there is no {missing[0]}" if missing else "it changes nothing"
            sys.exit(f"{mutation.path}, {mutation.old!r}: {fault}: mend its row in tools/mutations")


def noticing_tier(mutation: Mutation, copy: Path) -> str | None:
    """The cheapest tier in which a test fails where the source is changed so; None where none does."""
    path, tests = copy / mutation.path, mutation.tests.split()
    source = path.read_text(encoding="utf-8")
    for tier in TIERS:
        path.write_text(source.replace(mutation.old, mutation.new), encoding="utf-8")
        try:
            noticed = failure(tests, copy, tier)
        finally:
            path.write_text(source, encoding="utf-8")
        if noticed:
            check_unchanged(tests, copy, tier)
            return tier
    return None


def check_unchanged(tests: list[str], copy: Path, tier: str) -> None:
    """A test that fails in any case notices nothing."""
    if (tier, *tests) in PASSED:
        return
    if output := failure(tests, copy, tier):
        sys.exit(f"{output}\nThe tests fail without any mutation: mend them first.")
    PASSED.add((tier, *tests))


def failure(tests: list[str], copy: Path, tier: str) -> str:
    """What pytest says where a test of a tier fails, cannot be loaded or does not end; else nothing."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--tier", tier, *tests]
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        run = subprocess.run(
            command,
            cwd=copy,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=ENDLESS_S,
            text=True,
        )
    except subprocess.TimeoutExpired:
        return f"not done after {ENDLESS_S} s"
    if run.returncode == NO_TEST and tier != TIERS[-1]:
        return ""
    if run.returncode not in {0, 1, 2}:
        sys.exit(f"{run.stdout}\npytest could not run {' '.join(tests)}")
    return run.stdout if run.returncode else ""


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
