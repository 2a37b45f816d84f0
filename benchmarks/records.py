"""What a record costs in our producers beside the client that each is built on.

Run it with `python -m benchmarks.records`, which writes `benchmarks/records.md`; `--table` only prints.

Each pair sends the same fresh keys to a mock cluster in turns, in one process; a figure is the least of the
turns, and the CPU time of the thread that produces, which other work on the machine changes little.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import operator
import os
import re
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

from aiokafka import AIOKafkaProducer
from confluent_kafka import Producer, SerializingProducer
from confluent_kafka.aio import AIOProducer
from kafka import KafkaProducer

from partitioning.clients.aiokafka import AiokafkaPartitioner
from partitioning.clients.confluent import PartitioningProducer, PartitioningSerializingProducer
from partitioning.clients.confluent_aio import PartitioningAIOProducer
from partitioning.clients.kafka_python import KafkaPythonPartitioner
from partitioning.testing.mock_cluster import MockCluster

PAGE = Path(__file__).with_name("records.md")
TOPIC, PARTITIONS = "records", 12
RECORDS = 2_000
SIZES = [(16, 100), (16, 1000), (64, 100), (64, 1000)]
"""Bytes of keys and of values; clients written in Python are measured with the first only."""

HEAD = """# A record in our producers, beside the client that each is built on

Made by `python -m benchmarks.records`: {records:,} records with fresh keys a turn, the least of \
{turns} turns, librdkafka's mock cluster with one topic of {partitions} partitions; ns of CPU time of the \
producing thread, a record. Load average at the end: {load:.0f} on {cores} cores; compare within a row. \
"With reports" counts the call of `flush` that serves delivery reports, too. Bare librdkafka places by \
`murmur2_random`, ours by `partitioner="java"`; the others by their default, which is the same hash.

Arguments are given by keyword, which a function of Python reads faster than confluent-kafka's: hence \
ratios below 1. By position, ours took 1.15 to 1.28 times theirs with keys of 16 and values of 100 bytes. \
Without a callback the bare producer forgets what was lost; ours hears every report. What that costs is \
confluent-kafka's: for each report of a record with any callback it takes the lock of Python and makes a \
Message, with a copy of key and value.

"A callback of C that does nothing" is the bare producer with \
`operator.is_` as `on_delivery`, beside the bare one without a callback: no callback that counts can cost \
less. We know of no callable of C in Python's library that keeps failures only, so ours adds a call of \
Python. "Only errors reported" sets `delivery.report.only.error`, which makes no Message for a success; \
lost records are counted and raised all the same. It cannot be the default, as it holds for a whole \
producer, and a callback passed to `produce` would no longer be called for a success.
"""

ONLY_ERRORS = {"delivery.report.only.error": True}

COLUMNS = (
    "| producer | key, bytes | value, bytes | produce, theirs | ours | ratio "
    "| with reports, theirs | ours | ratio |"
)

BEFORE = "## Before keys were left to librdkafka"
"""The heading of the part of the page that stays."""

Figures: TypeAlias = tuple[list[float], list[float]]
"""Theirs and ours: ns a record to produce, and with reports."""


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.records", description=__doc__)
    options.add_argument("--table", action="store_true", help="only print the table")
    options.add_argument("--turns", type=int, default=30, help="of how many turns the least is taken")
    arguments = options.parse_args()
    turns = arguments.turns
    with MockCluster() as cluster:
        cluster.create_topic(TOPIC, PARTITIONS)
        found = {size: asyncio.run(measure(cluster.bootstrap_servers, turns, *size)) for size in SIZES}
    lines = [COLUMNS, re.sub(r"[^|]+", "---", COLUMNS)]
    for face in found[SIZES[0]]:
        for (key, value), faces in found.items():
            if face in faces:
                figures = [f"{a:,.0f} | {b:,.0f} | {b / a:.2f}" for a, b in zip(*faces[face], strict=True)]
                lines.append(f"| {face} | {key} | {value} | {' | '.join(figures)} |")
    print("\n".join(lines))
    if not arguments.table:
        load = os.getloadavg()[0]
        kept = PAGE.read_text().partition(BEFORE)[2]
        head = HEAD.format(
            records=RECORDS, turns=turns, partitions=PARTITIONS, load=load, cores=os.cpu_count()
        )
        PAGE.write_text("\n".join([head, *lines, "", BEFORE + kept]))


async def measure(servers: str, turns: int, key_bytes: int, value_bytes: int) -> dict[str, Figures]:
    """The figures of each face."""
    value = bytes(value_bytes)
    own: dict[str, Any] = {
        "bootstrap.servers": servers,
        "linger.ms": 50,
        "log_level": 0,
        "queue.buffering.max.messages": 10 * RECORDS,
    }
    bare = own | {"partitioner": "murmur2_random"}
    plain = Producer(bare), PartitioningProducer(own, partitioner="java")
    in_c = plain[0], Producer(bare | {"on_delivery": operator.is_})
    only_errors = plain[0], PartitioningProducer(own | ONLY_ERRORS, partitioner="java")
    serializing = SerializingProducer(bare), PartitioningSerializingProducer(own, partitioner="java")
    aio = AIOProducer(dict(bare)), PartitioningAIOProducer(own, partitioner="java")
    found = {
        "confluent-kafka": await compare(turns, plain, produce_unwatched, key_bytes, value),
        "confluent-kafka, only errors reported": await compare(
            turns, only_errors, produce_unwatched, key_bytes, value
        ),
        "bare, a callback of C that does nothing": await compare(
            turns, in_c, produce_unwatched, key_bytes, value
        ),
        "confluent-kafka, a callback": await compare(turns, plain, produce_watched, key_bytes, value),
        "SerializingProducer": await compare(turns, serializing, produce_unwatched, key_bytes, value),
        "AIOProducer": await compare(turns, aio, produce_awaited, key_bytes, value),
    }
    for producer in aio:
        await producer.close()
    if (key_bytes, value_bytes) == SIZES[0]:
        settings: dict[str, Any] = {"bootstrap_servers": servers, "linger_ms": 50}
        old = settings | {"api_version": (2, 0)}
        python = KafkaProducer(**old), KafkaProducer(**old, partitioner=KafkaPythonPartitioner("java"))
        found["kafka-python"] = await compare(turns, python, sent, key_bytes, value)
        placed = {"partitioner": AiokafkaPartitioner(TOPIC, "java")}
        loops = AIOKafkaProducer(**settings), AIOKafkaProducer(**settings, **placed)
        for client in loops:
            await client.start()
        found["aiokafka"] = await compare(turns, loops, awaited_send, key_bytes, value)
        for client in loops:
            await client.stop()
    return found


async def compare(turns: int, pair: tuple[Any, Any], send: Send, key_bytes: int, value: bytes) -> Figures:
    """The least of the turns, in which the two take part one after the other; the first one warms up."""
    figures = []
    gc.collect()
    for _ in range(turns + 1):
        turn = []
        for producer in pair:
            keys = [os.urandom(key_bytes) for _ in range(RECORDS)]
            begun = time.thread_time_ns()
            produced = await send(producer, keys, value)
            turn.append(((produced - begun) / RECORDS, (time.thread_time_ns() - begun) / RECORDS))
        figures.append(turn)
    theirs, ours = ([min(turn[which][kind] for turn in figures[1:]) for kind in (0, 1)] for which in (0, 1))
    return theirs, ours


# Each sends, waits for all reports, and gives the time in between. A call is made as in a program: a helper
# in between would make the two more alike.


async def produce_unwatched(producer: Any, keys: list[bytes], value: bytes) -> int:
    for key in keys:
        producer.produce(TOPIC, value=value, key=key)
    produced = time.thread_time_ns()
    producer.flush()
    return produced


async def produce_watched(producer: Any, keys: list[bytes], value: bytes) -> int:
    def on_delivery(_error: object, _message: object) -> None:
        pass

    for key in keys:
        producer.produce(TOPIC, value=value, key=key, on_delivery=on_delivery)
    produced = time.thread_time_ns()
    producer.flush()
    return produced


async def sent(producer: Any, keys: list[bytes], value: bytes) -> int:
    for key in keys:
        producer.send(TOPIC, value=value, key=key)
    produced = time.thread_time_ns()
    producer.flush()
    return produced


async def produce_awaited(producer: Any, keys: list[bytes], value: bytes) -> int:
    futures = [await producer.produce(TOPIC, value=value, key=key) for key in keys]
    produced = time.thread_time_ns()
    await producer.flush()
    await asyncio.gather(*futures)
    return produced


async def awaited_send(producer: Any, keys: list[bytes], value: bytes) -> int:
    futures = [await producer.send(TOPIC, value=value, key=key) for key in keys]
    produced = time.thread_time_ns()
    await asyncio.gather(*futures)
    return produced


Send: TypeAlias = Callable[[Any, list[bytes], bytes], Awaitable[int]]


if __name__ == "__main__":
    main()
