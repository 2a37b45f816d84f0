"""Every run comes to an end."""

import math
from dataclasses import replace
from itertools import product

import pytest

from assignors import RebalanceProtocol, register_assignor
from assignors.assignment import Assignment
from assignors.group import Topic
from copartition.simulation import (
    Consumer,
    Costs,
    Crash,
    Grow,
    Leave,
    Load,
    Restart,
    Scenario,
    Settings,
    Uniform,
    simulate,
    simulate_seeds,
)
from copartition.simulation.group.timers import first_after, last_until
from copartition.simulation.inputs.durations import LATEST_MS
from partitioning import TopicPartition
from partitioning.errors import ScenarioError
from tests.support.recording import strangers
from tests.support.tiers import sample

__all__ = ["strangers"]

TOPICS = (Topic("orders", 3),)
GROWS = Scenario(TOPICS, (Consumer("a"),), (Grow(60_000, "orders", 6),))


def test_growth_is_noticed_once_whatever_the_phase():
    results = list(simulate_seeds(GROWS, sample(range(500), 25)))
    figures = {(result.summary.rebalances, result.summary.unassigned_partitions) for result in results}
    assert figures == {(1, 0)}


def test_a_run_lasts_until_the_transaction_that_a_crash_left_open_times_out():
    """It began with the commit before the crash, 5 s earlier at most, and lasts a minute."""
    scenario = Scenario(
        TOPICS,
        (Consumer("a"), Consumer("b")),
        (Crash(10_000, "a"),),
        settings=Settings(session_timeout_ms=6_000),
        load=Load(10, 100, transactions=True),
    )
    result = simulate(scenario)
    longer = simulate(replace(scenario, until_ms=200_000))
    assert 65_000 <= result.summary.duration_ms <= 70_000
    assert 55_000 <= result.records.uncommitted_ms.max() <= 60_000
    assert result.records.uncommitted_ms.tolist() == longer.records.uncommitted_ms.tolist()


@pytest.mark.parametrize(
    ("phase_ms", "every_ms", "at_ms"),
    sample(
        [
            *product(
                [0.0, 0.1, 1 / 3, 299_999.99999999994],
                [1, 1.1, 3_000, 300_000, LATEST_MS],
                [0.0, 0.3, 60_000.0, 123_456_789.123, LATEST_MS],
            )
        ],
        3,
    ),
)
def test_the_first_time_after_is_the_last_one_up_to_itself(phase_ms, every_ms, at_ms):
    last, first = last_until(phase_ms, every_ms, at_ms), first_after(phase_ms, every_ms, at_ms)
    assert last <= at_ms < first
    assert last_until(phase_ms, every_ms, first) == first


def test_what_is_never_read_again_is_paused_for_ever():
    left = Scenario(TOPICS, (Consumer("a"),), (Leave(60_000, "a"),))
    ended = simulate(left).summary
    assert (ended.longest_pause_ms, ended.unassigned_partitions, ended.duration_ms) == (math.inf, 3, 60_000)


def test_what_nobody_ever_wanted_is_not():
    topics = (*TOPICS, Topic("forgotten", 2))
    ended = simulate(
        Scenario(topics, (Consumer("a", topics=("orders",)),), (Grow(60_000, "orders", 6),))
    ).summary
    assert ended.unassigned_partitions == 2
    assert ended.longest_pause_ms == ended.duration_ms


@pytest.mark.parametrize("until_ms", [90_000, 60_000, 30_000])
def test_a_run_can_be_given_an_end_up_to_which_pauses_count(until_ms):
    left = Scenario(TOPICS, (Consumer("a"),), (Leave(60_000, "a"),), until_ms=until_ms)
    ended = simulate(left).summary
    paused_ms = max(until_ms - 60_000, 0)
    assert (ended.duration_ms, ended.longest_pause_ms) == (until_ms, paused_ms)
    assert 1_000 * ended.partition_seconds == 3 * paused_ms


def test_a_run_ends_when_the_last_partition_is_open():
    scenario = Scenario(
        TOPICS, (Consumer("a"), Consumer("b")), (Leave(10, "b"),), costs=Costs(assign_ms=70_000)
    )
    result = simulate(scenario)
    assert result.summary.duration_ms == result.rebalances[0].completed_ms + 70_000
    assert result.summary.unassigned_partitions == 0


class Restless:
    """Gives every other partition to the next member, and has the rest given up; the next time those."""

    name = "restless"
    protocols = frozenset({RebalanceProtocol.COOPERATIVE})

    def __init__(self):
        self.asked = 0

    def assign(self, group):
        self.asked += 1
        assert self.asked < 100_000
        turn = group.members[self.asked % len(group.members)].id
        every = [TopicPartition(topic.name, n) for topic in group.topics for n in range(topic.partitions)]
        return self.turn_of(group, every, turn)

    def turn_of(self, group, every, turn):
        waiting = dict.fromkeys(every[self.asked % 2 :: 2], turn)
        given = [partition for partition in every if partition not in waiting]
        return Assignment.for_group(group, {turn: given}, transferring=waiting)


@pytest.mark.slow
@pytest.mark.usefixtures("strangers")
def test_a_group_that_never_comes_to_rest_is_told():
    register_assignor("restless", Restless)
    scenario = Scenario(TOPICS, tuple(Consumer(name) for name in "abc"), (Leave(5, "c"),), "restless")
    with pytest.raises(ScenarioError, match=r"rebalances, the last .* partitions revoked; .*'restless'"):
        simulate(scenario)


STALLED = {"event": "stall", "consumer": "worker-0", "at_ms": "10 s", "for_ms": {"uniform": ["1 s", "90 s"]}}
PINGPONG = {
    "topics": {"t": 4, "u": {"partitions": 2, "racks": [["r1", "r2"], ["r2"]]}},
    "consumers": {"count": 3, "rack": "r2", "client": "librdkafka"},
    "assignor": "cooperative-sticky",
    "until_ms": "1 h",
    "seed": 84,
    "events": [
        STALLED,
        STALLED,
        {
            "event": "crash-loop",
            "consumer": "worker-1",
            "at_ms": "16 s",
            "times": 3,
            "up_ms": "5 s",
            "backoff_ms": "1 s",
            "most_ms": "9 s",
        },
        {"event": "statefulset-roll", "at_ms": "18 s", "down_ms": "5 s", "ready_ms": "3 s"},
    ],
}


@pytest.mark.slow
def test_a_group_that_rebalances_without_a_pause_is_told_also_where_the_run_has_an_end():
    with pytest.raises(ScenarioError, match=r"not at rest 2,\d{3} steps after .* of: partitions revoked"):
        simulate(Scenario.from_dict(PINGPONG))


class Counting(Restless):
    """Remembers how often it was asked, as a leader's assignor may."""

    name = "counting"
    protocols = frozenset({RebalanceProtocol.EAGER})

    def turn_of(self, group, every, turn):
        return Assignment.for_group(group, {turn: every})


@pytest.mark.usefixtures("strangers")
def test_runs_that_share_decisions_do_not_share_a_leaders_memory():
    register_assignor("counting", Counting)
    events = [Restart(60_000.0 * turn, "c", Uniform(0, 6_000)) for turn in range(1, 6)]
    scenario = Scenario(TOPICS, tuple(Consumer(name) for name in "abc"), events, "counting")
    alone = [simulate(replace(scenario, seed=seed)) for seed in sample(range(8), 2)]
    alone += alone
    shared = list(simulate_seeds(scenario, [result.summary.seed for result in alone]))
    assert len({len(result.rebalances) for result in alone}) > 1
    for one, other in zip(shared, alone, strict=True):
        assert [dict(step.assignment) for step in one.steps] == [
            dict(step.assignment) for step in other.steps
        ]
