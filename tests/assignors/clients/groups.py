"""A group of consumer processes, and what our assignor says it should look like."""

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, Self

from assignors import Assignment, Group, Member, Topic, get_assignor
from tests.support.jars import fetch
from tests.support.waiting import GENEROUS_S

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
KAFKA_CLIENTS = ROOT / "tools" / "oracle" / "assignors" / "pom.xml"


class Consumer:
    """One consumer process and the last thing it said."""

    def __init__(self, command: list[str], said: "queue.Queue[None]", instance_id: str | None) -> None:
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        self._complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed when the process has ended
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self._complaints, env=env, text=True
        )
        self.instance_id = instance_id
        self.last: dict[str, Any] = {"member": "", "generation": -1, "partitions": []}
        self.said: list[dict[str, Any]] = []
        self._listener = threading.Thread(target=self._listen, args=(said,), daemon=True)
        self._listener.start()

    def _listen(self, said: "queue.Queue[None]") -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.last = json.loads(line)
            self.said.append(self.last)
            said.put(None)

    def complaints(self) -> str:
        """The end of what it wrote to stderr, and its exit code if it has ended."""
        self._complaints.seek(0)
        return f"exit code {self._process.poll()}: {self._complaints.read()[-4000:]}"

    def end(self, how: signal.Signals) -> None:
        self._process.send_signal(how)
        self._process.wait(GENEROUS_S)
        self._complaints.close()
        self._listener.join(GENEROUS_S)
        self.said.append({"at": time.monotonic(), "partitions": []})
        if self._process.stdout is not None:
            self._process.stdout.close()


class RealGroup:
    """Consumers of one topic in one group; use it as a context manager."""

    def __init__(self, servers: str, topic: str, partitions: int, assignor: str) -> None:
        self.topic, self.partitions = topic, partitions
        self._preferred = assignor.partition(",")[0]
        self._arguments = [servers, f"group-of-{topic}", topic, assignor]
        self._said: queue.Queue[None] = queue.Queue()
        self.consumers: list[Consumer] = []
        self._ended: list[Consumer] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for consumer in self.consumers:
            consumer.end(signal.SIGKILL)

    def start(self, client: str, instance_id: str | None = None, assignor: str | None = None) -> None:
        """One more consumer, by the group's assignor if no other is named."""
        *where, common = self._arguments
        command = [*_program(client), client, *where, assignor or common, instance_id or "-"]
        self.consumers.append(Consumer(command, self._said, instance_id))

    def end(self, index: int, how: signal.Signals) -> None:
        consumer = self.consumers.pop(index)
        self._ended.append(consumer)
        consumer.end(how)

    def owned_twice(self) -> set[int]:
        """The partitions that two consumers ever had at the same time."""
        consumers = enumerate([*self._ended, *self.consumers])
        said = sorted(
            (line["at"], number, line["partitions"]) for number, one in consumers for line in one.said
        )
        owned: dict[int, list[int]] = {}
        twice: set[int] = set()
        for _, number, partitions in said:
            owned[number] = partitions
            twice.update(
                partition for partition, owners in Counter(chain(*owned.values())).items() if owners > 1
            )
        return twice

    def settled(self) -> dict[str, list[tuple[str, int]]]:
        """Who has what, once all are in one generation and every partition has one owner."""
        deadline = time.monotonic() + GENEROUS_S
        while time.monotonic() < deadline:
            states = [consumer.last for consumer in self.consumers]
            read = sorted(number for state in states for number in state["partitions"])
            generations = {state["generation"] for state in states} - {None}  # librdkafka tells none
            if read == list(range(self.partitions)) and len(generations) == 1:
                return {
                    state["member"]: [(self.topic, number) for number in state["partitions"]]
                    for state in states
                }
            with suppress(queue.Empty):
                self._said.get(timeout=1)
        states = [(consumer.last, consumer.complaints()) for consumer in self.consumers]
        raise TimeoutError(f"the group did not settle: {states}")

    @property
    def generation(self) -> int:
        """The one that all are in once they have settled."""
        return max(consumer.last["generation"] for consumer in self.consumers)

    def plan(
        self, before: dict[str, list[tuple[str, int]]], now: dict[str, object]
    ) -> tuple[Assignment, int]:
        """What the assignor they prefer gives the members there are now, with what they had; its rounds."""
        instance_of = {consumer.last["member"]: consumer.instance_id for consumer in self.consumers}
        topics = [Topic(self.topic, self.partitions)]
        group = Group(topics, [Member(id_, [self.topic]) for id_ in before])
        joining = [
            Member(id_, [self.topic], instance_id=instance_of[id_]) for id_ in now if id_ not in before
        ]
        leaving = [id_ for id_ in before if id_ not in now]
        group = group.next(Assignment.of(before), leave=leaving, join=joining)
        rounds = 1
        while (assignment := get_assignor(self._preferred).assign(group)).transferring:
            group = group.next(assignment)
            rounds += 1
        return assignment, rounds


def _program(client: str) -> list[str]:
    if client != "java":
        return [sys.executable, str(HERE / "consumer.py")]
    return ["java", "-cp", f"{fetch(KAFKA_CLIENTS)}/*", str(HERE / "JavaConsumer.java")]
