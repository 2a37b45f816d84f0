"""A real group whose leader has an assignor that gives a partition to two members."""

from __future__ import annotations

from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from kafka import KafkaConsumer

from assignors import Assignment, Group, RebalanceProtocol
from assignors.clients.kafka_python import KafkaPythonAssignor, finish_rejoin
from partitioning import TopicPartition
from partitioning.errors import AssignorError
from tests.assignors.clients.consumer import METADATA_MAX_AGE_MS
from tests.support.waiting import GENEROUS_S, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.broker import Kafka

RECORDS = 20


class EveryoneReadsAll:
    """Gives every partition to every member, which is right as long as there is one."""

    name = "everyone-reads-all"
    protocols = frozenset({RebalanceProtocol.EAGER})

    def assign(self, group: Group) -> Assignment:
        every = [
            TopicPartition(topic.name, number) for topic in group.topics for number in range(topic.partitions)
        ]
        return Assignment.for_group(group, {member.id: every for member in group.members})


class Reader:
    """A consumer of that strategy, the values it has read, and the fault that its polls ended with."""

    def __init__(self, broker: Kafka, topic: str) -> None:
        self.consumer = KafkaConsumer(
            topic,
            bootstrap_servers=broker.bootstrap_servers,
            group_id=f"group-of-{topic}",
            partition_assignment_strategy=[KafkaPythonAssignor(EveryoneReadsAll())],
            auto_offset_reset="earliest",
            heartbeat_interval_ms=300,
            metadata_max_age_ms=METADATA_MAX_AGE_MS,
        )
        self.read: list[bytes] = []
        self.faults: list[AssignorError] = []
        self.stopping = Event()
        self._thread = Thread(target=self._poll_on, daemon=True)
        self._thread.start()

    def _poll_on(self) -> None:
        while not self.stopping.is_set():
            try:
                polled = self.consumer.poll(100)
            except AssignorError as fault:
                self.faults.append(fault)
            else:
                self.read += [record.value for records in polled.values() for record in records]
                finish_rejoin(self.consumer)

    def close(self) -> None:
        self.stopping.set()
        self._thread.join(GENEROUS_S)
        self.consumer.close()


@pytest.fixture
def start(broker: Kafka) -> Iterator[Callable[[str], Reader]]:
    readers: list[Reader] = []

    def start_one(topic: str) -> Reader:
        readers.append(Reader(broker, topic))
        return readers[-1]

    yield start_one
    for reader in readers:
        if not reader.stopping.is_set():
            reader.close()


@pytest.mark.slow
def test_the_leader_is_told_and_no_record_is_read_twice(
    broker: Kafka, start: Callable[[str], Reader]
) -> None:
    topic = broker.create_topic(partitions=2)
    leader = start(topic)
    wait_until(lambda: len(leader.consumer.assignment()) == 2)
    other = start(topic)
    wait_until(lambda: len(leader.faults) >= 2)  # whoever polls on gets the error again

    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    values = {b"record %d" % number for number in range(RECORDS)}
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(GENEROUS_S) == 0
    told = len(leader.faults)
    wait_until(lambda: len(leader.faults) >= told + 2)
    assert (leader.read, other.read, other.faults) == ([], [], [])

    leader.close()
    wait_until(lambda: len(other.read) >= RECORDS)
    assert sorted(other.read) == sorted(values)
    assert leader.read == []
    assert str(leader.faults[0]).startswith(
        f"the answer of 'everyone-reads-all' is wrong: {topic}-0 is given to '"
    )
    members = str(leader.faults[0]).partition("is given to ")[2].split(" and to ")
    assert [member.strip("'").startswith("kafka-python") for member in members] == [True, True]
    assert len(set(members)) == 2
