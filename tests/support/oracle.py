"""The JVM's own assignors in a process of their own: one JSON request a line in, one JSON answer a line out.

The Java program is in `tests/oracle/assignors`. It is compiled once, into the cache folder of
`tests.support.jars`.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any, Self

from tests.support import jars

PROJECT = Path(__file__).parents[1] / "oracle" / "assignors"


class OracleError(RuntimeError):
    """The Java program could not be built, died, or could not make sense of a request."""


def class_path() -> str:
    """Where the program and its libraries are, compiled and fetched where they are not there yet."""
    libraries = jars.fetch(PROJECT / "pom.xml")
    sources = sorted((PROJECT / "src").rglob("*.java"))
    digest = hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    classes = jars.cache_folder() / f"assignor-oracle-{digest}"
    if not classes.exists():
        _compile(sources, libraries, classes)
    return f"{classes}{os.pathsep}{libraries}{os.sep}*"


def _compile(sources: list[Path], libraries: Path, classes: Path) -> None:
    with tempfile.TemporaryDirectory(dir=classes.parent, prefix="compiling-") as scratch:
        made = Path(scratch) / "classes"
        command = [
            "javac",
            "--release",
            "17",
            "-Xlint:all",
            "-cp",
            f"{libraries}{os.sep}*",
            "-d",
            made,
            *sources,
        ]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            raise OracleError(f"javac could not compile {PROJECT}:\n{run.stdout}{run.stderr}")
        try:
            made.rename(classes)
        except OSError:
            if not classes.exists():  # else another process was first, with the same thing
                raise


class Oracle:
    """A running oracle; use it as a context manager.

    Args:
        options: more options for the JVM, such as "-Xmx4g".
        timeout: seconds one request may take; the process is killed after that.
    """

    def __init__(self, *options: str, timeout: float = 120) -> None:
        self._command = [
            "java",
            "--add-opens=java.base/java.util=ALL-UNNAMED",
            *options,
            "-cp",
            class_path(),
            "copartition.oracle.Oracle",
        ]
        self._timeout = timeout
        self._process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", bufsize=1
        )

    def ask(self, op: str, **request: Any) -> dict[str, Any]:
        """The answer to one request."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        watchdog = threading.Timer(self._timeout, process.kill)
        watchdog.start()
        try:
            process.stdin.write(json.dumps({"op": op, **request}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watchdog.cancel()
        if not line:
            raise OracleError(f"the oracle ended, or took more than {self._timeout} s, on: {op} {request}")
        answer: dict[str, Any] = json.loads(line)
        if "oracle_error" in answer:
            raise OracleError(f"{answer['oracle_error']} on: {op} {request}")
        if answer.get("endless"):
            self.close()
            self._process = self._start()
        return answer

    def versions(self) -> dict[str, str]:
        """Which Kafka and which JDK answer."""
        return self.ask("versions")

    def assign(self, scenario: dict[str, Any]) -> list[dict[str, Any]]:
        """The steps of a scenario with every member resolved and the JVM's answer or exception.

        A step on which the JVM runs for ever is the last one.
        """
        steps = scenario["steps"]
        answers = self.ask("assign", assignor=scenario["assignor"], steps=steps)["steps"]
        return [{"topics": step["topics"], **answer} for step, answer in zip(steps, answers, strict=False)]

    def close(self) -> None:
        """Ends the process."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
