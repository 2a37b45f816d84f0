"""Rules that hold at odd moments: found by drawing scenarios at random, each reduced to a few events."""

import pytest

from assignors.group import Topic
from copartition.simulation import (
    Consumer,
    Costs,
    Crash,
    Create,
    DuplicateInstance,
    Exponential,
    Grow,
    Join,
    Leave,
    Load,
    Phase,
    Scenario,
    Settings,
    SlowPoll,
    Stall,
    simulate,
)
from tests.support.simulated import group
from tests.support.tiers import sample

ORDERS = (Topic("orders", 4),)
ALL = ["range", "cooperative-sticky", "uniform"]


def run(consumers, *events, topics=ORDERS, assignor="range", **scenario):
    return simulate(Scenario(topics, tuple(consumers), events, assignor, **scenario))


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


def test_a_leader_asks_for_the_topics_of_others_before_it_assigns():
    topics = Topic("orders", 2), Topic("pay", 2)
    newcomer = Join(20_000, Consumer("new", topics=("pay",)))
    result = run(group(1, topics=("orders",)), Grow(10_000, "pay", 4), newcomer, topics=topics)
    (rebalance,) = result.rebalances
    assert len(rebalance.assignment) == 2
    assert result.summary.unassigned_partitions == 0


@pytest.mark.parametrize("assignor", ALL)
def test_a_stall_of_no_time_is_none(assignor):
    result = run(group(2), Stall(20_000, "c1", 0), assignor=assignor)
    assert (result.rebalances, result.summary.partition_seconds) == ((), 0)


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_a_second_instance_begins_where_the_first_committed(assignor):
    load = Load(rate=100, capacity=5_000)
    result = run(group(2, static=True), DuplicateInstance(12_000, "c0"), assignor=assignor, load=load)
    fenced_ms = next(entry.at_ms for entry in result.log if entry.what == "fenced")
    # The first commits every 5 s; what it read since, and what it reads until it hears, is read twice.
    none, also_none, some, as_many = sorted(result.records.duplicates)
    assert (none, also_none, some) == pytest.approx((0, 0, as_many))
    assert 7_000 < fenced_ms - 10 * some <= 12_000
    assert (result.records.waiting == 0).all()


def test_a_second_instance_is_the_cause_of_the_time_it_takes_to_open():
    result = run(group(2, static=True), DuplicateInstance(12_000, "c0"), costs=Costs(assign_ms=100))
    assert [(outage.cause, outage.pause_ms) for outage in result.outages] == [("c0 was started twice", 200)]


@pytest.mark.parametrize("ends", [Leave, Crash])
@pytest.mark.parametrize("assignor", ALL)
def test_nobody_reads_on_after_its_end(assignor, ends):
    settings = Settings(max_poll_interval_ms=30_000)
    events = SlowPoll(10_000, "c0", 90_000), ends(60_000, "c0")
    result = run(group(2), *events, assignor=assignor, settings=settings, until_ms=120_000)
    assert result.timeline.zombies.end.max() == 60_000


def test_a_process_that_stood_still_in_a_barrier_does_not_read_on_what_it_had_stopped_to_read():
    events = Leave(10_000, "c2"), Stall(11_000, "c0", 90_000)
    result = run(group(3), *events, load=Load(10))
    assert len(result.timeline.zombies.partition) == 0


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_a_member_that_the_barrier_did_not_wait_for_comes_back(assignor):
    """Its batch is over within the poll interval, but the barrier began before the batch."""
    settings = Settings(max_poll_interval_ms=30_000)
    events = Join(19_000, Consumer("new")), SlowPoll(19_100, "c0", 30_000)
    result = run(group(2), *events, assignor=assignor, settings=settings)
    expelled = next(
        rebalance for rebalance in result.rebalances if "c0 did not rejoin in time" in rebalance.causes
    )
    assert expelled.completed_ms == pytest.approx(49_000)
    assert "c0 joined" in result.rebalances[-1].causes + result.rebalances[-2].causes


def test_a_batch_that_made_its_client_leave_opens_nothing_when_it_is_over():
    """Under KIP-848 librdkafka only falls silent, and begins anew when the application polls."""
    costs = Costs(poll_ms=Exponential(90_000))
    settings = Settings(max_poll_interval_ms=30_000)
    events = Join(30_000, Consumer("new", client="librdkafka")), Leave(50_000, "c0")
    for seed in sample(range(20), 4):
        result = run(
            group(1), *events, assignor="uniform", costs=costs, settings=settings, until_ms=600_000, seed=seed
        )
        unread = result.timeline.phase != Phase.CONSUMING
        at_end = unread & (result.timeline.end == 600_000)
        assert result.summary.unassigned_partitions == at_end.sum(), seed


def test_a_process_that_ended_does_not_haunt_the_group_when_its_session_ends():
    settings = Settings(max_poll_interval_ms=300_000)
    events = SlowPoll(10_000, "c0", 200_000), Crash(60_000, "c0")
    result = run(group(2), *events, assignor="uniform", settings=settings, until_ms=300_000)
    assert len(result.timeline.zombies.partition) == 0


def test_a_batch_that_ends_with_the_barrier_is_not_followed_by_another_before_the_assignment():
    events = Join(10_000, Consumer("new")), SlowPoll(10_500, "c1", 60_000)
    timeline = run(group(2, beat_ms=0.0), *events, costs=Costs(assignor_ms=500), until_ms=80_000).timeline
    read = timeline.phase == Phase.CONSUMING
    assert timeline.start[read & (timeline.start > 0)].min() == 71_000
