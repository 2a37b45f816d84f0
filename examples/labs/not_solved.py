"""What transactions do not solve: side effects, a database beside Kafka, a copy to another cluster.

Each part dies once between two steps and starts again. The outbox mends the database: a row and the message
of it are written in one transaction of the database, and a relay keeps its place in Kafka's transaction.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, Producer, TopicPartition

from examples.labs.kit import Lab, Picture
from examples.labs.kit import segments as seg
from examples.labs.kit.loop import committed_offset
from partitioning.testing.mock_cluster import MockCluster

if TYPE_CHECKING:
    from collections.abc import Sequence

ORDERS = ("tea", "milk", "bread")
PATIENCE_S = 60.0


def run(lab: Lab) -> None:
    lab.predict(
        {
            "side effect: records, committed": len(ORDERS),
            "side effect: mails": 2 * len(ORDERS),
            "database first, then dies: rows, records": [1, 0],
            "Kafka first, then dies: rows, records": [0, 1],
            "outbox, relay dies twice: rows, records": [len(ORDERS), len(ORDERS)],
            "copy to another cluster, dies: records there": 2 * len(ORDERS),
        }
    )
    mails, committed = side_effect(lab)
    first = [both(lab, database_first=first) for first in (True, False)]
    mended, copied = outbox(lab), copy(lab)
    lab.saw("side effect: mails", len(mails))
    lab.saw("side effect: records, committed", len(committed))
    lab.saw("database first, then dies: rows, records", first[0])
    lab.saw("Kafka first, then dies: rows, records", first[1])
    lab.saw("outbox, relay dies twice: rows, records", [len(ORDERS), len(mended)])
    lab.saw("copy to another cluster, dies: records there", copied)
    lab.picture = Picture("Three orders, each part dies once and starts again", label=250)
    lab.picture.cells("records, in a transaction", [(value, 0) for value in committed])
    lab.picture.cells(
        "mails sent while processing", [(value, number // 3) for number, value in enumerate(mails)]
    )
    lab.picture.cells("database first: rows, records", [(str(first[0][0]), 0), (str(first[0][1]), 5)])
    lab.picture.cells("Kafka first: rows, records", [(str(first[1][0]), 5), (str(first[1][1]), 0)])
    lab.picture.cells("records through the outbox", [(value, 0) for value in mended])
    lab.picture.figure("records copied to another cluster", copied, 12, f"{copied} of {len(ORDERS)}", 1)


def begin(lab: Lab, name: str) -> Producer:
    """A producer with a transaction under way; the transaction that a predecessor left open is aborted."""
    producer = Producer(lab.servers | {"transactional.id": name, "log_level": 0})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    return producer


def side_effect(lab: Lab) -> tuple[list[str], list[str]]:
    """The mails sent, and the records that readers of committed ones have."""
    topic, mails = lab.topic(), []
    for attempt in ("dies before its commit", "goes through"):
        producer = begin(lab, topic)
        for order in ORDERS:
            mails.append(order)  # stands for a mail, a payment, a call of another service
            producer.produce(topic, order)
        producer.flush(PATIENCE_S)
        if attempt == "goes through":
            producer.commit_transaction(PATIENCE_S)
    return mails, _committed_values(lab, topic)


def both(lab: Lab, *, database_first: bool) -> list[int]:
    """Rows and records of one order, where the application dies between the two writes."""
    topic = lab.topic()
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE orders (name)")
    if database_first:
        with database:
            database.execute("INSERT INTO orders VALUES ('tea')")
    else:
        producer = begin(lab, topic)
        producer.produce(topic, "tea")
        producer.commit_transaction(PATIENCE_S)
    rows = database.execute("SELECT count(*) FROM orders").fetchone()[0]  # here it dies
    database.close()
    return [rows, len(_committed_values(lab, topic))]


def outbox(lab: Lab) -> list[str]:
    """What a relay sends that dies before its commit, then after it, then goes through."""
    topic = lab.topic()
    database = sqlite3.connect(":memory:")
    database.executescript("CREATE TABLE orders (name); CREATE TABLE outbox (id INTEGER PRIMARY KEY, value);")
    for order in ORDERS:
        with database:  # one transaction: the row and the message of it, or neither
            database.execute("INSERT INTO orders VALUES (?)", [order])
            database.execute("INSERT INTO outbox (value) VALUES (?)", [order])
    for attempt in ("dies before its commit", "dies after it", "goes through"):
        producer = begin(lab, topic)
        ledger = Consumer(lab.servers | {"group.id": topic})
        done = committed_offset(ledger, topic)
        waiting = database.execute("SELECT id, value FROM outbox WHERE id > ? ORDER BY id", [done]).fetchall()
        if waiting:
            _relay(producer, topic, waiting, ledger)
        if waiting and attempt != "dies before its commit":
            producer.commit_transaction(PATIENCE_S)
        ledger.close()
    database.close()
    return _committed_values(lab, topic)


def _relay(producer: Producer, topic: str, waiting: Sequence[tuple[int, str]], ledger: Consumer) -> None:
    """Send messages; the last one's id goes into the same transaction, as the offset of a group."""
    for _, value in waiting:
        producer.produce(topic, value)
    place = TopicPartition(topic, 0, waiting[-1][0])
    producer.send_offsets_to_transaction([place], ledger.consumer_group_metadata(), PATIENCE_S)
    producer.flush(PATIENCE_S)


def copy(lab: Lab) -> int:
    """Records in a second cluster, whose copier dies before it commits what it has read of the first."""
    source = lab.topic()
    producer = Producer(lab.servers)
    for order in ORDERS:
        producer.produce(source, order)
    producer.flush(PATIENCE_S)
    with MockCluster() as other:
        other.create_topic("copy", 1)
        servers = {"bootstrap.servers": other.bootstrap_servers, "log_level": 0}
        there = Producer(servers | {"enable.idempotence": True})
        for _ in ("dies before it commits", "starts where the offset is: at 0"):
            for value in seg.read(lab.cluster.kafka.bootstrap_servers, source).values:
                there.produce("copy", value)
            there.flush(PATIENCE_S)
        reader = Consumer(servers | {"group.id": "unused"})
        _, end = reader.get_watermark_offsets(TopicPartition("copy", 0), PATIENCE_S)
        reader.close()
        return end


def _committed_values(lab: Lab, topic: str) -> list[str]:
    return seg.read_settled(lab.cluster.kafka.bootstrap_servers, topic).values
