"""A kafka-python consumer whose rejoin is answered between two polls, on a real broker."""

import time
from collections.abc import Callable

import pytest
from kafka import KafkaConsumer

from assignors.clients.kafka_python import KafkaPythonAssignor, finish_rejoin
from tests.support.broker import Kafka
from tests.support.waiting import wait_until

ANSWERED_S = 1.0  # a group of one member is answered within milliseconds


@pytest.mark.jvm
# A connection that kafka-python replaces is closed by the garbage collector, which warns of it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("assignor", [pytest.param("range", marks=pytest.mark.slow), "cooperative-sticky"])
def test_a_leader_takes_up_what_came_between_two_polls(broker: Kafka, assignor: str) -> None:
    topic = broker.create_topic(partitions=1)
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=broker.bootstrap_servers,
        group_id=f"group-of-{topic}",
        partition_assignment_strategy=[KafkaPythonAssignor(assignor)],
        enable_auto_commit=False,
        metadata_max_age_ms=500,
    )

    def poll_until(happened: Callable[[], object], timeout_ms: int) -> None:
        wait_until(happened, lambda: consumer.poll(timeout_ms=timeout_ms))

    try:
        poll_until(lambda: len(consumer.assignment()) == 1, timeout_ms=1000)
        broker.grow_topic(topic, 2)
        # Too short for the answer, if the machine is not very fast.
        poll_until(lambda: consumer._coordinator.rejoining or len(consumer.assignment()) == 2, timeout_ms=1)
        time.sleep(ANSWERED_S)
        finish_rejoin(consumer)
        poll_until(lambda: len(consumer.assignment()) == 2, timeout_ms=1000)
        assert sorted(partition.partition for partition in consumer.assignment()) == [0, 1]
    finally:
        consumer.close()
