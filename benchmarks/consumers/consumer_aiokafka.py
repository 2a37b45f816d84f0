"""What consumer.py is, with aiokafka and our assignors: the same commands, the same lines, the same clock."""

from __future__ import annotations

import asyncio
import json
import sys
from queue import Empty
from typing import TYPE_CHECKING, Any

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

from assignors.clients.aiokafka import aiokafka_assignors
from benchmarks.consumers.consumer import commands, say
from benchmarks.consumers.consumer_kafka_python import STRATEGY, choose_assignors, say_read

if TYPE_CHECKING:
    from collections.abc import Iterable
    from queue import SimpleQueue


OWN = {
    assignor.name: assignor
    for assignor in (RangePartitionAssignor, RoundRobinPartitionAssignor, StickyPartitionAssignor)
}


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    """Says which partitions each callback was called with."""

    def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        say("assign", partitions=sorted(partition.partition for partition in assigned))

    def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
        say("revoke", partitions=sorted(partition.partition for partition in revoked))


async def consume(settings: dict[str, Any], lines: SimpleQueue[str]) -> None:
    """Read until told to close."""
    config = {name.replace(".", "_"): value for name, value in settings["config"].items()}
    if STRATEGY in config:
        config[STRATEGY] = choose_assignors(config[STRATEGY], aiokafka_assignors, OWN)
    consumer = AIOKafkaConsumer(**config)
    consumer.subscribe(settings["topics"], listener=Listener())
    await consumer.start()
    while True:
        try:
            command, _, argument = lines.get_nowait().partition(" ")
        except Empty:
            say_read(await consumer.getmany(timeout_ms=100))
            continue
        say(command)
        if command == "close":
            await consumer.stop()
            say("closed")
            return
        await asyncio.sleep(float(argument))
        say("free")


def main() -> None:
    settings = json.loads(sys.argv[1])
    lines = commands()
    say("ready")
    if lines.get() == "start":
        say("start")
        asyncio.run(consume(settings, lines))


if __name__ == "__main__":
    main()
