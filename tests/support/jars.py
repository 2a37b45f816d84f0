"""Java libraries that tests need, fetched once through Maven.

They are kept in `COPARTITION_CACHE` (default `~/.cache/copartition`), one folder for each state of a pom.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"


class JarsError(RuntimeError):
    """Maven could not fetch what a pom file names, or javac could not compile a program that uses it."""


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


def kafka_of(pom: Path) -> str:
    """The version of Kafka that a pom file names in its property `kafka.version`."""
    found = re.search(r"<kafka\.version>([^<]+)", pom.read_text())
    if found is None:
        raise JarsError(f"{pom} has no property kafka.version")
    return found[1]


@contextmanager
def pom_of_version(pom: Path, version: str) -> Iterator[Path]:
    """The path of a copy of a pom file with another Kafka in it; of the file itself if the version is ""."""
    if not version:
        yield pom
        return
    with tempfile.TemporaryDirectory(prefix="copartition-pom-") as folder:
        copy = Path(folder) / pom.name
        copy.write_text(re.sub(r"(<kafka\.version>)[^<]+", rf"\g<1>{version}", pom.read_text()))
        yield copy


def class_path(name: str, pom: Path, sources: list[Path]) -> str:
    """A Java program and its libraries: compiled and fetched where they are not there yet.

    Args:
        name: of the program; its classes are kept under it, one folder for each state of the sources.
        pom: names the libraries.
        sources: the program.

    Raises:
        JarsError: Maven or javac failed; the message holds what it said.
    """
    libraries = fetch(pom)
    # The pom counts, too: classes that javac made for another version of a library may not run on this one.
    contents = [path.read_bytes() for path in (pom, *sources)]
    digest = hashlib.sha256(b"\0".join(contents)).hexdigest()[:16]
    classes = cache_folder() / f"{name}-{digest}"
    if not classes.exists():
        _compile(sources, libraries, classes)
    return f"{classes}{os.pathsep}{libraries}{os.sep}*"


def _compile(sources: list[Path], libraries: Path, classes: Path) -> None:
    with tempfile.TemporaryDirectory(dir=classes.parent, prefix="compiling-") as scratch:
        made = Path(scratch) / "classes"
        options = ["--release", "17", "-Xlint:all", "-cp", f"{libraries}{os.sep}*", "-d", made]
        run = subprocess.run(["javac", *options, *sources], capture_output=True, text=True, check=False)
        if run.returncode:
            raise JarsError(f"javac could not compile {sources}:\n{run.stdout}{run.stderr}")
        try:
            made.rename(classes)
        except OSError:
            if not classes.exists():  # else another process was first, with the same thing
                raise


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
