"""Rules that hold at odd moments: found by drawing scenarios at random, each reduced to a few events."""

import pytest

from assignors.group import Topic
from assignors.simulation import Consumer, Costs, Create, Grow, Phase, Scenario, Stall, simulate

ORDERS = (Topic("orders", 4),)
ALL = ["range", "cooperative-sticky", "uniform"]


def run(consumers, *events, topics=ORDERS, assignor="range", **scenario):
    return simulate(Scenario(topics, tuple(consumers), events, assignor, **scenario))


def group(count, **consumer):
    return tuple(Consumer(f"c{number}", **consumer) for number in range(count))


@pytest.mark.parametrize("assignor", ALL)
def test_a_new_topic_that_nobody_subscribes_to_is_no_reason_to_rebalance(assignor):
    assert run(group(2), Create(20_000, "other", 3), assignor=assignor).rebalances == ()


def test_the_member_that_notices_new_partitions_stops_at_once():
    result = run(group(2), Grow(20_000, "orders", 6), costs=Costs(network_ms=40))
    (rebalance,) = result.rebalances
    timeline = result.timeline
    stopped = timeline.end[(timeline.phase == Phase.CONSUMING) & (timeline.start == 0)]
    assert stopped.min() == rebalance.started_ms
    assert result.summary.member_pause_ms > 0


@pytest.mark.parametrize("assignor", ALL)
def test_a_stall_of_no_time_is_none(assignor):
    result = run(group(2), Stall(20_000, "c1", 0), assignor=assignor)
    assert (result.rebalances, result.summary.partition_pause_ms) == ((), 0)
