"""What consumer.py is, with kafka-python: the same commands, the same lines, the same clock.

Assignors named in `partition.assignment.strategy` are ours (`assignors.clients.kafka_python`); those named as
`own:range` are the client's, as all are without that setting.
"""

from __future__ import annotations

import json
import sys
import time
from queue import Empty
from typing import TYPE_CHECKING, Any

from kafka import ConsumerRebalanceListener, KafkaConsumer
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

from assignors.clients.kafka_python import finish_rejoin, kafka_python_assignors
from benchmarks.consumers.consumer import commands, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

STRATEGY = "partition_assignment_strategy"
MARK = "own:"
OWN = {
    assignor.name: assignor
    for assignor in (
        RangePartitionAssignor,
        RoundRobinPartitionAssignor,
        StickyPartitionAssignor,
        CooperativeStickyAssignor,
    )
}


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    """Says which partitions each callback was called with, and works on a revocation for some seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        say("assign", partitions=sorted(partition.partition for partition in assigned))

    def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
        say("revoke", partitions=sorted(partition.partition for partition in revoked))
        time.sleep(self._seconds)

    def on_partitions_lost(self, lost: Iterable[Any]) -> None:
        say("lost", partitions=sorted(partition.partition for partition in lost))


def say_read(records: Mapping[Any, Any]) -> bool:
    """Say which offsets of which partitions a poll gave; whether it gave any."""
    offsets = {of.partition: [some[0].offset, some[-1].offset] for of, some in records.items() if some}
    if offsets:
        say("read", offsets=offsets)
    return bool(offsets)


def choose_assignors(names: str, ours: Callable[..., Sequence[Any]], own: Mapping[str, Any]) -> list[Any]:
    """The client's own assignors where names begin with `own:`, else ours."""
    if not names.startswith(MARK):
        return [*ours(*names.split(","))]
    return [own[name.removeprefix(MARK)] for name in names.split(",")]


def main() -> None:
    settings = json.loads(sys.argv[1])
    lines = commands()
    config = {name.replace(".", "_"): value for name, value in settings["config"].items()}
    if STRATEGY in config:
        config[STRATEGY] = choose_assignors(config[STRATEGY], kafka_python_assignors, OWN)
    say("ready")
    if lines.get() != "start":
        return
    say("start")
    consumer = KafkaConsumer(**config)
    consumer.subscribe(settings["topics"], listener=Listener(settings.get("revoke", 0)))
    while True:
        try:
            command, _, argument = lines.get_nowait().partition(" ")
        except Empty:
            if say_read(consumer.poll(timeout_ms=100)):
                time.sleep(settings.get("batch", 0))
            finish_rejoin(consumer)
            continue
        say(command)
        if command == "close":
            consumer.close()
            say("closed")
            return
        time.sleep(float(argument))
        say("free")


if __name__ == "__main__":
    main()
