"""Change the source in one place at a time and see whether the tests notice: `python -m tools.mutations`.

It all happens in a copy. With an argument, only files whose path has that text. Exit code 1: one survived.
"""
# ruff: noqa: T201 - its output is what it is for

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.mutations.table import MUTATIONS, Mutation

ROOT = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__")
"""Byte code is known by time and size, which a mutation need not change."""

ENDLESS_S = 300


def main(part: str = "") -> int:
    """Try them; the exit code."""
    chosen = [each for each in MUTATIONS if part in each.path]
    with TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(ROOT, f"{folder}/copy", ignore=LEFT_OUT))
        check_table(chosen, copy)
        survivors = [each for each in chosen if not is_noticed(each, copy)]
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutations were noticed")
    return bool(survivors)


def check_table(mutations: list[Mutation], copy: Path) -> None:
    """Every row is still about the source, and the tests pass as long as nothing is changed."""
    check_rows(mutations, copy)
    tests = sorted({path for each in mutations for path in each.tests.split()})
    if output := failure(tests, copy):
        sys.exit(f"{output}\nThe tests fail without any mutation: mend them first.")


def check_rows(mutations: list[Mutation], copy: Path) -> None:
    """Every text is there once, stands for another one, and its tests are there."""
    for each in mutations:
        times = (copy / each.path).read_text(encoding="utf-8").count(each.old)
        if times != 1:
            sys.exit(f"{each.path} has {each.old!r} {times} times, not once: mend its row in tools/mutations")
        missing = [test for test in each.tests.split() if not (copy / test.partition("::")[0]).exists()]
        if missing or each.old == each.new:
            fault = f"there is no {missing[0]}" if missing else "it changes nothing"
            sys.exit(f"{each.path}, {each.old!r}: {fault}: mend its row in tools/mutations")


def is_noticed(mutation: Mutation, copy: Path) -> bool:
    """Whether a test fails where the source is changed so."""
    path = copy / mutation.path
    source = path.read_text(encoding="utf-8")
    path.write_text(source.replace(mutation.old, mutation.new), encoding="utf-8")
    noticed = bool(failure(mutation.tests.split(), copy))
    path.write_text(source, encoding="utf-8")
    print(
        "noticed " if noticed else "SURVIVED",
        f"{mutation.path}: {mutation.old!r} -> {mutation.new!r}",
        flush=True,
    )
    return noticed


def failure(tests: list[str], copy: Path) -> str:
    """What pytest says where a test fails, cannot be loaded or does not end; else nothing."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
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
    if run.returncode not in {0, 1, 2}:
        sys.exit(f"{run.stdout}\npytest could not run {' '.join(tests)}")
    return run.stdout if run.returncode else ""


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
