"""The clients' own toolchains: what builds each program here and how it is run."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import venv
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.jars import cache_folder

if TYPE_CHECKING:
    from collections.abc import Iterable

Json = dict[str, Any]
Command = list[str | Path]

HERE = Path(__file__).parent
TIMEOUT_SECONDS = 600


def ask(command: Command, lines: Iterable[str], **environment: str) -> list[Json]:
    """Run a program with these lines on stdin; its JSON lines."""
    run = subprocess.run(
        command,
        input="".join(f"{line}\n" for line in lines),
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, **environment},
        timeout=TIMEOUT_SECONDS,
        check=True,
    )
    return [json.loads(line) for line in run.stdout.splitlines()]


def java(module: str, main_class: str, clients: str | None = None) -> Command:
    """A program of a Maven module; `clients` chooses the kafka-clients version where a module has several."""
    target = built(HERE / "java") / module / "target"
    classpath = [str(target / "classes"), str(target / "lib" / "*")]
    if clients is not None:
        classpath.append(str(target / "clients" / f"kafka-clients-{clients}.jar"))
    opens = "--add-opens=java.base/java.lang=ALL-UNNAMED"  # to seed ThreadLocalRandom
    return ["java", opens, "-cp", os.pathsep.join(classpath), f"copartition.oracle.{main_class}"]


@cache
def built(project: Path) -> Path:
    """A Maven project's folder, its classes and libraries in `target`."""
    subprocess.run(["mvn", "-q", "-B", "-f", project / "pom.xml", "process-classes"], check=True)
    return project


def go(package: str = ".") -> Command:
    """A program of the Go clients."""
    return ["go", "-C", HERE / "go", "run", package]


def node(program: str = "place") -> Command:
    """A program of the Node clients."""
    _installed_node()
    return ["node", HERE / "node" / f"{program}.mjs"]


def python(program: str) -> Command:
    """A program that needs only what this project's own environment has."""
    return [sys.executable, HERE / "python" / f"{program}.py"]


def python_apart(program: str) -> Command:
    """A program whose client has dependencies that this project does not want."""
    return [_python_apart(), "-W", "ignore", HERE / "python" / f"{program}.py"]


@cache
def _installed_node() -> None:
    command = ["npm", "ci", "--silent", "--ignore-scripts"]
    subprocess.run(command, cwd=HERE / "node", check=True, stdout=subprocess.DEVNULL)


@cache
def _python_apart() -> Path:
    requirements = HERE / "python" / "requirements.txt"
    digest = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:16]
    folder = cache_folder() / f"client-oracles-{digest}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix="building-") as scratch:
            made = Path(scratch) / "venv"
            venv.create(made, with_pip=True)
            pip: Command = [made / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
            subprocess.run([*pip, "install", "--quiet", "--require-hashes", "-r", requirements], check=True)
            made.rename(folder)
    return folder / "bin" / "python"
