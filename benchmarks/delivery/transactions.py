"""Cells of transactions: how long the last stable offset stands, and whether the records are committed."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from confluent_kafka import Consumer, IsolationLevel, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from assignors.group import Topic
from copartition.simulation import Load, Scenario, Settings
from copartition.simulation.records.flow import RecordFlow
from tests.support.proxy import END_TXN

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.broker import Kafka
    from tests.support.proxy import Proxy

TIMEOUT_S = 6.0
HAPPENS_S = 2.0
BACK_S = 4.0
"""Seconds from the begin of the transaction: to its timeout, to the fault, to whoever comes after it."""

RECORDS = 3

KILLED = "producer killed"
BACK = "producer killed, started again"
SECOND = "a second producer of the id"
STANDS = "producer stands still beyond transaction.timeout.ms"
ANSWER_LOST = "answer to the commit lost"
CELLS = (KILLED, BACK, SECOND, STANDS, ANSWER_LOST)

Seen = dict[str, Any]

CHILD = """
import sys, time
from confluent_kafka import Producer
servers, topic = sys.argv[1:]
producer = Producer({"bootstrap.servers": servers, "transactional.id": topic, "transaction.timeout.ms": %d})
producer.init_transactions(30)
producer.begin_transaction()
for _ in range(%d):
    producer.produce(topic, b"", partition=0)
producer.flush()
print("open", flush=True)
time.sleep(600)
""" % (TIMEOUT_S * 1000, RECORDS)  # noqa: UP031 - braces are Python's own there


def predict(cell: str) -> Seen:
    """What the simulation of read-process-write says: it commits every 5 s, last at 10 s."""
    begin = 10_000
    fault, back = begin + HAPPENS_S * 1000, begin + BACK_S * 1000
    told = _flow()
    told.reads([0], 0, 0)  # type: ignore[arg-type]
    one = np.array([0])
    if cell in {KILLED, BACK, SECOND}:
        told.stops(one, fault, committed=False)
    if cell in {BACK, SECOND}:
        told.reads(one, 0, back)
    if cell == KILLED:
        told.reads(one, 1, begin + 2_000 * TIMEOUT_S)
    if cell == STANDS:
        told.stalls(one, fault)
        told.reads(one, 0, begin + 1_000 * TIMEOUT_S + 1)
    result = told.result(100_000)
    stuck = result.uncommitted_ms.item() / 1000
    return {"aborted": bool(result.aborted.item()), "open_s": HAPPENS_S + stuck if stuck else None}


def _flow() -> RecordFlow:
    settings = Settings(auto_commit_interval_ms=5_000, transaction_timeout_ms=int(TIMEOUT_S * 1000))
    scenario = Scenario((Topic("t", 1),), (), load=Load(100, transactions=True), settings=settings)
    told = RecordFlow(scenario, np.array([0, 1]), ["t"])
    told.add_partitions(np.array([0]), 0)
    return told


def measure(cell: str, proxy: Proxy, kafka: Kafka) -> Seen:
    """How it ends on a broker; `fenced` is the error that the first producer's commit got."""
    topic = kafka.create_topic()
    if cell in {KILLED, BACK}:
        since = time.monotonic()
        with subprocess.Popen(
            [sys.executable, "-c", CHILD, kafka.bootstrap_servers, topic], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            since = time.monotonic()
            process.kill()
        if cell == BACK:
            time.sleep(BACK_S)
            _producer(kafka.bootstrap_servers, topic).init_transactions(30)
        return {"fenced": None, **_end(kafka, topic, since)}
    producer = _producer(proxy.bootstrap_servers, topic)
    producer.init_transactions(30)
    producer.begin_transaction()
    for _ in range(RECORDS):
        producer.produce(topic, b"", partition=0)
    producer.flush()
    since = time.monotonic()
    if cell == ANSWER_LOST:
        proxy.drop([END_TXN])
        return {"fenced": _error(producer.commit_transaction), **_end(kafka, topic, since)}
    if cell == SECOND:
        time.sleep(BACK_S)
        _producer(kafka.bootstrap_servers, topic).init_transactions(30)
    ended = _end(kafka, topic, since)
    return {"fenced": _error(producer.commit_transaction), **ended}


def _producer(servers: str, topic: str) -> Producer:
    return Producer(
        {
            "bootstrap.servers": servers,
            "transactional.id": topic,
            "transaction.timeout.ms": int(TIMEOUT_S * 1000),
            "log_level": 0,
        }
    )


def _error(call: Callable[[float], object]) -> str | None:
    try:
        call(30)
    except KafkaException as error:
        return str(error.args[0].name())
    return None


def _end(kafka: Kafka, topic: str, since: float) -> Seen:
    """Wait for the last stable offset to pass the records; how long, and whether they are there."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
    asked = {TopicPartition(topic, 0): OffsetSpec.latest()}

    def stable() -> int:
        answer = admin.list_offsets(asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=10)
        return int(answer[TopicPartition(topic, 0)].result().offset)

    while stable() <= RECORDS:
        time.sleep(0.05)
    open_s = time.monotonic() - since
    return {"aborted": not _committed_end(kafka, topic), "open_s": round(open_s, 1)}


def _committed_end(kafka: Kafka, topic: str) -> int:
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "unused",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    records = 0
    while (message := consumer.poll(20)) is not None and message.error() is None:
        records += 1
    consumer.close()
    return records
