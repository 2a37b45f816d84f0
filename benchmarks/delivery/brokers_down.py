"""Cells in which a broker fails rather than a request: paused, or killed while its follower has not all."""

from __future__ import annotations

import time
from signal import SIGKILL
from typing import TYPE_CHECKING

from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.delivery.cells import BATCHES, Cell, log, log_and_outcomes, wait_for_more, with_short_times
from copartition.models import DeliveryResult, Faults, simulate_delivery
from tests.support.broker import Broker, Kafka

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.delivery.producers import Sending
    from copartition.models.producer.tuning import Client

COPIED, TAIL = 6, 9
"""Batches before the first are on both replicas, those up to the second on the leader alone."""

LEADER, FOLLOWER = 2, 3
NODES = ("controller", "leader", "follower")
SETTINGS = "broker.session.timeout.ms=2000\nbroker.heartbeat.interval.ms=200\n"

PAUSED = "broker paused beyond delivery.timeout.ms"
KILLED = "leader killed, follower behind"
UNCLEAN = "unclean election"

MODEL = {
    PAUSED: Faults(pauses=[(29.0, 10_000.0)]),
    KILLED: Faults(followers_gone_ms=64.0, leader_changes=[85.0]),
    UNCLEAN: Faults(followers_gone_ms=55.0, replica_lag_time_max_ms=0.0, leader_changes=[85.0]),
}
"""A batch is ready every 10 ms, appended 1 ms later, copied 2 ms after that and known to be 2 ms later."""


def cells() -> Iterator[Cell]:
    """Both clients with and without idempotence, and what they wait for."""
    settings = (
        with_short_times(),
        *(with_short_times(enable_idempotence=False, acks=acks) for acks in ("all", "1", "0")),
    )
    clients: tuple[Client, ...] = ("java", "librdkafka")
    for fault in MODEL:
        yield from (
            Cell(client, client_settings, fault) for client in clients for client_settings in settings
        )


def predict(cell: Cell) -> DeliveryResult:
    """What the model says."""
    return simulate_delivery(
        [1] * BATCHES,
        settings=cell.settings,
        faults=MODEL[cell.fault],
        interval_ms=10.0,
        round_trip_ms=2.0,
        replication_ms=4.0,
        client=cell.client,
    )


def measure_paused(cell: Cell, producer: Sending, broker: Broker) -> DeliveryResult:
    """The broker stands still after three batches, until the producer has given up."""
    topic = Kafka(broker.bootstrap_servers).create_topic()
    producer.open(broker.bootstrap_servers, topic, cell.settings)
    producer.send(0, 3)
    _until(lambda: len(log(broker.bootstrap_servers, topic)) == 3)
    broker.pause()
    producer.send(3, BATCHES)
    try:
        if cell.settings.acks == "0":
            time.sleep(cell.settings.delivery_timeout_ms / 1000)
        else:
            outcomes = producer.outcomes()
    finally:
        broker.resume()
    if cell.settings.acks == "0":
        wait_for_more(producer, broker.bootstrap_servers, topic)
        outcomes = producer.outcomes()
    return log_and_outcomes(broker.bootstrap_servers, topic, cell.settings, outcomes)


def measure_killed(cell: Cell, producer: Sending, broker: Broker) -> DeliveryResult:
    """The leader is killed with batches that the paused follower has not; the follower takes over."""
    servers = broker.bootstrap_servers
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    topic = f"killed-{time.monotonic_ns()}"
    unclean = {"unclean.leader.election.enable": str(cell.fault == UNCLEAN).lower()}
    new = NewTopic(topic, 1, replica_assignment=[[LEADER, FOLLOWER]], config=unclean)
    admin.create_topics([new], request_timeout=30)[topic].result(30)
    Kafka(servers).wait_for_leaders(topic, 1)

    def partition() -> tuple[int, set[int]]:
        # A new client asks the first node; one that knows all may ask the node that stands still.
        asking = AdminClient({"bootstrap.servers": servers.split(",")[0], "log_level": 0})
        found = asking.list_topics(topic, timeout=10).topics[topic].partitions[0]
        return found.leader, set(found.isrs)

    _until(lambda: partition() == (LEADER, {LEADER, FOLLOWER}))
    producer.open(servers, topic, cell.settings)
    producer.send(0, COPIED)
    _until(lambda: len(log(servers, topic)) == COPIED)  # readers see what all replicas have
    broker.pause(FOLLOWER)
    if cell.fault == UNCLEAN:
        _until(lambda: partition() == (LEADER, {LEADER}))
    producer.send(COPIED, TAIL)
    time.sleep(0.5)  # nobody outside can see that the leader has them
    broker.stop(LEADER, SIGKILL)
    broker.resume(FOLLOWER)
    _until(lambda: partition()[0] == FOLLOWER)
    producer.send(TAIL, BATCHES)
    if cell.settings.acks == "0":
        wait_for_more(producer, servers, topic)
    outcomes = producer.outcomes()
    result = log_and_outcomes(servers, topic, cell.settings, outcomes)
    broker.start(LEADER)
    return result


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError("the cluster did not come to the state that a cell needs within 60 s")
        time.sleep(0.05)
