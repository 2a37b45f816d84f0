"""The process of the lab fencing: it writes, is stopped and woken from outside, and writes on.

`python frozen.py SERVERS TOPIC TRANSACTIONAL_ID`, the last one empty for a producer without transactions.
"""

from __future__ import annotations

import sys
from contextlib import suppress

from confluent_kafka import KafkaException, Producer

PATIENCE_S = 60.0
FENCED = {"_FENCED", "INVALID_PRODUCER_EPOCH"}
"""Errors of a fenced producer: librdkafka's own, and the leader's, whichever call hears first."""


def begin(servers: str, transactional_id: str) -> Producer:
    """A producer with a transaction under way, or one with idempotence alone where the id is empty."""
    settings = {"bootstrap.servers": servers, "enable.idempotence": True, "log_level": 0}
    if not transactional_id:
        return Producer(settings)
    producer = Producer(settings | {"transactional.id": transactional_id})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    return producer


def write(producer: Producer, topic: str, value: str) -> None:
    """Write one record, and wait until it is written or refused."""
    failures: list[KafkaException] = []
    producer.produce(
        topic, value, on_delivery=lambda error, _: failures.append(KafkaException(error)) if error else None
    )
    while len(producer):
        with suppress(KafkaException):  # a fatal error is raised by whichever call hears of it first
            producer.poll(0.1)
    if failures:
        raise failures[0]


def main(servers: str, topic: str, transactional_id: str) -> None:
    """Write, wait for a line, write on, and say what came of it."""
    producer = begin(servers, transactional_id)
    write(producer, topic, "old 1")
    print("open", flush=True)
    sys.stdin.readline()
    try:
        write(producer, topic, "old 2")
        if transactional_id:
            producer.commit_transaction(PATIENCE_S)
        print("written", flush=True)
    except KafkaException as error:
        name = error.args[0].name()
        print("fenced" if name in FENCED else name, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
