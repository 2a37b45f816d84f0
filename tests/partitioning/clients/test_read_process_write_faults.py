"""The loop on a real broker while processes die or connections are cut; `make loop-faults` has more."""

from __future__ import annotations

import time
from dataclasses import replace
from threading import Event, Thread, Timer
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from benchmarks.faults.brokers import Brokers
from benchmarks.loop_faults.run import run
from benchmarks.loop_faults.scenarios import SCENARIOS
from partitioning.clients.confluent import PartitioningProducer
from partitioning.clients.read_process_write import ProducerRecord, loop, read_process_write
from partitioning.errors import GaveUpError
from tests.support.broker import Kafka
from tests.support.waiting import GENEROUS_S

if TYPE_CHECKING:
    from confluent_kafka import Message

WRONG = ("lost", "doubled", "misplaced", "out_of_order")


@pytest.fixture(scope="module")
def brokers() -> Any:
    with Brokers() as found:
        yield found


@pytest.mark.slow
@pytest.mark.jvm
@pytest.mark.parametrize(
    ("name", "count"),
    [("killed", 2), ("killed", 6), ("connections cut", 8), ("frozen, replaced, static members", 2)],
)
def test_faults_neither_lose_nor_double_nor_reorder_a_record(brokers: Brokers, name: str, count: int) -> None:
    scenario = replace(SCENARIOS[name], faults=SCENARIOS[name].faults[:count])
    found = run(name, scenario, brokers, transactions=True, seed=1, records=4000)
    assert (found["outcome"], found["struck"]) == ("finished", count), found
    assert {name: found[name] for name in WRONG} == dict.fromkeys(WRONG, 0)


@pytest.mark.slow
@pytest.mark.jvm
@pytest.mark.filterwarnings("ignore:Producer abort_transaction failed during close")
def test_a_cluster_that_falls_silent_is_not_waited_for_without_end(
    brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "_watch", lambda _: None)
    proxy, kafka = brokers.proxy, Kafka(brokers.broker.bootstrap_servers)
    source, target = kafka.create_topic(1), kafka.create_topic(1)
    servers = {"bootstrap.servers": proxy.bootstrap_servers, "log_level": 0}
    with PartitioningProducer(servers) as filling:
        filling.produce(source, b"value")
    heard = Timer(6, lambda: setattr(proxy, "silent", False))

    def process(_: Message) -> list[ProducerRecord]:
        proxy.silent = True
        heard.start()
        return [ProducerRecord(target, b"value", partition=0)]

    with pytest.raises(GaveUpError, match=rf"transactional id '{source}'.* within 2 s"):
        read_process_write(
            [source],
            process,
            consumer_config=servers | {"group.id": source},
            producer_config=servers | {"transactional.id": source, "transaction.timeout.ms": 2000},
            stopping=Event(),
        )
    heard.join()


def test_a_static_member_that_comes_again_moves_no_partition(
    broker: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "_watch", lambda _: None)
    source, servers = broker.create_topic(2), {"bootstrap.servers": broker.bootstrap_servers, "log_level": 0}
    group = {"group.id": source, "session.timeout.ms": 30_000, "heartbeat.interval.ms": 200}
    moves: list[TopicPartition] = []
    other = Consumer(servers | group | {"partition.assignment.strategy": "cooperative-sticky"})
    other.subscribe(
        [source],
        on_assign=lambda _, places: moves.extend(places),
        on_revoke=lambda _, places: moves.extend(places),
    )

    def share() -> None:
        """Have the other one poll, and the loop run, until the loop has seen a record; then end it."""
        stopping = Event()

        def process(_: Message) -> list[ProducerRecord]:
            stopping.set()
            return []

        def read() -> None:
            read_process_write(
                [source],
                process,
                consumer_config=servers | group | {"group.instance.id": "one"},
                producer_config=servers | {"transactional.id": source},
                stopping=stopping,
            )

        running = Thread(target=read)
        running.start()
        end = time.monotonic() + GENEROUS_S
        with PartitioningProducer(servers) as filling:
            while running.is_alive():
                assert time.monotonic() < end
                if len(other.assignment()) == 1:
                    for partition in range(2):
                        filling.produce(source, b"value", partition=partition)
                other.poll(0.1)

    share()
    assert len(other.assignment()) == 1
    del moves[:]
    share()
    assert moves == []
    other.close()


@pytest.mark.slow
@pytest.mark.jvm
def test_without_transactions_kills_before_a_commit_double_records(brokers: Brokers) -> None:
    scenario = replace(SCENARIOS["killed"], faults=("kill",) * 2, calls=("commit",))
    found = run("killed", scenario, brokers, transactions=False, seed=1, records=2000)
    assert (found["outcome"], found["struck"], found["lost"]) == ("finished", 2, 0), found
    assert found["doubled"] > 0
