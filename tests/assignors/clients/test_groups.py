"""Real groups of other clients that assign by our assignors: a join, a leave and a kill."""

import signal

import pytest

from tests.assignors.clients.groups import RealGroup
from tests.support.broker import Kafka

PARTITIONS = 11
CASES = [
    ("kafka-python", "range"),
    ("kafka-python", "roundrobin"),
    ("kafka-python", "sticky"),
    ("kafka-python", "cooperative-sticky"),
    ("aiokafka", "range"),
    ("aiokafka", "sticky"),
]


@pytest.mark.parametrize(("client", "assignor"), CASES)
def test_a_group_is_assigned_as_planned(broker: Kafka, client: str, assignor: str) -> None:
    topic = broker.create_topic(partitions=PARTITIONS)
    with RealGroup(client, broker.bootstrap_servers, topic, PARTITIONS, assignor) as group:
        before: dict[str, list[tuple[str, int]]] = {}
        steps = [
            ("the first starts", group.start),
            ("the second joins", group.start),
            ("the third joins", group.start),
            ("the first leaves", lambda: group.end(0, signal.SIGTERM)),
            ("the next is killed", lambda: group.end(0, signal.SIGKILL)),
        ]
        for what, step in steps:
            step()
            now = group.settled()
            plan = group.planned(before, now)
            assert {member: sorted(plan[member]) for member in plan} == now, what
            before = now


def test_kafka_python_orders_static_members_by_instance_id(broker: Kafka) -> None:
    topic = broker.create_topic(partitions=PARTITIONS)
    with RealGroup("kafka-python", broker.bootstrap_servers, topic, PARTITIONS, "range") as group:
        for instance_id in ("c", "a", "b"):
            group.start(instance_id)
        group.settled()
        of_instance = {consumer.instance_id: consumer.last["partitions"] for consumer in group.consumers}
    assert of_instance == {"a": [0, 1, 2, 3], "b": [4, 5, 6, 7], "c": [8, 9, 10]}
