"""When clients do what they do by themselves: their heartbeats, commits and refreshes of metadata."""

from __future__ import annotations

import pytest

from assignors.group import Topic
from copartition.simulation import Consumer, Crash, Grow, Join, Scenario, Settings, SlowPoll, simulate

STARTS_MS = {"a": 0, "b": 300, "c": 600}
AT_ONCE = {"group_initial_rebalance_delay_ms": 0}


def consumer(name: str, client: str = "librdkafka", beat_ms: float | None = None) -> Consumer:
    return Consumer(name, client=client, beat_ms=beat_ms)


def started_one_by_one(*events, assignor, **settings):
    """A group that was empty, and whose members are a, the leader, b and c."""
    joins = [Join(at_ms, consumer(name)) for name, at_ms in STARTS_MS.items()]
    return simulate(Scenario((Topic("t", 6),), (), (*joins, *events), assignor, Settings(**settings)))


def test_commits_are_counted_from_the_start_of_the_process():
    result = started_one_by_one(
        Crash(15_400, "b"),
        assignor="range",
        session_timeout_ms=20_000,
        heartbeat_interval_ms=9_000,
        **AT_ONCE,
    )
    # Its last heartbeat was at 9.6 s or so, its last commit 15 s after its start.
    assert result.rebalances[-1].started_ms == pytest.approx(15_300 + 20_000)


@pytest.mark.parametrize(("client", "a_hears_ms"), [("java", 5_000), ("librdkafka", 4_000)])
def test_a_rebalance_moves_the_heartbeats_of_some_clients_only(client, a_hears_ms):
    members = (consumer("a", client, beat_ms=1_000), consumer("b", client, beat_ms=2_000))
    joins = (Join(500, consumer("c", client)), Join(3_500, consumer("d", client)))
    result = simulate(Scenario((Topic("t", 4),), members, joins, "range"))
    assert result.rebalances[0].completed_ms == 2_000
    _, start, _ = result.timeline.pauses()
    assert a_hears_ms < start[start > 3_500].min() < a_hears_ms + 550


def test_a_heartbeat_that_is_owed_is_sent_with_the_assignment():
    members = (consumer("a", beat_ms=100), consumer("b", beat_ms=100))
    events = (SlowPoll(10, "b", 5_000), Join(50, consumer("c")), Join(5_500, consumer("d")))
    result = simulate(Scenario((Topic("t", 4),), members, events, "range"))
    assert result.rebalances[0].completed_ms == 5_010
    assert result.rebalances[1].completed_ms == pytest.approx(5_010 + 3_000, abs=5)


def test_librdkafka_looks_twice_a_second_since_its_assignment_whether_the_application_has_polled():
    result = started_one_by_one(
        SlowPoll(20_010, "b", 30_000), assignor="range", max_poll_interval_ms=10_000, **AT_ONCE
    )
    assigned_ms = result.rebalances[-3].completed_ms
    left_ms = result.rebalances[-2].started_ms
    assert 30_010 < left_ms <= 30_511
    assert (left_ms - assigned_ms) % 501 == 0


@pytest.mark.parametrize(("assignor", "noticed_ms"), [("cooperative-sticky", 20_300), ("range", 30_000)])
def test_only_the_leader_of_an_eager_group_brings_a_rebalance_about_for_new_partitions(assignor, noticed_ms):
    grown = Grow(20_100, "t", 9)
    result = started_one_by_one(grown, assignor=assignor, metadata_max_age_ms=10_000, **AT_ONCE)
    assert result.rebalances[-1].started_ms == noticed_ms


def test_members_of_librdkafka_rejoin_for_new_partitions_when_they_see_them():
    result = started_one_by_one(Grow(15_000, "t", 9), assignor="range", metadata_max_age_ms=10_000, **AT_ONCE)
    last = result.rebalances[-1]
    assert (last.started_ms, last.completed_ms) == (20_000, 20_600)


def test_a_member_that_sees_new_partitions_stands_still_from_then_on():
    result = started_one_by_one(Grow(15_000, "t", 9), assignor="range", metadata_max_age_ms=10_000, **AT_ONCE)
    partition, start, _ = result.timeline.pauses()
    assert sorted(set(start[(partition < 6) & (start > 15_000)])) == [20_000, 20_300]
