"""What must hold of every run."""

from dataclasses import replace
from unittest import mock

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from assignors.group import Topic
from assignors.simulation import (
    Consumer,
    Crash,
    Join,
    Leave,
    Phase,
    Restart,
    Scenario,
    simulate,
    simulate_seeds,
)


@st.composite
def scenarios(draw):
    """Groups of up to five consumers that come and go, some of them at the same moment."""
    consumers = [Consumer(f"c{number}", draw(st.booleans())) for number in range(5)]
    present = draw(st.integers(0, 5))
    back_at = {each.name: 0.0 if index < present else None for index, each in enumerate(consumers)}
    events = []
    now = 0.0
    for _ in range(draw(st.integers(0, 6))):
        now += draw(st.sampled_from([0.0, 500.0, 2_000.0, 20_000.0, 70_000.0]))
        consumer = draw(st.sampled_from(consumers))
        since = back_at[consumer.name]
        if since is None:
            events.append(Join(now, consumer))
            back_at[consumer.name] = now
        elif since <= now:
            kind = draw(st.sampled_from([Leave, Crash, Restart]))
            if kind is Restart:
                down = draw(st.sampled_from([0.0, 1_000.0, 30_000.0, 60_000.0]))
                events.append(Restart(now, consumer.name, down))
                back_at[consumer.name] = now + down
            else:
                events.append(kind(now, consumer.name))
                back_at[consumer.name] = None
    running = sum(since is not None for since in back_at.values())
    assignor = draw(st.sampled_from(["range", "roundrobin", "sticky", "cooperative-sticky"]))
    topics = (Topic("orders", draw(st.integers(1, 7))), Topic("pay", 2))
    seed = draw(st.integers(0, 99))
    return Scenario(topics, tuple(consumers[:present]), tuple(events), assignor, seed=seed), running


@given(scenarios())
@settings(max_examples=150, deadline=None)
def test_in_the_end_everything_is_read_exactly_where_somebody_runs(drawn):
    scenario, running = drawn
    summary = simulate(scenario).summary
    partitions = sum(topic.partitions for topic in scenario.topics)
    assert summary.unassigned_partitions == (0 if running else partitions)


@given(scenarios())
@settings(max_examples=100, deadline=None)
def test_the_phases_of_a_partition_follow_one_another(drawn):
    timeline = simulate(drawn[0]).timeline
    assert (timeline.start < timeline.end).all()
    same = timeline.partition[1:] == timeline.partition[:-1]
    assert (timeline.end[:-1][same] == timeline.start[1:][same]).all()
    assert (timeline.start[np.flatnonzero(np.diff(timeline.partition, prepend=-1))] == 0).all()
    assert ((timeline.consumer >= 0) == (timeline.phase == Phase.CONSUMING)).all()


@given(scenarios())
@settings(max_examples=100, deadline=None)
def test_the_summary_adds_up_what_the_timeline_shows(drawn):
    result = simulate(drawn[0])
    still = result.timeline.phase != Phase.CONSUMING
    lasted = (result.timeline.end - result.timeline.start)[still].sum()
    assert np.isclose(result.summary.partition_pause_ms, lasted)
    assert result.summary.longest_pause_ms <= result.summary.duration_ms


@given(scenarios())
@settings(max_examples=60, deadline=None)
def test_every_assignment_gives_every_partition_once(drawn):
    for step in simulate(drawn[0]).steps:
        given_out = [each for member in step.assignment for each in step.assignment[member]]
        held_back = list(step.assignment.transferring)
        assert len(given_out) == len(set(given_out))
        assert not set(given_out) & set(held_back)


@given(scenarios(), st.sampled_from([1, 3, 1_000]))
@settings(max_examples=60, deadline=None)
def test_runs_that_share_decisions_are_the_runs_alone(drawn, limit):
    scenario, _ = drawn
    seeds = (7, 3, 11, 3)
    alone = [simulate(replace(scenario, seed=seed)) for seed in seeds]
    with mock.patch.object(decisions, "LIMIT", limit):
        shared = list(simulate_seeds(scenario, seeds))
    assert [result.summary for result in shared] == [result.summary for result in alone]
    for one, other in zip(shared, alone, strict=True):
        assert [dict(step.assignment) for step in one.steps] == [
            dict(step.assignment) for step in other.steps
        ]
