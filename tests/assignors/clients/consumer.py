"""A consumer in a process of its own: prints its member id and partitions whenever they change.

`python consumer.py CLIENT SERVERS GROUP TOPIC ASSIGNORS INSTANCE_ID`; several assignors, which kafka-python
takes, are "one,another"; "-" is no instance id; SIGTERM ends it cleanly.
"""

import asyncio
import json
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

SESSION_TIMEOUT_MS = 6_000  # a killed member is missed for that long; a slow machine must not exceed it
# A consumer of kafka-python 3.0 may forget to ask for the topic it subscribes to, and asks when this is over.
METADATA_MAX_AGE_MS = 5_000
stopping = False


def stop(*_: object) -> None:
    global stopping  # noqa: PLW0603 - a signal handler has no other way to say so
    stopping = True


def say(member: str, generation: int | None, partitions: Iterable[int], protocol: str | None = None) -> None:
    """Tell the state, and when it was so; the clock is the same in all processes."""
    state = {
        "member": member,
        "generation": generation,
        "partitions": sorted(partitions),
        "protocol": protocol,
    }
    sys.stdout.write(json.dumps({**state, "at": time.monotonic()}) + "\n")
    sys.stdout.flush()


def run_kafka_python(servers: str, group: str, topic: str, assignors: str, instance_id: str | None) -> None:
    from kafka import ConsumerRebalanceListener, KafkaConsumer

    from assignors.clients.kafka_python import finish_rejoin, kafka_python_assignors

    strategies = kafka_python_assignors(*assignors.split(","))
    consumer = KafkaConsumer(
        bootstrap_servers=servers,
        group_id=group,
        group_instance_id=instance_id,
        partition_assignment_strategy=strategies,
        session_timeout_ms=SESSION_TIMEOUT_MS,
        heartbeat_interval_ms=300,
        metadata_max_age_ms=METADATA_MAX_AGE_MS,
        enable_auto_commit=False,
    )

    def state(partitions: Callable[[], set[Any]]) -> tuple[str, int, list[int], str]:
        generation = strategies[0]._memory.generation  # read first: partitions are of this one or later
        joined = consumer._coordinator._generation
        numbers = sorted(partition.partition for partition in partitions())
        return joined.member_id, generation, numbers, joined.protocol

    class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
        """Tells at once what changes hands: another member may have it before this one polls again."""

        def on_partitions_revoked(self, revoked: set[Any]) -> None:
            say(*state(lambda: consumer.assignment() - set(revoked)))

        def on_partitions_assigned(self, assigned: set[Any]) -> None:
            say(*state(lambda: consumer.assignment() | set(assigned)))

    consumer.subscribe([topic], listener=Listener())
    said = None
    while not stopping:
        consumer.poll(100)
        finish_rejoin(consumer)
        now = state(consumer.assignment)
        if now != said:
            said = now
            say(*now)
    consumer.close()


def run_librdkafka(servers: str, group: str, topic: str, assignors: str, instance_id: str | None) -> None:
    """It does not know its generation; while it has nothing it is said to have none."""
    from confluent_kafka import Consumer

    config = {
        "bootstrap.servers": servers,
        "group.id": group,
        "partition.assignment.strategy": assignors,
        "session.timeout.ms": SESSION_TIMEOUT_MS,
        "heartbeat.interval.ms": 300,
        "enable.auto.commit": False,
    }
    consumer = Consumer(config if instance_id is None else {**config, "group.instance.id": instance_id})

    def telling(change: Callable[[set[int], set[int]], set[int]]) -> Callable[[Any, list[Any]], None]:
        def tell(_: Any, changed: list[Any]) -> None:
            had = {partition.partition for partition in consumer.assignment()}
            now = change(had, {partition.partition for partition in changed})
            say(consumer.memberid(), None if now else -1, now)

        return tell

    consumer.subscribe([topic], on_assign=telling(set.union), on_revoke=telling(set.difference))
    while not stopping:
        consumer.poll(0.1)
    consumer.close()


async def run_aiokafka(servers: str, group: str, topic: str, assignor: str, instance_id: str | None) -> None:
    from aiokafka import AIOKafkaConsumer

    from assignors.clients.aiokafka import aiokafka_assignor

    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=servers,
        group_id=group,
        group_instance_id=instance_id,
        partition_assignment_strategy=(aiokafka_assignor(assignor),),
        session_timeout_ms=SESSION_TIMEOUT_MS,
        heartbeat_interval_ms=300,
        enable_auto_commit=False,
    )
    await consumer.start()
    said = None
    while not stopping:
        await consumer.getmany(timeout_ms=100)
        coordinator = consumer._coordinator
        now = (
            coordinator.member_id,
            coordinator.generation,
            sorted(p.partition for p in consumer.assignment()),
        )
        if now != said:
            said = now
            say(*now)
    await consumer.stop()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGTERM, stop)
    client, *arguments, instance = sys.argv[1:]
    instance_id = None if instance == "-" else instance
    if client == "aiokafka":
        asyncio.run(run_aiokafka(*arguments, instance_id))
    elif client == "librdkafka":
        run_librdkafka(*arguments, instance_id)
    else:
        run_kafka_python(*arguments, instance_id)
