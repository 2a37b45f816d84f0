"""Real groups of other clients that assign by our assignors: joins, leaves and kills.

When such a client joins again, and how often, is not ours to pass or fail: `make slow` runs this file.
"""

import signal
from collections.abc import Callable, Sequence

import pytest

from tests.assignors.clients.groups import RealGroup
from tests.support.broker import Kafka

pytestmark = pytest.mark.slow

PARTITIONS = 11
CASES = [
    ("kafka-python", "range"),
    ("kafka-python", "roundrobin"),
    ("kafka-python", "sticky"),
    ("kafka-python", "cooperative-sticky"),
    ("aiokafka", "range"),
    ("aiokafka", "sticky"),
]


Step = Callable[[RealGroup], None]


def joins(client: str) -> Step:
    return lambda group: group.start(client)


def first(how: signal.Signals) -> Step:
    """The member that has been there longest, the leader, ends."""
    return lambda group: group.end(0, how)


def assert_follows_plans(group: RealGroup, steps: Sequence[Step]) -> None:
    """After each step the group must be assigned as our assignor plans it.

    A member may rejoin once more than it has to. A slow one then misses what the generation between gave it,
    which is free again: at one step at the most.
    """
    before: dict[str, list[tuple[str, int]]] = {}
    generation, disturbed = 0, 0
    for number, step in enumerate(steps):
        step(group)
        now = group.settled()
        plan, rounds = group.plan(before, now)
        if {member: sorted(plan[member]) for member in plan} != now:
            disturbed += 1
            what = f"step {number}: {before} before; {[consumer.said for consumer in group.consumers]}"
            assert group.generation - generation > rounds, what
            assert disturbed == 1, what
        before, generation = now, group.generation


@pytest.mark.parametrize(("client", "assignor"), CASES)
def test_a_group_is_assigned_as_planned(broker: Kafka, client: str, assignor: str) -> None:
    topic = broker.create_topic(partitions=PARTITIONS)
    with RealGroup(broker.bootstrap_servers, topic, PARTITIONS, assignor) as group:
        assert_follows_plans(group, [*[joins(client)] * 3, first(signal.SIGTERM), first(signal.SIGKILL)])


@pytest.mark.jvm
@pytest.mark.parametrize(
    ("client", "assignor"),
    [("kafka-python", "cooperative-sticky"), ("kafka-python", "sticky"), ("aiokafka", "sticky")],
)
def test_it_shares_a_group_with_java_whoever_leads(broker: Kafka, client: str, assignor: str) -> None:
    topic = broker.create_topic(partitions=PARTITIONS)
    with RealGroup(broker.bootstrap_servers, topic, PARTITIONS, assignor) as group:
        ours_leads = [joins(client), joins("java")]
        java_leads = [first(signal.SIGTERM), joins(client)]
        ours_leads_again = [first(signal.SIGTERM), joins("java")]
        assert_follows_plans(group, [*ours_leads, *java_leads, *ours_leads_again])


def test_kafka_python_orders_static_members_by_instance_id(broker: Kafka) -> None:
    topic = broker.create_topic(partitions=PARTITIONS)
    with RealGroup(broker.bootstrap_servers, topic, PARTITIONS, "range") as group:
        for instance_id in ("c", "a", "b"):
            group.start("kafka-python", instance_id)
        group.settled()
        of_instance = {consumer.instance_id: consumer.last["partitions"] for consumer in group.consumers}
    assert of_instance == {"a": [0, 1, 2, 3], "b": [4, 5, 6, 7], "c": [8, 9, 10]}


def test_a_cooperative_optimal_group_never_has_a_partition_twice(broker: Kafka) -> None:
    topic = broker.create_topic(partitions=PARTITIONS)
    leaves, killed = first(signal.SIGTERM), first(signal.SIGKILL)
    with RealGroup(broker.bootstrap_servers, topic, PARTITIONS, "cooperative-optimal") as group:
        join = joins("kafka-python")
        assert_follows_plans(group, [join, join, join, leaves, join, killed])
        assert group.owned_twice() == set()


def test_an_optimal_group_falls_back_for_a_member_that_cannot_and_comes_back(broker: Kafka) -> None:
    topic = broker.create_topic(partitions=PARTITIONS)
    names = "cooperative-optimal,cooperative-sticky"
    with RealGroup(broker.bootstrap_servers, topic, PARTITIONS, names) as group:
        assert_follows_plans(group, [joins("kafka-python")] * 2)
        ours = group.consumers[:]
        group.start("librdkafka", assignor="cooperative-sticky")
        before = group.settled()
        assert {consumer.last["protocol"] for consumer in ours} == {"cooperative-sticky"}
        assert sorted(map(len, before.values())) == [3, 4, 4]

        group.end(-1, signal.SIGTERM)
        now = group.settled()
        assert {consumer.last["protocol"] for consumer in ours} == {"cooperative-optimal"}
        plan, _ = group.plan(before, now)
        assert {member: sorted(plan[member]) for member in plan} == now
        assert group.owned_twice() == set()
