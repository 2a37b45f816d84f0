"""A real consumer that polls in the background, and what its group has come to."""

import time
from collections.abc import Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from confluent_kafka import Consumer
from kafka import KafkaConsumer

from copartition.assignment_diff import diff
from copartition.groups import read_live
from partitioning.errors import SourceError
from tests.support.waiting import wait_for


class Worker:
    """A member of a group until it is stopped; while `still` is set it polls no more, as a slow one would."""

    def __init__(
        self, servers: str, group: str, topics: Sequence[str], client_id: str, **config: object
    ) -> None:
        self._consumer = self._connect(servers, group, client_id, config)
        self._consumer.subscribe(list(topics))
        self._new_topics: list[str] = []
        self._stopped = Event()
        self.still = Event()
        self._thread = Thread(target=self._poll, daemon=True)
        self._thread.start()

    def _connect(self, servers: str, group: str, client_id: str, config: dict[str, object]) -> Any:
        return Consumer({"bootstrap.servers": servers, "group.id": group, "client.id": client_id, **config})

    def subscribe(self, topics: Sequence[str]) -> None:
        """Read these topics instead, from the next poll on."""
        self._new_topics = list(topics)

    def _poll(self) -> None:
        while not self._stopped.is_set():
            if self._new_topics:
                self._consumer.subscribe(self._new_topics)
                self._new_topics = []
            if self.still.is_set():
                time.sleep(0.1)
            else:
                self._consumer.poll(0.1)

    def stop(self) -> None:
        """Leave the group."""
        self._stopped.set()
        self._thread.join()
        self._consumer.close()


class PythonWorker(Worker):
    """A member that runs kafka-python."""

    def _connect(self, servers: str, group: str, client_id: str, config: dict[str, object]) -> Any:
        consumer = KafkaConsumer(
            bootstrap_servers=servers,
            group_id=group,
            client_id=client_id,
            auto_commit_interval_ms=200,
            **config,
        )
        poll = consumer.poll
        consumer.poll = lambda seconds: poll(timeout_ms=int(1000 * seconds))
        return consumer


@contextmanager
def starting(broker):
    """Starts members of a group, of one topic or several; all leave in the end."""
    started = []

    def start(group, topic, client_id, kind=Worker, **config):
        topics = [topic] if isinstance(topic, str) else topic
        started.append(kind(broker.bootstrap_servers, group, topics, client_id, **config))
        return started[-1]

    try:
        yield start
    finally:
        for worker in started:
            worker.still.clear()
            worker.stop()


def settings(broker):
    return {"bootstrap.servers": broker.bootstrap_servers}


def read_or_nobody(group, broker):
    """The group, or one without members while the coordinator has not heard of it yet."""
    try:
        return read_live(group, settings(broker))
    except SourceError:
        return diff({}, {}).before, None


def wait_for_group(group, broker):
    """The group as soon as the coordinator has heard of it."""
    return wait_for(lambda: read_or_nobody(group, broker), lambda found: found[0].name == group)
