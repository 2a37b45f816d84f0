"""Java libraries that tests need, fetched once through Maven.

They are kept in `COPARTITION_CACHE` (default `~/.cache/copartition`), one folder for each state of a pom.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"


class JarsError(RuntimeError):
    """Maven could not fetch what a pom file names."""


def cache_folder() -> Path:
    """Where what takes long to fetch or build is kept between runs."""
    return Path(os.environ.get("COPARTITION_CACHE", "~/.cache/copartition")).expanduser()


def missing_tools() -> str:
    """What must be installed before jars can be fetched and run; empty where nothing is missing."""
    wanted = {"java": "Java 17", "mvn": "Maven"}
    missing = [name for command, name in wanted.items() if shutil.which(command) is None]
    return f"needs {' and '.join(missing)}: install it, and put it on the PATH" if missing else ""


def fetch(pom: Path) -> Path:
    """The folder with every runtime dependency of a pom file, fetched where it is not there yet.

    A fetch that was cut short leaves no such folder, so the next call does it again; of calls at the same
    time one fetches and the others wait.

    Raises:
        JarsError: Maven failed; the message holds what it said.
    """
    digest = hashlib.sha256(pom.read_bytes()).hexdigest()[:16]
    folder = cache_folder() / f"jars-{digest}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.with_suffix(".lock")):
        if not folder.exists():
            unfinished = folder.with_suffix(".unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            _copy_dependencies(pom, unfinished)
            unfinished.rename(folder)
    return folder


def _copy_dependencies(pom: Path, folder: Path) -> None:
    goal = f"{DEPENDENCY_PLUGIN}:copy-dependencies"
    options = ["-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
    run = subprocess.run(
        ["mvn", "-q", "-B", "-f", pom, goal, *options],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        raise JarsError(f"Maven could not fetch the dependencies of {pom}:\n{run.stdout}{run.stderr}")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
