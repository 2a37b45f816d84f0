"""Run the Spark tests on several versions of PySpark, each classic and Connect: `python -m tests.matrix`.

Each version gets an environment of its own in the cache folder of `tests.support.jars`, made once; the newest
is the one this runs in. Give versions or modes to choose among them: `python -m tests.matrix 3.5 connect`.
"""
# ruff: noqa: T201 - its output is what it is for

import os
import subprocess
import sys
import time
from pathlib import Path

from tests.support.jars import cache_folder

ROOT = Path(__file__).parents[1]
NEWEST = "newest"
# A version, and what it needs beside PySpark that newer releases of their own would break.
VERSIONS = {
    "3.5": ["pyspark==3.5.*", "numpy<2", "pandas<2.3", "pyarrow<19", "grpcio-status<1.70", "protobuf<6"],
    "4.0": ["pyspark==4.0.*", "pandas<3"],
    "4.1": ["pyspark==4.1.*", "pandas<3"],
    NEWEST: [],
}
MODES = ("classic", "connect")
TOOLS = [
    "pyarrow",
    "mmh3",
    "confluent-kafka",
    "kafka-python",
    "pytest",
    "hypothesis",
    "grpcio",
    "grpcio-status",
]
TOOLS += ["googleapis-common-protos", "setuptools", "zstandard", "msgspec", "PyYAML"]


def interpreter(version: str) -> Path:
    """The Python of a version's environment, made where it is not there yet."""
    if version == NEWEST:
        return Path(sys.executable)
    folder = cache_folder() / f"pyspark-{version}"
    python = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        uv = Path(sys.executable).with_name("uv")
        subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, folder], check=True)
        packages = [*VERSIONS[version], *TOOLS]
        subprocess.run([uv, "pip", "install", "--quiet", "--python", python, *packages], check=True)
        (folder / ".ready").touch()
    return python


def run(version: str, mode: str, arguments: list[str]) -> bool:
    """Whether the Spark tests pass on a version and mode."""
    command = [interpreter(version), "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    if version != NEWEST:
        command += ["-W", "ignore"]  # old releases of PySpark meet newer ones of everything else
    # Simulations need this project on executors.
    env = {**os.environ, "SPARK_TEST_MODE": mode, "PYTHONPATH": str(ROOT)}
    return (
        subprocess.run([*command, "tests/spark_integration"], cwd=ROOT, env=env, check=False).returncode == 0
    )


def main() -> int:
    """Run what the command line chooses; what begins with a dash is for pytest."""
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    versions = [version for version in VERSIONS if version in words] or list(VERSIONS)
    modes = [mode for mode in MODES if mode in words] or MODES
    if unknown := set(words) - VERSIONS.keys() - set(MODES):
        print(
            f"unknown: {', '.join(unknown)}; choose among {', '.join([*VERSIONS, *MODES])}", file=sys.stderr
        )
        return 2
    results = []
    for version in versions:
        for mode in modes:
            print(f"\nPySpark {version}, {mode}", flush=True)
            begin = time.monotonic()
            passed = run(version, mode, [word for word in sys.argv[1:] if word.startswith("-")])
            results.append((version, mode, passed, time.monotonic() - begin))
    print()
    for version, mode, passed, seconds in results:
        print(f"PySpark {version:7} {mode:8} {'passed' if passed else 'FAILED'} in {seconds:.0f} s")
    return not all(passed for *_, passed, _ in results)


if __name__ == "__main__":
    sys.exit(main())
