"""Consumers as processes of their own, and a producer that gives every partition its records."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING, Any, Self

from confluent_kafka import KafkaError, KafkaException, Producer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class Member:
    """A consumer process; it does nothing before `tell("start")`.

    Args:
        name: the consumer's name; a restarted consumer has it again.
        settings: what the process is given as JSON.
        folder: where its output goes.
        command: how the process is started.
    """

    def __init__(self, name: str, settings: dict[str, Any], folder: Path, command: Sequence[str]) -> None:
        self.name = name
        self.done: list[dict[str, Any]] = []
        self.client: str = settings["config"]["client.id"]
        self._output = folder / f"{self.client.replace('/', '_')}.jsonl"
        with self._output.open("wb") as output, self._output.with_suffix(".err").open("wb") as errors:
            self._process = subprocess.Popen(
                [*command, json.dumps(settings)], stdin=subprocess.PIPE, stdout=output, stderr=errors
            )

    def wait_until_ready(self) -> None:
        """Wait until the process is there and can start at once when told."""
        while not self._output.stat().st_size:
            if (code := self._process.poll()) is not None:
                errors = self._output.with_suffix(".err").read_text()
                raise RuntimeError(f"consumer {self.name} ended with exit code {code}:\n{errors}")
            time.sleep(0.05)

    def tell(self, command: str) -> None:
        """Give the process a command."""
        stdin: IO[bytes] | None = self._process.stdin
        assert stdin is not None
        stdin.write(f"{command}\n".encode())
        stdin.flush()

    def signal(self, what: str) -> None:
        """Do to the process what no process can say of itself, and remember when."""
        number = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "continue": signal.SIGCONT}[what]
        self.done.append({"t": round(time.monotonic(), 4), "event": what})
        self._process.send_signal(number)

    def events(self) -> list[dict[str, Any]]:
        """What the process said, and what was done to it, in order; it is over when this returns."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()
        lines = self._output.read_text().splitlines(keepends=True)
        said = [json.loads(line) for line in lines if line.endswith("\n")]
        return sorted([*said, *self.done], key=lambda event: event["t"])


class SteadyProducer:
    """Gives each partition of some topics a record ten times a second; use it as a context manager."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "linger.ms": 0,
                # A request that is not answered is sent again soon, and a producer that gets nothing
                # through for some ten seconds ends, and the run with it.
                "socket.timeout.ms": 3000,
                "queue.buffering.max.messages": 20_000,
                "topic.metadata.refresh.interval.ms": 500,
                "topic.metadata.propagation.max.ms": 100,
                "log_level": 0,
            }
        )
        self._topics: dict[str, int] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def begin(self, topic: str, partitions: int) -> None:
        """Give a topic's partitions records; each has its first one when this returns."""
        written: SimpleQueue[KafkaError | None] = SimpleQueue()
        for partition in range(partitions):
            self._producer.produce(
                topic, b"", partition=partition, on_delivery=lambda error, _: written.put(error)
            )
        for _ in range(partitions):
            if (error := written.get(timeout=30)) is not None:
                raise KafkaException(error)
        self._topics[topic] = partitions

    def go_on(self, topic: str, partitions: int) -> None:
        """Give a grown topic's new partitions records too."""
        self._producer.list_topics(topic, timeout=10)  # so that the producer knows them
        self._topics[topic] = partitions

    def stop(self, topic: str) -> None:
        """Give a topic no more records.

        Raises:
            RuntimeError: the producer has ended, so partitions had no records.
        """
        if not self._thread.is_alive():
            raise RuntimeError("the producer has ended; what it died of stands above")
        del self._topics[topic]

    def _run(self) -> None:
        due = time.monotonic()
        while not self._over.wait(max(0, due - time.monotonic())):
            due += 0.1
            for topic, partitions in list(self._topics.items()):
                for partition in range(partitions):
                    self._producer.produce(topic, b"", partition=partition)
            self._producer.poll(0)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._producer.flush(10)
