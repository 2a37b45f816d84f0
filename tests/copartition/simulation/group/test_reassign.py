"""Replicas move to other racks, and nothing else changes (KIP-1101, KIP-881)."""

import pytest

from assignors import Topic
from copartition.simulation import Consumer, Grow, Reassign, Scenario, simulate, simulate_seeds
from partitioning.errors import ScenarioError

HERE, THERE = (("a",), ("a",), ("b",), ("b",)), (("b",), ("b",), ("a",), ("a",))


MOVE = (Reassign(60_000, "t", THERE),)


def moved(assignor, *, racks=("a", "b"), client="java", events=MOVE, **more):
    """A group of two, each in a rack, whose topic's replicas change places after a minute."""
    consumers = tuple(Consumer(f"c{number}", rack=rack, client=client) for number, rack in enumerate(racks))
    return Scenario((Topic("t", 4, HERE),), consumers, events, assignor, **more)


def owners(rebalance):
    return {member: [part.partition for part in parts] for member, parts in rebalance.assignment.items()}


def test_a_change_of_racks_alone_raises_the_epoch_of_a_consumer_group():
    run = simulate(moved("uniform", racks=(None, None)))
    [rebalance] = run.rebalances
    assert rebalance.causes == ("racks changed (t)",)
    # The broker's assignor does not look at racks, so nobody stops.
    assert (rebalance.moved, run.summary.partition_seconds) == (0, 0)


def test_the_leader_of_a_classic_group_follows_the_racks():
    run = simulate(moved("range"))
    assert owners(run.start) == {"c0#1": [0, 1], "c1#1": [2, 3]}
    [rebalance] = run.rebalances
    assert rebalance.causes == ("racks changed (t)",)
    assert owners(rebalance) == {"c0#1": [2, 3], "c1#1": [0, 1]}
    assert run.summary.partition_seconds > 0


@pytest.mark.parametrize("client", ["java", "librdkafka"])
def test_a_client_without_a_rack_does_not_look_at_racks(client):
    assert simulate(moved("range", racks=(None, None), client=client)).rebalances == ()


def test_kafka_python_does_not_look_at_racks():
    assert simulate(moved("range", client="kafka-python")).rebalances == ()


def test_runs_that_share_decisions_decide_by_their_own_racks():
    later = moved("range", events=(Reassign(60_000, "t", THERE), Reassign(2_000_000, "t", HERE)))
    for run in simulate_seeds(later, range(3)):
        assert owners(run.rebalances[0]) == {"c0#1": [2, 3], "c1#1": [0, 1]}
        assert owners(run.rebalances[1]) == {"c0#1": [0, 1], "c1#1": [2, 3]}


def test_new_partitions_and_new_racks_are_told_apart():
    events = (Reassign(60_000, "t", THERE), Grow(2_000_000, "t", 6))
    causes = [rebalance.causes for rebalance in simulate(moved("uniform", events=events)).rebalances]
    assert causes == [("racks changed (t)",), ("partitions added (t to 6)",)]


def test_a_topic_that_is_not_there_is_refused():
    with pytest.raises(ScenarioError, match="no topic 'u'") as caught:
        moved("range", events=(Reassign(0, "u", THERE),))
    assert caught.value.path == "$.events[0].topic"
