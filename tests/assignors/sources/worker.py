"""A real consumer that polls in the background."""

import time
from collections.abc import Sequence
from threading import Event, Thread

from confluent_kafka import Consumer


class Worker:
    """A member of a group until it is stopped; while `still` is set it polls no more, as a slow one would."""

    def __init__(
        self, servers: str, group: str, topics: Sequence[str], client_id: str, **config: object
    ) -> None:
        self._consumer = Consumer(
            {"bootstrap.servers": servers, "group.id": group, "client.id": client_id, **config}
        )
        self._consumer.subscribe(list(topics))
        self._stopped = Event()
        self.still = Event()
        self._thread = Thread(target=self._poll, daemon=True)
        self._thread.start()

    def _poll(self) -> None:
        while not self._stopped.is_set():
            if self.still.is_set():
                time.sleep(0.1)
            else:
                self._consumer.poll(0.1)

    def stop(self) -> None:
        """Leave the group."""
        self._stopped.set()
        self._thread.join()
        self._consumer.close()
