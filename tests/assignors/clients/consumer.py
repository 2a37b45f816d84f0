"""A consumer in a process of its own: prints its member id and partitions whenever they change.

`python consumer.py CLIENT SERVERS GROUP TOPIC ASSIGNOR INSTANCE_ID`, "-" for none; SIGTERM ends it cleanly.
"""

import asyncio
import json
import signal
import sys
import warnings

SESSION_TIMEOUT_MS = 6_000  # a killed member is missed for that long; a slow machine must not exceed it
stopping = False


def stop(*_: object) -> None:
    global stopping  # noqa: PLW0603 - a signal handler has no other way to say so
    stopping = True


def say(member: str, generation: int, partitions: list[int]) -> None:
    sys.stdout.write(
        json.dumps({"member": member, "generation": generation, "partitions": partitions}) + "\n"
    )
    sys.stdout.flush()


def run_kafka_python(servers: str, group: str, topic: str, assignor: str, instance_id: str | None) -> None:
    from kafka import KafkaConsumer

    from assignors.clients.kafka_python import KafkaPythonAssignor

    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=servers,
        group_id=group,
        group_instance_id=instance_id,
        partition_assignment_strategy=[KafkaPythonAssignor(assignor)],
        session_timeout_ms=SESSION_TIMEOUT_MS,
        heartbeat_interval_ms=300,
        enable_auto_commit=False,
    )
    said = None
    while not stopping:
        consumer.poll(100)
        generation = consumer._coordinator._generation
        now = (
            generation.member_id,
            generation.generation_id,
            sorted(p.partition for p in consumer.assignment()),
        )
        if now != said:
            said = now
            say(*now)
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
    else:
        run_kafka_python(*arguments, instance_id)
