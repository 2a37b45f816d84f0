"""A process of `read_process_write` that faults strike, each at a drawn call of its producer.

`python -m benchmarks.loop_faults.worker FOLDER NAME`: `plan.json` in the folder says what to do. Each fault
leaves a file there before it strikes (`benchmarks.faults.hits`), which says what was open.
"""

from __future__ import annotations

import json
import logging
import signal
import sys
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

from confluent_kafka import Consumer, Message

from benchmarks.faults.striking import Striking
from partitioning.clients.confluent import PartitioningProducer
from partitioning.clients.read_process_write import ProducerRecord, loop, read_process_write

POISONED = b"poisoned"


class Transactional(PartitioningProducer):
    """The loop's producer, watched."""

    def __init__(self, striking: Striking, config: dict[str, Any], **named: Any) -> None:
        super().__init__(config, **named)
        self._striking = striking

    def produce(self, *arguments: Any, **named: Any) -> None:
        super().produce(*arguments, **named)
        self._striking.open += 1
        self._striking.reach("produce")

    def begin_transaction(self) -> None:
        super().begin_transaction()
        self._striking.in_transaction = True

    def abort_transaction(self, *arguments: Any) -> None:
        super().abort_transaction(*arguments)
        self._note_end()

    def send_offsets_to_transaction(self, *arguments: Any) -> None:
        self._striking.reach("offsets")
        super().send_offsets_to_transaction(*arguments)

    def commit_transaction(self, *arguments: Any) -> None:
        self._striking.reach("commit")
        super().commit_transaction(*arguments)
        self._note_end()
        self._striking.reach("committed")

    def _note_end(self) -> None:
        self._striking.open, self._striking.in_transaction = 0, False


class AtLeastOnce(PartitioningProducer):
    """The same loop without transactions: outputs are flushed, then offsets are committed."""

    def __init__(
        self, striking: Striking, consumers: list[Consumer], config: dict[str, Any], **named: Any
    ) -> None:
        plain = {name: value for name, value in config.items() if not name.startswith("transaction")}
        super().__init__(plain | {"enable.idempotence": True}, **named)
        self._striking, self._consumers = striking, consumers
        self._offsets: Any = []

    def produce(self, *arguments: Any, **named: Any) -> None:
        super().produce(*arguments, **named)
        self._striking.open += 1
        self._striking.reach("produce")

    def init_transactions(self, *_: Any) -> None:
        pass

    def begin_transaction(self) -> None:
        pass

    def send_offsets_to_transaction(self, offsets: Any, _: Any, timeout: float) -> None:
        self._striking.reach("offsets")
        if left := self.flush(timeout):
            raise TimeoutError(f"{left} records were not sent in {timeout:g} s")
        self._offsets = offsets

    def commit_transaction(self, *_: Any) -> None:
        self._striking.reach("commit")
        self._consumers[0].commit(offsets=self._offsets, asynchronous=False)
        self._striking.open = 0
        self._striking.reach("committed")


def process(plan: dict[str, Any], message: Message) -> list[ProducerRecord]:
    """The value, with a mark.

    Raises:
        ValueError: it is poisoned.
    """
    value = message.value() or b""
    if POISONED in value:
        raise ValueError("poisoned")
    return [ProducerRecord(plan["target"], value + b" processed", message.key())]


def main() -> None:
    folder, name = Path(sys.argv[1]), sys.argv[2]
    plan = json.loads((folder / "plan.json").read_text())
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    stopping = Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    striking = Striking(folder, plan, name)
    watched: Any = partial(Transactional, striking)
    if not plan["transactions"]:
        consumers: list[Consumer] = []

        def remember_consumer(config: dict[str, Any]) -> Consumer:
            consumers.append(Consumer(config))
            return consumers[-1]

        loop.Consumer = remember_consumer  # type: ignore[assignment,misc]
        watched = partial(AtLeastOnce, striking, consumers)
    loop.PartitioningProducer = watched  # type: ignore[misc]
    servers = {"bootstrap.servers": plan["servers"]}
    static = {"group.instance.id": name} if plan["static"] else {}
    read_process_write(
        [plan["source"]],
        partial(process, plan),
        consumer_config={**servers, "group.id": plan["group"], **static, **plan["consumer"]},
        producer_config={**servers, "transactional.id": f"{plan['group']}/{name}", **plan["producer"]},
        partitioner="java",
        dead_letters=plan["dead_letters"],
        stopping=stopping,
        batch=plan["batch"],
    )


if __name__ == "__main__":
    main()
