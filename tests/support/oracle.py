"""The JVM's own assignors in a process of their own: one JSON request a line in, one JSON answer a line out.

The Java programs are in `tools/oracle/assignors` and, for Kafka Connect and Kafka Streams, in
`tools/oracle/tasks`. They are compiled once, into the cache folder of
`tests.support.jars`.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any, Self

from tests.support import jars

ORACLES = Path(__file__).parents[2] / "tools" / "oracle"


MOVED_IN = (4, 4)
"""The Kafka in which classes such as `LogContext` went from `common.utils` to `common.utils.internals`."""


class OracleError(RuntimeError):
    """The Java program died, or could not make sense of a request."""


def class_path(project: str = "assignors", version: str = "") -> str:
    """Where a program and its libraries are, compiled and fetched where they are not there yet.

    Args:
        project: the folder of the program.
        version: of Kafka; that of the program's pom if it is empty.
    """
    name = f"{project.removesuffix('s')}-oracle"
    sources = sorted((ORACLES / project / "src").rglob("*.java"))
    with (
        jars.pom_of_version(ORACLES / project / "pom.xml", version) as pom,
        tempfile.TemporaryDirectory(prefix="copartition-sources-") as folder,
    ):
        if version and tuple(map(int, version.split("."))) < MOVED_IN:
            sources = [_before_the_move(source, Path(folder)) for source in sources]
        return jars.class_path(name, pom, sources)


def _before_the_move(source: Path, folder: Path) -> Path:
    """A copy of a program that names classes as Kafka did before some went into a package of their own."""
    copy = folder / source.name
    copy.write_text(source.read_text().replace("kafka.common.utils.internals.", "kafka.common.utils."))
    return copy


class Oracle:
    """A running oracle; use it as a context manager.

    Args:
        options: more options for the JVM, such as "-Xmx4g".
        main: the program's class and the folder that it is in.
        timeout: seconds one request may take; the process is killed after that.
        version: of Kafka; that of the program's pom if it is empty.
    """

    def __init__(
        self,
        *options: str,
        main: tuple[str, str] = ("assignors", "Oracle"),
        timeout: float = 120,
        version: str = "",
    ) -> None:
        project, program = main
        self._command = [
            "java",
            "--add-opens=java.base/java.util=ALL-UNNAMED",
            *options,
            "-cp",
            class_path(project, version),
            f"copartition.oracle.{program}",
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
