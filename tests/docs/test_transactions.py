"""The example of docs/transactions.md is what the report prints; its steps are taken on a real broker."""

from __future__ import annotations

import re
import uuid
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from rich.console import Console

from copartition.groups.live.cluster import Cluster
from copartition.transactions.judging import judge_looks
from copartition.transactions.looks import Look, OpenProducer, PartitionLook, Transaction, transactions_of
from copartition.transactions.report import print_transactions
from tests.support.waiting import GENEROUS_S

if TYPE_CHECKING:
    from tests.support.broker import Kafka

TEXT = (Path(__file__).parents[2] / "docs" / "transactions.md").read_text(encoding="utf-8")


def test_the_example_is_what_the_report_prints() -> None:
    offsets = [(0, 1_530, 1_204, 1_204), (1, 1_498, 1_201, 1_190)]
    partitions = tuple(
        PartitionLook("orders", number, end, stable, committed, (OpenProducer(4012, 3, stable, 1_000),))
        for number, end, stable, committed in offsets
    )
    places = frozenset(partition.place for partition in partitions)
    stalled = Transaction("billing-1", 4012, 3, "Ongoing", 60_000, 0, 2, places)
    done = Transaction("shipping-1", 4013, 8, "CompleteCommit", 60_000, None, 1, frozenset())
    seen = "the transactional ids of 2 brokers", "last stable offsets and ends of 12 partitions"
    look = Look(41_000, (stalled, done), partitions, seen)
    answer = judge_looks(look, look, open_ms=30_000, servers="localhost:9092", transaction_version=2)
    text = StringIO()
    print_transactions(look, answer, Console(width=110, file=text, color_system=None), full=False)
    [example] = re.findall(r"```text\n(.*?)```", TEXT, re.DOTALL)
    assert [line.rstrip() for line in text.getvalue().splitlines()] == example.splitlines()


@pytest.mark.broker
def test_the_states_are_those_of_a_real_transaction(broker: Kafka) -> None:
    name = f"steps-{uuid.uuid4().hex}"
    settings = {"bootstrap.servers": broker.bootstrap_servers, "transactional.id": name}
    topic, producer = broker.create_topic(), Producer(settings)
    cluster = Cluster("transactions", {"bootstrap.servers": broker.bootstrap_servers})

    def produce(records: int) -> None:
        for _ in range(records):
            producer.produce(topic, b"record", partition=0)
        assert producer.flush(GENEROUS_S) == 0

    steps = [
        lambda: producer.init_transactions(60),
        producer.begin_transaction,
        lambda: produce(3),
        lambda: producer.commit_transaction(60),
        lambda: (producer.begin_transaction(), produce(2)),
        lambda: producer.abort_transaction(60),
        lambda: (producer.begin_transaction(), produce(1)),
        lambda: Producer(settings).init_transactions(60),
    ]
    rows = re.findall(r"(?m)^\| .*`.* \| (\w+) \| (\d+) \| (\d+) \|$", TEXT)
    assert len(rows) == len(steps)
    for step, (state, stable, end) in zip(steps, rows, strict=True):
        step()
        settled = settled_state(cluster, name)
        offsets = [cluster.ends([(topic, 0)], stable=only)[topic, 0] for only in (True, False)]
        assert (settled, *offsets) == (state, int(stable), int(end))


def settled_state(cluster: Cluster, name: str) -> str:
    """The state of an id, once it is none that only lasts until markers are written."""
    while True:
        brokers = cluster.brokers.values()
        known = [transaction for broker in brokers for transaction in transactions_of(broker, cluster.config)]
        [state] = [transaction.state for transaction in known if transaction.id == name]
        if not state.startswith("Prepare"):
            return state
