"""Workers of Kafka Connect in distributed mode, each a process, and what they are asked over REST."""

from __future__ import annotations

import json
import subprocess
import time
import urllib.request
from pathlib import Path
from signal import SIGKILL, SIGTERM
from typing import TYPE_CHECKING, Any, Self
from urllib.error import HTTPError

from tests.support import jars
from tests.support.broker import dies_with_us, free_ports

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = Path(__file__).parent / "worker"
JAVA = [
    "java",
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
]

WORKERS = jars.kafka_of(HERE / "pom.xml")
"""The version of Connect that workers are of."""

SETTINGS = """
bootstrap.servers={servers}
group.id={group}
client.id={group}/{process}
listeners=http://127.0.0.1:{port}
key.converter=org.apache.kafka.connect.converters.ByteArrayConverter
value.converter=org.apache.kafka.connect.converters.ByteArrayConverter
config.storage.topic={group}-configs
config.storage.replication.factor=1
offset.storage.topic={group}-offsets
offset.storage.partitions=1
offset.storage.replication.factor=1
status.storage.topic={group}-status
status.storage.partitions=1
status.storage.replication.factor=1
"""


class WorkerError(RuntimeError):
    """A worker did not do what it was asked for in time, or ended by itself."""


def class_path() -> str:
    """What a worker and its connector need, fetched and compiled where it is not there yet."""
    return jars.class_path("connect-worker", HERE / "pom.xml", [HERE / "IdleSource.java"])


class Worker:
    """A process of Connect, from its start to its end; use it as a context manager.

    Args:
        servers: of the broker.
        group: the Connect cluster; its topics begin with the name.
        process: this worker's name in it.
        folder: for its settings and what it writes.
        settings: more of them.
    """

    def __init__(
        self, servers: str, group: str, process: str, folder: Path, settings: Mapping[str, object]
    ) -> None:
        self.process = process
        (port,) = free_ports(1)
        self._address = f"http://127.0.0.1:{port}"
        written = folder / f"{group}-{process}.properties"
        self._log = written.with_suffix(".log")
        text = SETTINGS.format(servers=servers, group=group, process=process, port=port)
        written.write_text(text + "".join(f"{name}={value}\n" for name, value in settings.items()))
        command = [
            *dies_with_us("KILL"),  # a worker without its broker does not end in order
            *JAVA,
            "-cp",
            class_path(),
            "org.apache.kafka.connect.cli.ConnectDistributed",
        ]
        with self._log.open("wb") as log:
            self._running = subprocess.Popen(
                [*command, written], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def leave(self) -> None:
        """End in order: the worker leaves its group."""
        self._running.send_signal(SIGTERM)
        self._running.wait(60)

    def crash(self) -> None:
        """End at once: the group notices when the session is over."""
        self._running.send_signal(SIGKILL)
        self._running.wait(60)

    def request(self, method: str, path: str, body: object = None, seconds: float = 120) -> Any:
        """The answer to a request over REST, tried again until the worker is ready for it.

        Raises:
            WorkerError: it is not within that time, or the worker has ended.
        """
        deadline = time.monotonic() + seconds
        while True:
            asked = urllib.request.Request(
                self._address + path,
                data=None if body is None else json.dumps(body).encode(),
                headers={"Content-Type": "application/json"},
                method=method,
            )
            try:
                with urllib.request.urlopen(asked, timeout=30) as answer:
                    text = answer.read()
                    return json.loads(text) if text else None
            except (OSError, HTTPError) as error:
                if self._running.poll() is not None or time.monotonic() > deadline:
                    raise WorkerError(
                        f"{method} {path} of worker {self.process}: {error}; its last lines:\n"
                        + "\n".join(self._log.read_text(errors="replace").splitlines()[-20:])
                    ) from error
                time.sleep(0.1)

    def close(self) -> None:
        """End, in whichever state it is."""
        self._running.kill()
        self._running.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
