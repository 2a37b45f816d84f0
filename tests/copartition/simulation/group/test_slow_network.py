"""One consumer's requests take longer for a while: who waits for it, and for how long."""

import pytest

from copartition.simulation import Costs, Leave, SlowNetwork
from tests.support.simulated import beating, run

COSTS = Costs(network_ms=10)
SLOW = SlowNetwork(50_000, "c1", 60_000, 4_000)
LEAVES = Leave(60_000, "c2")


def pauses(result, consumer):
    """How long what a consumer reads at the start was not read, by partition."""
    owned = [partition for member, partition in _owned(result) if member.startswith(consumer)]
    partition, start, end = result.timeline.pauses()
    return [float((end - start)[partition == number].sum()) for number in owned]


def _owned(result):
    return [
        (member, number) for member, partitions in result.start.assignment.items() for _, number in partitions
    ]


def lasted(result):
    [rebalance] = result.rebalances
    return rebalance.completed_ms - rebalance.started_ms


@pytest.mark.parametrize("client", ["java", "librdkafka"])
def test_a_classic_group_waits_for_the_requests_of_the_slow_one(client):
    consumers = beating(2_000, 1_000, 0, client=client)
    usual, slow = (run(consumers, *events, LEAVES, assignor="range", costs=COSTS) for events in ((), (SLOW,)))
    # It hears of the rebalance a slow round trip after its heartbeat, and half of one later its JoinGroup
    # arrives. The other one, which leads, is at the barrier by then.
    heartbeat = 61_000 - 60_005  # heartbeats are a little late, and the others' are as before
    assert lasted(slow) == pytest.approx(heartbeat + 6_000 + 20, abs=90)
    assert lasted(slow) > lasted(usual) + 3_900
    # The answer to its SyncGroup takes half of a slow round trip, less half of a usual one.
    assert max(pauses(slow, "c1")) == pytest.approx(2_000 + 2_000, abs=90)


def test_a_group_of_the_consumer_protocol_waits_only_for_what_the_slow_one_gives_and_gets():
    consumers = beating(2_000, 1_000, 0)
    newcomer = Leave(60_000, "c2")
    usual, slow = (
        run(consumers, *events, newcomer, assignor="uniform", costs=COSTS) for events in ((), (SLOW,))
    )
    assert pauses(slow, "c0") == pauses(slow, "c1") == [0.0] * 4
    assert max(pauses(slow, "c2")) > max(pauses(usual, "c2")) + 1_900


def test_what_is_on_its_way_as_the_slow_time_ends_arrives_then():
    slow = SlowNetwork(50_000, "c1", 12_000, 60_000)
    usual = run(beating(0, 1_000, 0), LEAVES, assignor="range", costs=COSTS)
    late = run(beating(0, 1_000, 0), slow, LEAVES, assignor="range", costs=COSTS)
    assert usual.rebalances[0].completed_ms < 62_000
    # The answer to its heartbeat is there at 62 s and 10 ms; its JoinGroup is one of the usual kind.
    assert late.rebalances[0].completed_ms == pytest.approx(62_000 + 10 + 5 + 15, abs=0.01)


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky", "uniform"])
def test_nothing_is_left_of_it_once_it_is_over(assignor):
    slow = SlowNetwork(10_000, "c1", 30_000, 4_000)
    usual, after = (
        run(beating(0, 1_000, 2_000), *events, LEAVES, assignor=assignor, costs=COSTS)
        for events in ((), (slow,))
    )
    assert after.summary == usual.summary
    assert [entry.what for entry in after.log if entry.from_outside] == ["slow-network", "leave"]


def test_no_network_is_faster_than_usual():
    usual, fast = (
        run(beating(0, 1_000), *events, Leave(60_000, "c1"), assignor="range", costs=COSTS)
        for events in ((), (SlowNetwork(50_000, "c0", 60_000, 1),))
    )
    assert fast.summary == usual.summary
