"""What a change costs: as the simulator has it, without a run."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from assignors.group import Assignment, Topic
from assignors.state import GroupState, MemberIdentity
from copartition.assignment_diff import diff
from copartition.simulation import Consumer, Crash, Grow, Join, Leave, Scenario, Settings, simulate
from partitioning.topic_partition import TopicPartition
from tests.support.tiers import sample

PROTOCOLS = {"sticky": "eager", "cooperative-sticky": "cooperative", "uniform": "consumer"}
FAST = Settings(
    session_timeout_ms=10_000,
    heartbeat_interval_ms=1_000,
    auto_commit_interval_ms=500,
    metadata_max_age_ms=2_000,
    group_consumer_session_timeout_ms=12_000,
    group_consumer_heartbeat_interval_ms=2_000,
)


def events(what, at_ms, members, partitions, count):
    if what == "join":
        return tuple(Join(at_ms, Consumer(f"c{members + number}")) for number in range(count))
    if what == "growth":
        return (Grow(at_ms, "t", partitions + count),)
    return tuple({"leave": Leave, "crash": Crash}[what](at_ms, f"c{number + 1}") for number in range(count))


def state(rebalance, *, static):
    """Who has what, by the consumers' names."""
    lists = {
        consumer.name: rebalance.assignment.get(id_, ()) for id_, consumer in rebalance.consumers.items()
    }
    found = GroupState.of(Assignment.of(lists))
    return replace(
        found,
        complete=True,
        members=tuple(
            MemberIdentity(each.id, instance_id=each.id if static else None) for each in found.members
        ),
    )


def simulated(strategy, what, members, partitions, count, *, static, settings):
    """Means of many runs, the event at any moment: what is waited for, and what detection takes of it."""
    consumers = tuple(Consumer(f"c{number}", static=static) for number in range(members))
    scenario = Scenario((Topic("t", partitions),), consumers, (), strategy, settings=settings)
    certain = what == "crash" or static  # but for heartbeats, after a whole session
    runs = 60 if certain else 400 if what == "growth" or strategy == "uniform" else 100
    results = [
        simulate(
            replace(
                scenario,
                seed=seed,
                events=events(what, 60_000 + 15_000 * (seed + 0.5) / runs, members, partitions, count),
            )
        )
        for seed in range(runs)
    ]
    steps = [state(each, static=static) for each in (results[0].steps[0], results[0].steps[-1])]
    pause_ms, detection_ms, stopped = (
        float(np.mean([figure(result) for result in results]))
        for figure in (
            lambda result: result.summary.partition_pause_ms,
            lambda result: result.summary.detection_ms,
            lambda result: sum(outage.partitions for outage in result.outages),
        )
    )
    return steps, pause_ms, detection_ms, stopped


@pytest.mark.sampled
@pytest.mark.parametrize("strategy", PROTOCOLS)
@pytest.mark.parametrize(
    ("what", "members", "partitions", "count", "static", "settings"),
    sample(
        [
            ("crash", 3, 9, 1, False, Settings()),
            ("join", 1, 8, 1, False, Settings()),
            ("join", 6, 49, 2, False, FAST),
            ("leave", 3, 12, 1, False, Settings()),
            ("leave", 6, 40, 2, False, FAST),
            ("leave", 4, 24, 1, True, Settings()),
            ("crash", 9, 45, 3, False, FAST),
            ("crash", 5, 20, 1, True, FAST),
            ("growth", 1, 4, 2, False, Settings()),
            ("growth", 5, 20, 5, False, FAST),
        ],
        every=10,
        before_ci=2,
    ),
)
def test_costs_are_the_means_of_many_simulations(
    strategy, what, members, partitions, count, static, settings
):
    (before, after), pause_ms, detection_ms, stopped = simulated(
        strategy, what, members, partitions, count, static=static, settings=settings
    )
    found = [
        stop
        for stop in diff(before, after, match="member-id", timing=settings).stops
        if (stop.event, stop.protocol) == (what, PROTOCOLS[strategy])
    ]
    if pause_ms == 0:
        assert found == []
        return
    (stop,) = found
    here = {member.id for member in after.members}
    waiting = [before.members[member].id not in here for member in before.member.tolist()]
    unread = count if what == "growth" else sum(waiting)
    assert stop.partition_seconds * 1_000 == pytest.approx(pause_ms, rel=0.05)
    assert stop.detection_ms * unread == pytest.approx(detection_ms, rel=0.05)
    assert stop.pause_ms * stop.partitions == pytest.approx(stop.partition_seconds * 1_000)
    if what != "growth":
        assert stop.partitions == stopped


def whole(**given):
    """One topic: a="0 1" is a member with partitions 0 and 1."""
    return Assignment.of(
        {name: [TopicPartition("t", int(each)) for each in text.split()] for name, text in given.items()}
    )


def events_of(before, after):
    return list(dict.fromkeys(stop.event for stop in diff(before, after, match="member-id").stops))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (whole(a="0", b="1"), whole(a="0", b="1"), []),
        (whole(a="0 1"), whole(a="0", b="1"), ["join"]),
        (whole(), whole(a="0"), []),
        (whole(a="0", b="1"), whole(a="0 1"), ["leave", "crash"]),
        (whole(a="0"), whole(), []),
        (whole(a="0"), whole(a="0 1"), ["growth"]),
        (whole(a="0", b="1"), whole(a="0 2", c="1"), ["join", "leave", "crash", "growth"]),
        (whole(a="0 2", b="1"), whole(a="0", b="1 2"), ["rebalance"]),
    ],
)
def test_what_happens_is_what_the_diff_shows(before, after, expected):
    assert events_of(before, after) == expected


def test_partitions_of_members_that_left_wait_and_those_of_members_that_joined_are_handed_over():
    stops = diff(whole(a="0 1 2", b="3 4"), whole(a="0 1", c="2", d="3 4"), match="member-id").stops
    counts = {(stop.event, stop.protocol): (stop.members, stop.partitions) for stop in stops}
    assert counts == {
        ("join", "eager"): (2, 5),
        ("join", "cooperative"): (1, 1),
        ("join", "consumer"): (1, 1),
        ("leave", "eager"): (1, 5),
        ("leave", "cooperative"): (0, 2),
        ("leave", "consumer"): (0, 2),
        ("crash", "eager"): (1, 5),
        ("crash", "cooperative"): (0, 2),
        ("crash", "consumer"): (0, 2),
    }


def test_a_member_that_is_alone_waits_for_nobody_when_it_has_seen_new_partitions():
    stops = diff(whole(a="0"), whole(a="0 1"), match="member-id").stops
    assert [(stop.protocol, stop.detection_ms, stop.pause_ms) for stop in stops] == [
        ("eager", 150_000, 150_000),
        ("cooperative", 150_000, 150_000),
        ("consumer", pytest.approx(2_500.2), pytest.approx(2_500.2)),
    ]


def test_static_members_that_close_are_missed_a_session_after_their_last_commit():
    before, after = (
        replace(
            GroupState.of(side),
            members=tuple(MemberIdentity(name, instance_id=name) for name in side),
        )
        for side in (whole(a="0", b="1", c="2"), whole(b="0 1", c="2"))
    )
    stops = {(stop.event, stop.protocol): stop for stop in diff(before, after, match="member-id").stops}
    assert stops["leave", "eager"].detection_ms == 45_000
    assert stops["leave", "consumer"].detection_ms == pytest.approx(45_000 - 2_500.2)
    assert stops["crash", "eager"].detection_ms == pytest.approx(43_800, rel=0.001)


def test_what_a_static_member_had_waits_longer_than_what_others_had_who_left():
    members = (MemberIdentity("a", instance_id="a"), MemberIdentity("b"), MemberIdentity("c"))
    before = replace(GroupState.of(whole(a="0", b="1 2 3", c="4")), members=members)
    stop = diff(before, whole(c="0 1 2 3 4"), match="member-id").stops[0]
    assert (stop.event, stop.protocol) == ("leave", "eager")
    assert stop.detection_ms == 45_000 / 4
    assert stop.pause_ms > 44_000  # the barrier waits for it


def test_where_all_have_something_to_give_up_the_follow_up_waits_for_nobody():
    stops = diff(whole(a="0 1", b="2 3"), whole(a="0 2", b="1 3"), match="member-id").stops
    assert [stop.protocol for stop in stops] == ["eager", "consumer"]


@pytest.mark.heavy
def test_a_large_group_stops_as_a_small_one_does():
    before = {f"m{m}": [TopicPartition("t", p) for p in range(50 * m, 50 * m + 50)] for m in range(2_000)}
    after = dict(list(before.items())[1:]) | {"new": before["m0"]}
    assert len(diff(Assignment.of(before), Assignment.of(after), match="member-id").stops) == 7


@pytest.mark.live
def test_a_diff_that_nobody_asks_for_its_cost_does_without_the_simulator():
    code = (
        "import sys; from copartition.assignment_diff.compare import diff; diff({}, {}); print(*sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "copartition.assignment_diff.stops" in told.stdout.split()
    assert "copartition.simulation.run" not in told.stdout.split()
