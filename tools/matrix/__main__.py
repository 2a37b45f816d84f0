"""Run the tests on other versions of what they need: `python -m tools.matrix`.

Several versions of PySpark, each classic and Connect, run what may differ between them: the tests marked
`every_spark`, or with `--full` all that take a Spark session. `lowest` runs the quick tier on the lowest
versions that `pyproject.toml` declares, Python included; `python-3.14` runs the same on a newer Python with
the newest versions. A Python that is not installed here is taken from Debian's packages, where there is
apt-get. `kafka-4.3.1` and `kafka-3.9.1` run the tests that need a broker on one of that version: live
commands, transactions, sinks, exactly once.

Each version gets an environment of its own in the cache folder of `tests.support.jars`, made once from its
lock in `tools/matrix`; the newest is the one this runs in. Choose by version, mode or both:
`python -m tools.matrix lowest 3.5 4.0-connect`. Other words that begin with a dash are for pytest. Two run at
a time.

A skipped test fails its run. What a Spark cannot do is left out, as `tests/support/spark_features.py`
declares, and counted.
"""
# ruff: noqa: T201 - its output is what it is for

import hashlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

from tests.support.broker import KAFKA_VERSION
from tests.support.debian_python import debian_python
from tests.support.jars import cache_folder

ROOT = Path(__file__).parents[2]
NEWEST = "newest"
LOWEST = "lowest"
PYTHONS = {LOWEST: "3.11", "python-3.12": "3.12", "python-3.13": "3.13", "python-3.14": "3.14"}
"""The Python of each version whose one mode is `SPARKLESS`."""
LOCKS = {lock.stem: lock for lock in sorted(Path(__file__).parent.glob("*.lock"))}
NEWEST_LOCK = ROOT / "dev.lock"
OWN_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
MODES = ["classic", "connect"]
KAFKAS = ("kafka-4.3.1", "kafka-3.9.1")
"""Older brokers, beside that of `tests/support/broker/pom.xml`, which all other runs have."""
SPARKLESS = ""
"""The mode of runs that need no Spark."""
FULL = "--full"
AT_A_TIME = 2
LONGEST_S = 2700
"""Seconds after which a run is ended and has failed: the longest takes a third of that on two cores."""
LOGS = ROOT / "build" / "matrix"


class Result(NamedTuple):
    """How the tests went on one version and mode."""

    passed: bool
    summary: str
    output: str


def interpreter(version: str) -> Path:
    """The Python of a version's environment, made where it is not there yet."""
    if version in {NEWEST, *KAFKAS}:
        return Path(sys.executable)
    lock = LOCKS.get(version, NEWEST_LOCK)
    folder = cache_folder() / f"pyspark-{version}-{hashlib.sha256(lock.read_bytes()).hexdigest()[:16]}"
    python = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        uv = Path(sys.executable).with_name("uv")
        base = _base(uv, PYTHONS.get(version, OWN_PYTHON))
        subprocess.run([uv, "venv", "--quiet", "--clear", "--python", base, folder], check=True)
        sync = [uv, "pip", "sync", "--quiet", "--require-hashes", "--python", python, lock]
        subprocess.run(sync, check=True)
        (folder / ".ready").touch()
    return python


def _base(uv: Path, wanted: str) -> str | Path:
    """This Python if it will do, else one that is installed here, else Debian's."""
    if wanted == OWN_PYTHON:
        return sys.executable
    find = [uv, "python", "find", "--no-python-downloads", wanted]
    found = subprocess.run(find, capture_output=True, text=True, check=False).stdout.strip()
    return found or debian_python(wanted, cache_folder() / f"debian-python-{wanted}")


def run(version: str, mode: str, made: Callable[[], Path], options: list[str]) -> Result:
    """Run the tests of a version and mode, with the Python that `made` waits for."""
    full = FULL in options
    options = [option for option in options if option != FULL]
    command = [made(), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    if version in KAFKAS:
        rooms = ["tests/partitioning", "tests/copartition", "tests/spark_integration/sinks"]
        command += [*rooms, "--tier", "ci", "-m", "broker and not nightly", *options]
    elif mode == SPARKLESS:
        command += ["tests/partitioning", "tests/assignors", "tests/copartition", "--tier", "quick"]
        # The clients of a schema registry need packages that no extra of this project brings.
        command += ["--ignore-glob=*/test_registry*.py", *options]
    else:
        # What needs no session was tested with the newest Spark.
        chosen = ["ci", "-m", "spark and not nightly"] if full else ["ci", "-m", "every_spark and not slow"]
        command += ["tests/spark_integration", "--tier", *chosen, *options]
    if version in LOCKS:
        command += ["-W", "ignore"]  # old releases of PySpark meet newer ones of everything else
    # Simulations need this project on executors.
    env = {**os.environ, "SPARK_TEST_MODE": mode, "SPARK_TEST_MATRIX": "true", "PYTHONPATH": str(ROOT)}
    if version in KAFKAS:
        env[KAFKA_VERSION] = version.removeprefix("kafka-")
    if full:
        env["SPARK_TEST_PYTHON"] = str(command[0])  # Python and Spark as everybody has them
    begin = time.monotonic()
    log = LOGS / f"{version}-{mode or 'sparkless'}.log"
    end = _end(command, env, log)
    output = log.read_text(encoding="utf-8", errors="replace")
    # Not just the last line: clients that are still there may have the last word.
    *_, counts = ["no tests ran", *re.findall(r"^=* ?(\d+ .*) in [\d.]+s", output, re.MULTILINE)]
    passed = end == "exit code 0" and "passed" in counts and not re.search("skipped|xfailed", counts)
    verdict = f"{'passed' if passed else 'FAILED'} in {time.monotonic() - begin:.0f} s"
    notes = re.findall(r"^(?:left out|second tries): .*", output, re.MULTILINE)
    name = (
        version
        if version in KAFKAS
        else f"{version} without Spark"
        if mode == SPARKLESS
        else f"PySpark {version} {mode}"
    )
    heading = f"{name}: {verdict}, {counts}" if passed else f"{name}: {verdict}, {counts}, {end}"
    return Result(passed, "\n  ".join([heading, *notes]), output)


def _end(command: list[str | Path], env: dict[str, str], log: Path) -> str:
    """Run a command until it ends, at most `LONGEST_S`, and say how it ended.

    What the command prints goes to a file, not to a pipe: a JVM that outlives its test would hold the pipe
    open, and whoever reads the pipe would wait for its end for ever.
    """
    with log.open("wb") as out:
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=env, stdout=out, stderr=out, check=False, timeout=LONGEST_S
            )
        except subprocess.TimeoutExpired:
            return f"still running after {LONGEST_S} s, and ended"
    return f"exit code {done.returncode}"


def main() -> int:
    """Run what the command line chooses, and say at the end how each went."""
    words = {word for word in sys.argv[1:] if not word.startswith("-")}
    options = [word for word in sys.argv[1:] if word.startswith("-")]
    names = {
        (version, mode): {version, mode, f"{version}-{mode}"}
        for mode in MODES  # classic takes longer: first, so that no single run is left at the end
        for version in (NEWEST, *LOCKS)
        if version != LOWEST
    } | {(version, SPARKLESS): {version} for version in (*PYTHONS, *KAFKAS)}
    if unknown := words.difference(*names.values()):
        choice = sorted(set().union(*names.values()))
        print(f"unknown: {', '.join(unknown)}; choose among {', '.join(choice)}", file=sys.stderr)
        return 2
    chosen = [combination for combination, own in names.items() if own & words or not words]
    LOGS.mkdir(parents=True, exist_ok=True)
    # One environment is made while tests run in another.
    with ThreadPoolExecutor(1) as maker, ThreadPoolExecutor(AT_A_TIME) as runner:
        python = {version: maker.submit(interpreter, version) for version in dict(chosen)}
        runs = [
            runner.submit(run, version, mode, python[version].result, options) for version, mode in chosen
        ]
        for done in as_completed(runs):
            result = done.result()
            print("" if result.passed else result.output, result.summary, sep="\n", flush=True)
    results = [done.result() for done in runs]
    print("\nAll together:", *(result.summary for result in results), sep="\n")
    return not all(result.passed for result in results)


if __name__ == "__main__":
    sys.exit(main())
