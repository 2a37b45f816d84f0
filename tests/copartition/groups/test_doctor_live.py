"""`copartition doctor` on groups of a real broker: planted faults are found, healthy ones are healthy."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from copartition.doctor.checks import Limits, exit_code, findings
from copartition.doctor.examination import examine_live
from tests.copartition.groups.worker import read_or_nobody, settings, wait_for

LIMITS = Limits(lag=100)
INTERVAL_MS = 3_000  # a multiple of the members' auto.commit.interval.ms
OFTEN = {"auto.commit.interval.ms": 200, "auto.offset.reset": "earliest"}


def write(broker, topic, records, partitions):
    producer = Producer(settings(broker))
    for number in range(records):
        producer.produce(topic, b"record", partition=number % partitions)
    assert producer.flush(60) == 0


def commit(broker, group, topic, offset):
    consumer = Consumer({**settings(broker), "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    consumer.close()


def settled(broker, group, members):
    wait_for(
        lambda: read_or_nobody(group, broker)[0],
        lambda state: (
            len(state.members) == members
            and state.status == "Stable"
            and {topic for member in state.members for topic in member.topics or ()}
            == {state.topics[topic] for topic in state.topic[state.member >= 0]}
        ),
    )


def nobody(broker, workers, group, topic):
    commit(broker, group, topic, 0)


def beyond(broker, workers, group, topic):
    commit(broker, group, topic, 900)


def idle(broker, workers, group, topic):
    for _ in range(3):
        workers(group, topic, "worker", **OFTEN)
    settled(broker, group, 3)


def differing(broker, workers, group, topic):
    workers(group, [topic, broker.create_topic(2)], "both", **OFTEN)
    workers(group, topic, "one", **OFTEN)
    settled(broker, group, 2)


def partly_static(broker, workers, group, topic):
    workers(group, topic, "static", **OFTEN, **{"group.instance.id": "s1"})
    workers(group, topic, "dynamic", **OFTEN)
    settled(broker, group, 2)


def uneven(broker, workers, group, topic):
    topics = [topic, *(broker.create_topic(3) for _ in range(4))]
    for _ in range(2):
        workers(group, topics, "worker", **OFTEN, **{"partition.assignment.strategy": "range"})
    settled(broker, group, 2)


def grown(broker, workers, group, topic):
    workers(group, topic, "worker", **OFTEN)
    settled(broker, group, 1)
    broker.grow_topic(topic, 3)


def left_over(broker, workers, group, topic):
    commit(broker, group, broker.create_topic(), 0)
    workers(group, topic, "worker", **OFTEN)
    settled(broker, group, 1)


def uncommitted(broker, workers, group, topic):
    write(broker, topic, 10, 2)
    workers(group, topic, "worker", **{"enable.auto.commit": False})
    settled(broker, group, 1)


def behind(broker, workers, group, topic):
    commit(broker, group, topic, 0)
    workers(group, topic, "worker", **{"enable.auto.commit": False})
    settled(broker, group, 1)
    write(broker, topic, 500, 2)


FAULTS = {
    "state": nobody,
    "expiring": nobody,
    "unread": grown,
    "beyond the end": beyond,
    "idle": idle,
    "subscriptions": differing,
    "static": partly_static,
    "load": uneven,
    "left over": left_over,
    "uncommitted": uncommitted,
    "lag": behind,
    "standstill": behind,
}


def results(broker, group):
    return findings(examine_live(group, settings(broker), INTERVAL_MS, {}), LIMITS)


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(broker, workers, name):
    topic, group = broker.create_topic(2), f"doctor-{uuid.uuid4()}"
    FAULTS[name](broker, workers, group, topic)
    every = results(broker, group)
    assert name in {each.check.name for each in every if each.status == "found"}
    assert exit_code(every) == 1


def test_healthy_groups_are_healthy(broker, workers):
    kinds = [
        *({"partition.assignment.strategy": name} for name in ("range", "roundrobin", "cooperative-sticky")),
        {"group.protocol": "consumer"},
        {"group.protocol": "consumer", "group.remote.assignor": "range"},
    ]
    groups = []
    for config in kinds:
        for static in (False, True):
            topic, group = broker.create_topic(4), f"doctor-{uuid.uuid4()}"
            write(broker, topic, 400, 4)
            for number in range(2):
                own = {"group.instance.id": f"s{number}"} if static else {}
                workers(group, topic, f"worker-{number}", **OFTEN, **config, **own)
            groups.append(group)
    for group in groups:
        settled(broker, group, 2)
    for group in groups:
        wait_for(
            lambda group=group: read_or_nobody(group, broker)[0],
            lambda state: state.lag is not None and (state.lag == 0).all(),
        )
    with ThreadPoolExecutor(len(groups)) as pool:
        every = dict(zip(groups, pool.map(lambda group: results(broker, group), groups), strict=True))
    assert {group: [each.text for each in of if each.status == "found"] for group, of in every.items()} == {
        group: [] for group in groups
    }
    assert {exit_code(of) for of in every.values()} == {0}


def test_a_broker_tells_its_retention_and_its_groups(broker, workers):
    topic, group = broker.create_topic(2), f"doctor-{uuid.uuid4()}"
    nobody(broker, workers, group, topic)
    seen = examine_live(group, settings(broker), 0, {})
    assert seen.retention_ms == 7 * 24 * 3_600_000
    assert seen.coordinator.groups >= 1
