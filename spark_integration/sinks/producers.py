"""Producers that outlive a task: Spark runs one after another in a Python worker.

A producer costs threads, connections and three questions to the brokers, more than a small task's rows.
"""

from __future__ import annotations

import atexit
import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import confluent_kafka  # the module, since its classes cannot be pickled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from confluent_kafka import KafkaError, Message, Producer

HOME = "_copartition_idle_producers"
KEPT = 4
"""How many idle producers a worker keeps; those of other configurations that were used last."""


class Lease:
    """A producer while one task has it: no other gets it before it is given back.

    Args:
        config: librdkafka's configuration.
        report: the delivery callback; called for failures only.
    """

    def __init__(
        self, config: Mapping[str, str], report: Callable[[KafkaError | None, Message], None]
    ) -> None:
        self._config = tuple(sorted(config.items()))
        kept = _idle().pop(self._config, None)
        self.producer, self._reports = (
            kept if kept is not None and _serves(kept[0]) else _create_producer(config)
        )
        self._reports[:] = [report]

    def give_back(self) -> list[Producer]:
        """Keep the producer, which must have nothing queued; return the producers beyond the limit."""
        idle = _idle()
        idle[self._config] = (self.producer, self._reports)
        return [idle.pop(next(iter(idle)))[0] for _ in range(len(idle) - KEPT)]


def _create_producer(config: Mapping[str, str]) -> tuple[Producer, list[Any]]:
    reports: list[Callable[[KafkaError | None, Message], None]] = []

    # After a fatal error confluent-kafka calls this with an exception of its own under way, which has to end
    # the first call made here: a loop would take it for one of its own and leave it behind for good.
    def report(error: KafkaError | None, message: Message) -> None:
        reports[0](error, message)

    settings = {**config, "delivery.report.only.error": True, "on_delivery": report}
    return confluent_kafka.Producer(settings), reports


def _serves(producer: Producer) -> bool:
    """Whether an idle producer has met no fatal error since."""
    try:
        producer.poll(0)
    except (confluent_kafka.KafkaException, SystemError):  # the latter where Python hides the former
        return False
    return True


def _idle() -> dict[tuple[tuple[str, str], ...], tuple[Producer, list[Any]]]:
    """The idle producers of this process by configuration, the one used last at the end.

    This code travels by value, so that each task has globals of its own; a module made here is the same to
    all of them. A process forked from one with producers has none: their threads stayed behind.
    """
    if HOME not in sys.modules:
        sys.modules[HOME] = ModuleType(HOME)
        # Closed while Python is whole: a client that ends with it may leave an error behind as its exit code.
        atexit.register(lambda: _idle().clear())
    home = vars(sys.modules[HOME])
    return home.setdefault(f"of process {os.getpid()}", {})  # type: ignore[no-any-return]
