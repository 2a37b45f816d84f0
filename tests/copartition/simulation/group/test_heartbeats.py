"""When members hear of a rebalance."""

import numpy as np
import pytest

from copartition.simulation import (
    Consumer,
    Costs,
    Crash,
    Join,
    Leave,
    Phase,
    Restart,
    Scenario,
    Settings,
    simulate,
    simulate_seeds,
)
from copartition.simulation.group.clients import BEHAVIOURS
from copartition.simulation.group.timers import first_after, first_after_each
from copartition.simulation.inputs.durations import LATEST_MS
from tests.support.simulated import ORDERS, group, when
from tests.support.tiers import sample


def starts_of_pauses(result, rebalance):
    """When members stopped for this rebalance."""
    timeline = result.timeline
    paused = (timeline.phase == Phase.PAUSED) & (timeline.end == rebalance.completed_ms)
    return timeline.start[paused & (timeline.start > rebalance.started_ms)]


@pytest.mark.parametrize("client", BEHAVIOURS)
def test_a_group_that_has_just_been_formed_is_in_step_but_for_how_late_beats_are(client):
    scenario = Scenario(ORDERS, group(5, client=client), (Leave(10_000, "c1"),), "sticky", settled_ms=0)
    result = simulate(scenario)
    (rebalance,) = result.rebalances
    least, most = BEHAVIOURS[client].late_ms
    heard = [*starts_of_pauses(result, rebalance), rebalance.completed_ms]
    assert all(12_000 + 4 * least <= at_ms <= 12_000 + 4 * most for at_ms in heard)
    assert len(set(heard)) == 4


def test_the_answer_to_a_join_puts_the_group_in_step():
    events = (Leave(10_000, "c1"), Leave(70_000, "c2"))
    result = simulate(Scenario(ORDERS, group(6), events, "sticky"))
    first, second = result.rebalances
    assert np.ptp(starts_of_pauses(result, first)) > 300
    assert 0 < np.ptp(starts_of_pauses(result, second)) < 20 * 1.1
    beats = (second.completed_ms - first.completed_ms) / 3_002
    assert beats == pytest.approx(round(beats), abs=0.02)


def test_the_follow_up_is_heard_an_interval_after_the_first_round():
    result = simulate(Scenario(ORDERS, group(3), (Join(10_000, Consumer("new")),)))
    follow_up = result.rebalances[1]
    assert follow_up.causes == ("partitions revoked",)
    assert follow_up.completed_ms - follow_up.started_ms == pytest.approx(3_002, abs=1)


@pytest.mark.parametrize("beat_ms", [500, 1_000, 1_500])
def test_no_look_of_librdkafka_at_its_clock_is_just_too_early(beat_ms):
    """Its looks, each 501 ms, come a millisecond after intervals like these; the network decides nothing."""

    def pause_ms(network_ms):
        scenario = Scenario(
            ORDERS,
            group(3, client="librdkafka"),
            (Restart(60_000, "c1", 2_000),),
            "range",
            Settings(heartbeat_interval_ms=beat_ms, session_timeout_ms=6_000),
            costs=Costs(network_ms=network_ms),
        )
        runs = simulate_seeds(scenario, sample(range(20), 5))
        return np.mean([1_000 * run.summary.partition_seconds for run in runs])

    assert pause_ms(0) == pytest.approx(pause_ms(2), rel=0.05)


@pytest.mark.parametrize("beat_ms", [0.5, 1_234.5, 2_999])
def test_a_consumers_first_beat_can_be_given(beat_ms):
    consumers = (Consumer("a", beat_ms=beat_ms), Consumer("b"), Consumer("c", beat_ms=beat_ms))
    (rebalance,) = simulate(Scenario(ORDERS, consumers, (Leave(0.1, "b"),), "sticky")).rebalances
    assert rebalance.completed_ms == beat_ms


@pytest.mark.parametrize("seed", sample(range(20), 4))
def test_a_session_that_is_a_multiple_of_the_interval_is_no_tie(seed):
    """In step the others hear within some tens of milliseconds, or all but a whole interval later."""
    scenario = Scenario(ORDERS, group(4), (Crash(10_000, "c1"),), "sticky", settled_ms=0, seed=seed)
    result = simulate(scenario)
    (rebalance,) = result.rebalances
    heard = [*starts_of_pauses(result, rebalance), rebalance.completed_ms]
    assert all(0 < at_ms - rebalance.started_ms < 3_000 for at_ms in heard)
    assert rebalance.started_ms != 10_000 + 45_000


@pytest.mark.parametrize("every_ms", [1.0, 1.1, 3_000.0, 3_001.7, float(LATEST_MS)])
@pytest.mark.parametrize("at_ms", [0.0, 0.3, 60_000.0, 123_456_789.123, 1e12])
def test_many_beats_are_those_of_one_at_a_time(every_ms, at_ms):
    phases = np.array([-3_600_000.0, 0.0, 0.1, 1 / 3, 299_999.99999999994])
    found = first_after_each(phases, np.full(5, every_ms), at_ms)
    assert found.tolist() == [first_after(phase, every_ms, at_ms) for phase in phases.tolist()]


@pytest.mark.parametrize(
    ("interval_ms", "earliest", "latest"), [(5_000, 52_000, 55_000), (1_000, 54_000, 55_000)]
)
def test_commits_renew_the_session(interval_ms, earliest, latest):
    settings = Settings(auto_commit_interval_ms=interval_ms)
    scenario = Scenario(ORDERS, group(3), (Crash(10_000, "c1"),), "sticky", settings)
    began = [result.rebalances[0].started_ms for result in simulate_seeds(scenario, sample(range(60), 5))]
    assert earliest < min(began) < earliest + 1_000
    assert max(began) <= latest


def test_the_last_commit_of_a_static_close_renews_the_session():
    consumers = tuple(Consumer(f"c{number}", static=True) for number in range(3))
    (rebalance,) = simulate(Scenario(ORDERS, consumers, (Leave(10_000, "c1"),))).rebalances
    assert rebalance.started_ms == 55_000


def test_a_session_counts_from_the_last_heartbeat_where_that_was_before_time_0():
    timing = Settings(session_timeout_ms=8_000, auto_commit_interval_ms=86_400_000)
    members = (Consumer("c0", beat_ms=1_000), Consumer("c1", beat_ms=1_000))
    result = simulate(Scenario(ORDERS, members, (Crash(0, "c1"),), "range", timing))
    assert when(result, "session-expired") == pytest.approx([1_000 - 3_000 + 8_000], abs=20)
