"""Scenarios that cannot be, and what is said about them."""

import pickle
from dataclasses import replace

import pytest

from assignors.errors import ScenarioError
from assignors.group import Topic
from assignors.simulation import (
    Consumer,
    Crash,
    Grow,
    Join,
    Leave,
    Restart,
    Scenario,
    Settings,
    rolling_restart,
)

GROUP = Scenario((Topic("orders", 4),), (Consumer("a"), Consumer("b")))


@pytest.mark.parametrize(
    ("events", "fault"),
    [
        ([Leave(5, "x")], "leave at 5 ms: no consumer 'x'"),
        ([Leave(5, "a"), Crash(6, "a")], "crash at 6 ms: consumer 'a' is not running"),
        ([Restart(5, "a", 10), Leave(14, "a")], "leave at 14 ms: consumer 'a' is not running"),
        ([Restart(5, "a", -1)], "down_ms is -1"),
        ([Join(5, Consumer("a"))], "consumer 'a' is in the group already"),
        ([Leave(1, "a"), Join(5, Consumer("a", static=True))], "was Consumer(name='a', static=False"),
        ([Join(5, Consumer("n", topics=("pay",)))], "'n' subscribes to 'pay'"),
        ([Grow(5, "pay", 9)], "'pay' is not a topic"),
        ([Grow(5, "orders", 4)], "has 4 partitions already"),
        ([Restart(5, "a", 10**400)], "give a time from 0 to 9007199254740992"),
        ([Leave(-1, "a")], "a time from 0 to 9007199254740992"),
        ([Leave(float("nan"), "a")], "leave at nan ms: an event happens at a time from 0 to"),
        ([Leave(9e18, "a")], "leave at 9e+18 ms: an event happens at a time from 0 to"),
        ([Grow(10**400, "orders", 5)], "an event happens at a time from 0 to"),
    ],
)
def test_an_event_that_cannot_happen_is_named(events, fault):
    with pytest.raises(ScenarioError) as caught:
        replace(GROUP, events=tuple(events))
    assert fault in str(caught.value)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"topics": (Topic("a", 1), Topic("a", 2))}, "topic 'a' is in the scenario twice"),
        ({"consumers": (Consumer("a"), Consumer("a"))}, "consumer 'a' is in the scenario twice"),
        ({"consumers": (Consumer("a", topics=("x",)),)}, "'a' subscribes to 'x'"),
        ({"seed": -1}, "seed is -1"),
        ({"heartbeats": "mixed"}, "heartbeats is 'mixed'"),
    ],
)
def test_a_group_that_cannot_be_is_named(change, fault):
    with pytest.raises(ScenarioError, match=fault):
        replace(GROUP, **change)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"session_timeout_ms": 0}, "session.timeout.ms is 0"),
        ({"heartbeat_interval_ms": float("inf")}, "heartbeat.interval.ms is inf"),
        ({"metadata_max_age_ms": float("nan")}, "metadata.max.age.ms is nan"),
        ({"metadata_max_age_ms": 10**400}, "give a number of milliseconds from 1 to 9007199254740992"),
        ({"heartbeat_interval_ms": 45_000}, "heartbeats must be more frequent"),
        ({"max_poll_interval_ms": 2_000}, "max.poll.interval.ms is 2000"),
    ],
)
def test_a_setting_without_meaning_is_named(change, fault):
    with pytest.raises(ScenarioError, match=fault):
        Settings(**change)


def test_events_are_sorted_by_time_and_ties_keep_their_order():
    late, first, second = Leave(9, "a"), Restart(5, "a", 0), Leave(5, "b")
    assert replace(GROUP, events=(late, first, second)).events == (first, second, late)


def test_a_rolling_restart_takes_the_consumers_in_turn():
    events = rolling_restart(GROUP.consumers, start_ms=10, every_ms=100, down_ms=7)
    assert events == (Restart(10, "a", 7), Restart(110, "b", 7))


def test_a_scenario_travels_to_another_process():
    scenario = replace(GROUP, events=(Leave(9, "a"),))
    assert pickle.loads(pickle.dumps(scenario)) == scenario
