"""What the group coordinator does, one rule a test."""

from dataclasses import replace
from functools import partial

import pytest

from assignors.group import Topic
from copartition.simulation import (
    Consumer,
    Crash,
    Grow,
    Join,
    Leave,
    Phase,
    Restart,
    Scenario,
    SlowPoll,
    Stall,
    simulate,
)
from partitioning.errors import CopartitionError
from tests.support import simulated
from tests.support.simulated import ORDERS, group

run = partial(simulated.run, assignor="cooperative-sticky")


def test_a_group_without_events_only_consumes():
    result = run(group(3))
    assert result.summary.rebalances == 0
    assert result.summary.unassigned_partitions == 0
    assert [len(result.start.assignment[member]) for member in result.start.assignment] == [4, 4, 4]


def test_an_empty_group_waits_for_the_initial_delay():
    result = run((), Join(0, Consumer("c0")))
    assert [rebalance.completed_ms for rebalance in result.rebalances] == [3_000]


def test_each_newcomer_extends_the_initial_delay_once_a_window():
    joins = [Join(at_ms, Consumer(f"c{at_ms}")) for at_ms in (0, 1_000, 2_500, 5_000)]
    result = run((), *joins)
    assert [rebalance.completed_ms for rebalance in result.rebalances] == [9_000]
    assert len(result.rebalances[0].assignment) == 4


def test_the_initial_delay_ends_with_the_poll_interval_at_the_latest():
    joins = [Join(at_ms, Consumer(f"c{at_ms}")) for at_ms in range(0, 20_000, 1_000)]
    result = run((), *joins, max_poll_interval_ms=10_000)
    assert result.rebalances[0].completed_ms == 10_000


@pytest.mark.parametrize(
    ("joining", "causes"),
    [(0, "c0 left"), (1, "c0 left, n0 joined"), (5, "c0 left, n0 joined, n1 joined and 3 more")],
)
def test_what_a_rebalance_stops_is_stopped_by_all_that_caused_it(joining, causes):
    joins = [Join(10_001 + number, Consumer(f"n{number}")) for number in range(joining)]
    result = run(group(3, beat_ms=0.0), Leave(10_000, "c0"), *joins, assignor="range")
    (rebalance,), (outage,) = result.rebalances, result.outages
    assert (outage.cause, outage.partitions) == (causes, 12)
    # What c0 had waits from 10 s on; c1 and c2 stop at their fourth heartbeats, the later of which ends it.
    assert rebalance.completed_ms == pytest.approx(12_008, abs=2.4)
    assert outage.pause_ms == pytest.approx(4 * (rebalance.completed_ms - 10_000), abs=4 * 4 * 1.1)


def test_what_a_cooperative_rebalance_takes_away_is_stopped_by_all_that_caused_it_until_it_is_read_again():
    # The last one joins while the group rebalances once more, for what the first two have taken away.
    events = Join(10_000, Consumer("n0")), Join(10_001, Consumer("n1")), Join(13_000, Consumer("n2"))
    result = run(group(3, beat_ms=0.0), *events)
    assert [rebalance.causes for rebalance in result.rebalances[:2]] == [
        ("n0 joined", "n1 joined"),
        ("partitions revoked", "n2 joined"),
    ]
    assert [outage.cause for outage in result.outages] == ["n0 joined, n1 joined, n2 joined"]


def test_a_rebalance_is_not_blamed_for_what_caused_the_one_before():
    events = (
        Leave(10_000, "c0"),
        Join(10_001, Consumer("n0")),
        Leave(20_000, "c1"),
        Join(20_001, Consumer("n1")),
    )
    result = run(group(3, beat_ms=0.0), *events, assignor="range")
    assert [outage.cause for outage in result.outages] == ["c0 left, n0 joined", "c1 left, n1 joined"]


def test_members_learn_of_a_rebalance_at_their_next_heartbeat():
    result = run(group(5), Join(10_000, Consumer("new")), assignor="sticky")
    timeline = result.timeline
    paused = timeline.phase == Phase.PAUSED
    assert len(set(timeline.start[paused].tolist())) == 4  # who hears last does not wait
    assert timeline.start[paused].min() > 10_000
    assert timeline.end[paused].max() == result.rebalances[0].completed_ms < 13_000


def test_eager_stops_everybody_and_cooperative_only_what_moves():
    eager, cooperative = (
        run(group(3), Join(10_000, Consumer("new")), assignor=name)
        for name in ("sticky", "cooperative-sticky")
    )
    assert len(set(eager.timeline.pauses()[0].tolist())) == 8  # who hears last does not wait
    assert len(set(cooperative.timeline.pauses()[0].tolist())) == 3


def test_a_join_under_cooperative_takes_a_second_rebalance_for_what_was_revoked():
    result = run(group(3), Join(10_000, Consumer("new")))
    assert [rebalance.causes for rebalance in result.rebalances] == [("new joined",), ("partitions revoked",)]
    first, second = result.rebalances
    assert len(first.assignment["new#1"]) == 0
    assert second.started_ms == first.completed_ms
    assert len(second.assignment["new#1"]) == second.moved == 3


def test_a_dynamic_member_that_closes_is_replaced_at_once():
    result = run(group(3), Leave(10_000, "c1"))
    assert [rebalance.causes for rebalance in result.rebalances] == [("c1 left",)]
    assert result.summary.longest_pause_ms < 3_000


@pytest.mark.parametrize("event", [Crash(10_000, "c1"), Leave(10_000, "c1")])
def test_a_static_member_that_goes_is_missed_when_its_session_ends(event):
    result = run(group(3, static=True), event)
    assert [rebalance.causes for rebalance in result.rebalances] == [("session of c1 timed out",)]
    assert 52_000 < result.rebalances[0].started_ms <= 55_000


def test_a_static_member_that_is_late_leaves_and_joins():
    result = run(group(3, static=True), Restart(10_000, "c1", 60_000))
    causes = [cause for rebalance in result.rebalances for cause in rebalance.causes]
    assert causes[:2] == ["session of c1 timed out", "c1 joined"]


def test_a_static_member_that_is_back_while_the_barrier_is_open_has_nothing_to_revoke():
    """Its new process owns nothing: what others get of its partitions, they get at once."""
    members = [Consumer("c0", static=True), Consumer("c1", static=True), Consumer("c2")]
    result = run(members, Restart(9_500, "c1", 1_500), Leave(10_000, "c2"))
    before, after = result.start.assignment["c1#1"], result.rebalances[0].assignment["c1#1"]
    assert not set(before) <= set(after)
    assert [rebalance.causes for rebalance in result.rebalances] == [("c2 left",)]


def test_a_dead_member_blocks_the_barrier_until_its_session_ends():
    result = run(group(3), Crash(10_000, "c1"), Join(12_000, Consumer("new")), assignor="sticky")
    first = result.rebalances[0]
    assert first.causes == ("new joined", "session of c1 timed out")
    assert first.completed_ms - first.started_ms > 39_000


def test_the_barrier_drops_a_dynamic_member_that_does_not_rejoin_in_the_poll_interval():
    late = (Crash(10_000, "c1"), Join(12_000, Consumer("new")))
    first = run(group(3), *late, session_timeout_ms=900_000).rebalances[0]
    assert first.causes == ("new joined", "c1 did not rejoin in time")
    assert first.completed_ms == 312_000


def test_the_barrier_goes_on_without_a_static_member_and_keeps_it():
    """`completeClassicGroupJoin` removes members that are not static."""
    late = (Crash(10_000, "c1"), Join(12_000, Consumer("new")))
    first, second = run(
        group(3, static=True), *late, assignor="sticky", session_timeout_ms=900_000
    ).rebalances
    assert (first.causes, first.completed_ms) == (("new joined",), 312_000)
    assert list(first.assignment) == ["c0#1", "c1#1", "c2#1", "new#1"]
    assert second.causes == ("session of c1 timed out",)
    assert second.started_ms == 312_000 + 900_000


def test_a_static_member_whose_batch_outlasts_the_barrier_has_its_partitions_when_it_joins():
    slow = (Join(12_000, Consumer("new")), SlowPoll(12_100, "c1", 299_999))
    result = run(group(3, static=True), *slow, assignor="range")
    timeline, barrier_ms, polls_ms = result.timeline, 312_000, 312_099
    assert [rebalance.completed_ms for rebalance in result.rebalances] == [barrier_ms]
    zombies = zip(*(column.tolist() for column in timeline.zombies), strict=True)
    assert sorted(zombies) == [(partition, barrier_ms, polls_ms, 1) for partition in (4, 5, 6, 7)]
    stands = (timeline.phase == Phase.UNNOTICED) & (timeline.end > barrier_ms)
    assert timeline.partition[stands].tolist() == [3, 4, 5]
    assert set(timeline.end[stands].tolist()) == {polls_ms}


def test_a_barrier_that_nobody_passes_waits_on():
    """ "could not complete rebalance because no members rejoined": sessions decide, not the poll interval."""
    both = (Crash(10_000, "c0"), Crash(10_000, "c1"), Leave(11_000, "c2"))
    result = run((*group(2, static=True), Consumer("c2")), *both, session_timeout_ms=400_000)
    assert result.rebalances == ()
    assert [entry.what for entry in result.log][-1] == "empty"


def test_a_dynamic_member_that_crashes_and_comes_back_haunts_the_group_until_its_session_ends():
    result = run(group(3), Crash(10_000, "c1"), Join(11_000, Consumer("c1")))
    first = result.rebalances[0]
    assert first.causes == ("c1 joined", "session of c1 timed out")
    assert list(first.assignment) == ["c0#1", "c2#1", "c1#2"]


def test_a_quick_restart_is_one_rebalance_that_moves_nothing():
    result = run(group(4), Restart(10_000, "c1", 500))
    assert [rebalance.causes for rebalance in result.rebalances] == [("c1 left", "c1 joined")]
    assert result.summary.moved_partitions == 0


@pytest.mark.parametrize(
    ("event", "cause", "begins_ms"),
    [
        pytest.param(
            Crash(5_500, "c0"), "session of c0 timed out", pytest.approx(50_500, abs=5_000), id="dead"
        ),
        pytest.param(
            Stall(5_500, "c0", 20_000), "partitions added (orders to 15)", 25_500, id="stands still"
        ),
    ],
)
def test_a_leader_that_is_away_notices_nothing(event, cause, begins_ms):
    result = run(group(3, static=True), Grow(5_000, "orders", 15), event, metadata_max_age_ms=15_000)
    assert (result.rebalances[0].causes[0], result.rebalances[0].started_ms) == (cause, begins_ms)


def test_a_growth_is_unnoticed_then_assigned():
    result = run(group(3), Grow(10_000, "orders", 15), assignor="sticky")
    assert [rebalance.causes for rebalance in result.rebalances] == [("partitions added (orders to 15)",)]
    timeline = result.timeline
    new = timeline.partition >= 12
    assert timeline.phase[new].tolist()[:1] == [Phase.UNNOTICED]
    assert timeline.start[new].min() == 10_000
    assert sum(map(len, result.rebalances[0].assignment.values())) == 15


@pytest.mark.parametrize("seed", range(3))
def test_a_kafka_python_leader_sees_growth_an_age_after_it_assigned(seed):
    """`ConsumerCoordinator._perform_assignment` asks for metadata, from which their age counts."""
    members = group(3, client="kafka-python")
    events = (Leave(20_000, "c2"), Grow(27_000, "orders", 15))
    first, second = run(members, *events, assignor="range", metadata_max_age_ms=10_000, seed=seed).rebalances
    assert second.causes == ("partitions added (orders to 15)",)
    assert second.started_ms == first.completed_ms + 10_000


def test_a_partition_that_is_new_was_not_moved():
    result = run(group(3), Grow(10_000, "orders", 15), assignor="sticky")
    assert result.rebalances[0].moved == result.summary.moved_partitions == 0


def test_a_rebalance_before_the_refresh_hands_out_the_old_partitions_only():
    result = run(group(3), Grow(10_000, "orders", 15), Leave(10_001, "c2"), assignor="sticky", seed=3)
    assert [sum(map(len, rebalance.assignment.values())) for rebalance in result.rebalances] == [12, 15]


def test_a_static_leader_that_returns_overlooks_what_grew_while_it_was_away():
    """By the answer to JoinGroup it skips the assignment, and takes what it finds for assigned (KIP-814)."""
    result = run(group(3, static=True), Restart(10_000, "c0", 20_000), Grow(15_000, "orders", 15))
    assert result.summary.rebalances == 0
    assert result.summary.unassigned_partitions == 3


def test_a_group_everybody_left_starts_over():
    result = run(group(1), Leave(10_000, "c0"), Join(20_000, Consumer("c0")))
    (rebalance,) = result.rebalances
    assert (rebalance.generation, rebalance.completed_ms) == (2, 23_000)
    assert result.summary.longest_pause_ms == 13_000


def test_generations_count_up():
    result = run(group(4), Join(10_000, Consumer("new")), Leave(90_000, "c1"))
    assert [step.generation for step in result.steps] == [1, 2, 3, 4]


def test_pauses_of_members_are_those_of_the_protocol():
    eager = run(group(3), Leave(10_000, "c1"), assignor="sticky")
    timeline = eager.timeline
    of_others = (timeline.phase == Phase.PAUSED) & (timeline.start > 10_000)
    waits = {
        (start, end) for start, end in zip(timeline.start[of_others], timeline.end[of_others], strict=True)
    }
    assert eager.summary.member_pause_ms == pytest.approx(sum(end - start for start, end in waits))
    assert run(group(3), Leave(10_000, "c1")).summary.member_pause_ms == 0


def test_subscriptions_are_respected():
    consumers = (Consumer("a", topics=("orders",)), Consumer("b", topics=("pay",)))
    result = run(consumers, Leave(10_000, "b"), topics=(Topic("orders", 2), Topic("pay", 2)))
    assert [len(result.start.assignment[member]) for member in ("a#1", "b#1")] == [2, 2]
    assert result.summary.unassigned_partitions == 2


def test_the_same_seed_gives_the_same_run_and_another_seed_another():
    scenario = Scenario(ORDERS, group(5), (Leave(10_000, "c1"),))
    one, again, other = (simulate(replace(scenario, seed=seed)).summary for seed in (1, 1, 2))
    assert one == again
    assert replace(other, seed=1) != one


@pytest.mark.parametrize("name", ["coperative-sticky", ""])
def test_an_assignor_that_cannot_be_simulated_is_refused(name):
    with pytest.raises(CopartitionError):
        run(group(2), assignor=name)
