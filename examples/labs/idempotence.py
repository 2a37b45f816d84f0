"""The same fault with idempotence: no duplicate, as each batch carries producer id, epoch and sequence.

Then what idempotence does not do: a new producer has a new id, so what the application sends twice is there
twice. Last, on three nodes, the leader dies before it answers; the new leader knows the sequence.
"""

from __future__ import annotations

import random
from signal import SIGKILL
from typing import TYPE_CHECKING

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.delivery.cells import Cell, classes, measure, predict, with_short_times
from benchmarks.delivery.producers import Librdkafka
from copartition.models import ProducerState, SequencedBatch, Verdict
from examples.labs.kit import Lab, Picture
from examples.labs.kit import segments as seg
from examples.labs.kit.cluster import cluster
from tests.support.raw_requests import ask, connect, produce_request, send

if TYPE_CHECKING:
    import socket

PROXIED = True
CELL = Cell("librdkafka", with_short_times(), "acknowledgement lost")
ERRORS = {45: Verdict.OUT_OF_ORDER_SEQUENCE_NUMBER, 47: Verdict.INVALID_PRODUCER_EPOCH}
BY_HAND = {"first": (0, 2), "next": (2, 1), "again": (2, 1), "a jump": (7, 1), "after the jump": (3, 1)}
"""Batches of one producer: the sequence of the first record, and how many records there are."""


def run(lab: Lab) -> None:
    assert lab.cluster.proxy
    lab.predict({"the lost answer: what goes wrong": list(classes(predict(CELL)))})
    result = measure(CELL, Librdkafka(), lab.cluster.proxy, lab.cluster.kafka)
    lab.saw("the lost answer: what goes wrong", list(classes(result)))
    lab.picture = Picture("Batches in the segment: producer, sequence and record")
    lab.picture.cells("answer of 3 lost", [(str(number), 0) for number in result.log])
    two_producers(lab)
    by_hand(lab)
    if not lab.short:  # it takes three nodes of its own
        leader_dies(lab)


def two_producers(lab: Lab) -> None:
    """An application that does not know whether its records were written, and sends them again."""
    servers, topic = lab.cluster.kafka.bootstrap_servers, lab.topic()
    lab.predict(
        {
            "sequences in the segment": [0, 1, 2, 0, 1, 2],
            "records that the application sent twice": 3,
            "producer ids": 2,
        }
    )
    for _ in range(2):
        producer = Producer(lab.servers | {"enable.idempotence": True})
        for value in "abc":
            producer.produce(topic, value)
            producer.flush()
    log = seg.read(servers, topic)
    columns = ("offset", "producer id", "epoch", "sequence", "record")
    lab.table("The segment", columns, [(*batch[:4], batch.values) for batch in log.batches])
    ids = list(dict.fromkeys(batch.producer_id for batch in log.batches))
    lab.saw("sequences in the segment", [batch.sequence for batch in log.batches])
    lab.saw("producer ids", len(ids))
    lab.saw("records that the application sent twice", len(log.values) - len({*log.values}))
    assert lab.picture
    for number, producer_id in enumerate(ids):
        batches = [batch for batch in log.batches if batch.producer_id == producer_id]
        cells = [(f"sequence {batch.sequence}: {batch.values[0]}", number) for batch in batches]
        lab.picture.cells(f"producer {number + 1}", cells)


def by_hand(lab: Lab) -> None:
    """Batches with sequences of our choice, and the leader's verdict on each."""
    servers, topic = lab.cluster.kafka.bootstrap_servers, lab.topic()
    state, expected = ProducerState(), {}
    for name, (first, records) in BY_HAND.items():
        verdict, state = state.receive(SequencedBatch(0, first, records))
        expected[f"by hand, {name} (sequence {first})"] = verdict.value
    lab.predict(expected)
    producer_id, end = random.randrange(1 << 40, 1 << 60), 0
    with connect(seg.leader(servers, topic)[1]) as leader:
        for what, (first, records) in zip(expected, BY_HAND.values(), strict=True):
            verdict = _send(leader, topic, producer_id, first, records, end)
            lab.saw(what, verdict.value)
            end = seg.read(servers, topic).high_watermark


def leader_dies(lab: Lab) -> None:
    """A batch is on all replicas; the leader is killed, its answer unread, and the batch is sent again."""
    what = "sent again to the new leader"
    _, state = ProducerState().receive(SequencedBatch(0, 0, 2))
    lab.predict({what: state.receive(SequencedBatch(0, 0, 2))[0].value, "copies on the new leader": 1})
    with cluster(nodes=3) as three:
        assert three.broker
        servers, topic = three.kafka.bootstrap_servers, f"lab-{random.randrange(1 << 40)}"
        new = NewTopic(topic, 1, replica_assignment=[[2, 3, 1]])  # node 1 is the controller: it lives
        admin = AdminClient({"bootstrap.servers": servers})
        admin.create_topics([new])[topic].result(30)
        three.kafka.wait_for_leaders(topic, 1)
        producer_id = random.randrange(1 << 40, 1 << 60)
        old, address = seg.leader(servers, topic)
        with connect(address) as connection:
            send(connection, _request(topic, producer_id, 0, 2))
            seg.until(lambda: seg.read(servers, topic).high_watermark == 2, "the batch on all replicas")
            three.broker.stop(old, SIGKILL)

        def new_leader() -> str:
            node, at = seg.leader(servers, topic)
            return at if node != old else ""

        with connect(seg.until(new_leader, "a new leader")) as connection:
            lab.saw(what, _send(connection, topic, producer_id, 0, 2, 2).value)
        lab.saw("copies on the new leader", len(seg.read(servers, topic).batches))


def _request(topic: str, producer_id: int, first: int, records: int) -> object:
    values = [b"%d" % (first + number) for number in range(records)]
    return produce_request(topic, values, producer_id=producer_id, producer_epoch=0, sequence=first)


def _send(leader: socket.socket, topic: str, producer_id: int, first: int, records: int, end: int) -> Verdict:
    """The leader's verdict; it answers a batch that it has with the offset of then, below the log's end."""
    answer = ask(leader, _request(topic, producer_id, first, records)).responses[0].partition_responses[0]
    if answer.error_code:
        return ERRORS[answer.error_code]
    return Verdict.DUPLICATE if answer.base_offset < end else Verdict.APPENDED
