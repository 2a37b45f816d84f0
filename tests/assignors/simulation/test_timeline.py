"""What must hold of every run."""

from dataclasses import replace
from unittest import mock

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from assignors.group import Topic
from assignors.simulation import (
    Consumer,
    Costs,
    Crash,
    DuplicateInstance,
    Exponential,
    Failover,
    Join,
    Leave,
    Phase,
    Restart,
    Scenario,
    SlowPoll,
    Stall,
    Uniform,
    simulate,
    simulate_seeds,
)
from assignors.simulation.group import decisions

COSTS = (
    Costs(),
    Costs(poll_ms=Uniform(0, 1_000), network_ms=5),
    Costs(poll_ms=Exponential(90_000), revoke_ms=50, assign_ms=70, assignor_ms=500),
    Costs(partition_ms=40, first_fetch_ms=60, assign_ms=Uniform(0, 9_000)),
)


@st.composite
def scenarios(draw):
    """Groups of up to five consumers to which something happens every now and then, or several at once."""
    clients = st.sampled_from(["java", "librdkafka", "kafka-python"])
    consumers = [Consumer(f"c{number}", draw(st.booleans()), client=draw(clients)) for number in range(5)]
    present = draw(st.integers(0, 5))
    back_at = {each.name: 0.0 if index < present else None for index, each in enumerate(consumers)}
    events = []
    now = 0.0
    for _ in range(draw(st.integers(0, 6))):
        now += draw(st.sampled_from([0.0, 500.0, 2_000.0, 20_000.0, 70_000.0, 400_000.0]))
        consumer = draw(st.sampled_from(consumers))
        since = back_at[consumer.name]
        if since is None:
            events.append(Join(now, consumer))
            back_at[consumer.name] = now
        elif since <= now:
            kind = draw(
                st.sampled_from([Leave, Crash, Restart, SlowPoll, Stall, Failover, DuplicateInstance])
            )
            lasts = draw(st.sampled_from([0.0, 1_000.0, 30_000.0, 60_000.0, 400_000.0]))
            if kind is Failover:
                events.append(Failover(now, lasts))
            elif kind is not DuplicateInstance:
                named = (now, consumer.name)
                events.append(kind(*named, lasts) if kind in {Restart, SlowPoll, Stall} else kind(*named))
                back_at[consumer.name] = {Restart: now + lasts, SlowPoll: since, Stall: since}.get(kind)
            elif consumer.static:
                events.append(DuplicateInstance(now, consumer.name))
    running = sum(since is not None for since in back_at.values())
    scenario = Scenario(
        (Topic("orders", draw(st.integers(1, 7))), Topic("pay", 2)),
        tuple(consumers[:present]),
        tuple(events),
        draw(st.sampled_from(["range", "roundrobin", "sticky", "cooperative-sticky"])),
        seed=draw(st.integers(0, 99)),
        settled_ms=draw(st.sampled_from([0, 3_600_000])),
        costs=draw(st.sampled_from(COSTS)),
    )
    return scenario, running


@given(scenarios())
@settings(max_examples=200, deadline=None)
def test_in_the_end_everything_is_read_exactly_where_somebody_runs(drawn):
    scenario, running = drawn
    summary = simulate(scenario).summary
    partitions = sum(topic.partitions for topic in scenario.topics)
    assert summary.unassigned_partitions == (0 if running else partitions)
    assert (summary.longest_pause_ms == np.inf) == (summary.unassigned_partitions > 0 and has_run(scenario))


def has_run(scenario):
    return bool(scenario.consumers or scenario.events)


@given(scenarios())
@settings(max_examples=150, deadline=None)
def test_the_phases_of_a_partition_follow_one_another(drawn):
    timeline = simulate(drawn[0]).timeline
    assert (timeline.start < timeline.end).all()
    same = timeline.partition[1:] == timeline.partition[:-1]
    assert (timeline.end[:-1][same] == timeline.start[1:][same]).all()
    assert (timeline.start[np.flatnonzero(np.diff(timeline.partition, prepend=-1))] == 0).all()
    read = timeline.phase == Phase.CONSUMING
    assert ((timeline.consumer >= 0) == read).all()
    assert ((timeline.cause >= 0) == ~read).all()


@given(scenarios())
@settings(max_examples=150, deadline=None)
def test_nobody_reads_what_is_not_his_but_zombies(drawn):
    """Whoever reads has been given the partition by the last rebalance; a zombie has lost it."""
    result = simulate(drawn[0])
    timeline = result.timeline
    read = timeline.phase == Phase.CONSUMING
    done = np.array([step.completed_ms for step in result.steps])
    assignments = [
        {
            (topic, number): step.consumers[member].name
            for member, partitions in step.assignment.items()
            for topic, number in partitions
        }
        for step in result.steps
    ]
    for partition, start, consumer in zip(
        timeline.partition[read], timeline.start[read], timeline.consumer[read], strict=True
    ):
        topic = int(np.searchsorted(timeline.first, partition, side="right")) - 1
        place = timeline.topics[topic], int(partition - timeline.first[topic])
        step = int(np.searchsorted(done, start, side="right")) - 1
        assert assignments[step][place] == timeline.consumers[consumer]


@given(scenarios())
@settings(max_examples=150, deadline=None)
def test_the_summary_adds_up_what_the_timeline_shows(drawn):
    result = simulate(drawn[0])
    timeline, summary = result.timeline, result.summary
    lasted = timeline.end - timeline.start
    by_phase = [lasted[timeline.phase == phase].sum() for phase in (3, 2, 4, 5)]
    parts = [summary.detection_ms, summary.barrier_ms, summary.compute_ms, summary.handover_ms]
    assert np.allclose(parts, by_phase)
    assert np.isclose(summary.partition_pause_ms, sum(by_phase))
    _, start, end = timeline.pauses()
    if summary.longest_pause_ms < np.inf:
        assert np.isclose(summary.longest_pause_ms, np.max(end - start, initial=0))


@given(scenarios())
@settings(max_examples=100, deadline=None)
def test_outages_are_what_the_timeline_says_of_their_causes(drawn):
    result = simulate(drawn[0])
    timeline = result.timeline
    lasted = timeline.end - timeline.start
    still = timeline.cause >= 0
    spent = np.bincount(timeline.cause[still], lasted[still], len(timeline.causes))
    found = [
        each.detection_ms + each.barrier_ms + each.compute_ms + each.handover_ms for each in result.outages
    ]
    assert np.allclose(found, spent[spent > 0])
    assert [each.cause for each in result.outages] == [
        timeline.causes[cause] for cause in np.flatnonzero(spent > 0)
    ]


@given(scenarios())
@settings(max_examples=60, deadline=None)
def test_every_assignment_gives_every_partition_once(drawn):
    for step in simulate(drawn[0]).steps:
        given_out = [each for member in step.assignment for each in step.assignment[member]]
        held_back = list(step.assignment.transferring)
        assert len(given_out) == len(set(given_out))
        assert not set(given_out) & set(held_back)


@given(scenarios(), st.sampled_from([1, 10_000, 2**26]))
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
