"""The events of a scenario as they come, for a group that does no more than run."""

import math
from dataclasses import replace

import pytest

from assignors.group import Topic
from copartition.simulation import (
    Autoscaler,
    Condition,
    Consumer,
    Crash,
    CrashLoop,
    Create,
    Deployment,
    DuplicateInstance,
    Exponential,
    Failover,
    Grow,
    Join,
    Leave,
    Load,
    LogNormal,
    Restart,
    RollingRestart,
    ScaleTo,
    Scenario,
    SlowPoll,
    Stall,
    StatefulSetRoll,
    Uniform,
)
from copartition.simulation.agenda import Agenda
from partitioning.errors import ScenarioError
from partitioning.kit import limits

GROUP = Scenario(
    (Topic("orders", 6),), (Consumer("w-0"), Consumer("w-1")), load=Load(1), until_ms=100_000, name="group"
)
SIGNS = {Join: "+", Leave: "-", Crash: "x"}


class Crowd:
    """Runs whoever starts; everything else about it is set from outside."""

    def __init__(self, scenario, figures=None):
        self.now_ms = 0.0
        self._running = {consumer.name: consumer for consumer in scenario.consumers}
        self._figures = figures or {}

    @property
    def running(self):
        return list(self._running.values())

    @property
    def members(self):
        return self.figure("members")

    @property
    def unread(self):
        return self.figure("unread")

    def is_running(self, name):
        return name in self._running

    def lag(self):
        return self.figure("lag")

    def partition_lag(self):
        return self.figure("partition_lag")

    def figure(self, name):
        return self._figures[name](self.now_ms) if name in self._figures else 0

    def apply(self, event):
        if isinstance(event, Join):
            assert event.consumer.name not in self._running
            self._running[event.consumer.name] = event.consumer
        elif isinstance(event, Leave | Crash):
            del self._running[event.consumer]


def pass_on(agenda, crowd, now_ms):
    """Let happen what is due; gives it."""
    crowd.now_ms = now_ms
    happened = []
    for event in agenda.due(now_ms, crowd):
        assert event.at_ms == now_ms
        crowd.apply(event)
        happened.append((now_ms, event))
    return happened


def happening(events, **figures):
    """What happens until the end, as (time, event)."""
    scenario = replace(GROUP, events=tuple(events))
    agenda, crowd = Agenda(scenario), Crowd(scenario, figures)
    happened = []
    while (now_ms := agenda.next_ms()) <= scenario.until_ms:
        happened += pass_on(agenda, crowd, now_ms)
    return happened


def in_short(events, **figures):
    """What happens to consumers, as "5+w-3"."""
    return [
        f"{at_ms:g}{SIGNS[type(event)]}{event.consumer.name if isinstance(event, Join) else event.consumer}"
        for at_ms, event in happening(events, **figures)
    ]


def after(start_ms, value):
    return lambda now_ms: value if now_ms >= start_ms else 0


def test_events_come_in_the_order_of_time_and_at_one_time_in_the_order_given():
    assert in_short([Leave(9, "w-1"), Crash(5, "w-0"), Join(5, Consumer("n"))]) == ["5xw-0", "5+n", "9-w-1"]


def test_who_is_back_may_leave_at_that_time():
    assert in_short([Restart(5, "w-0", 10), Leave(15, "w-0")]) == ["5-w-0", "15+w-0", "15-w-0"]


@pytest.mark.parametrize(
    ("event", "steps"),
    [
        (Restart(5, "w-0", 10), ["5-w-0", "15+w-0"]),
        (RollingRestart(at_ms=5, every_ms=3, down_ms=10), ["5-w-0", "8-w-1", "15+w-0", "18+w-1"]),
        (StatefulSetRoll(5, 2, 1), ["5-w-1", "7+w-1", "8-w-0", "10+w-0"]),
        (Deployment(5, 1, 0, 2, 1), ["7+w-0-r2", "8-w-0", "10+w-1-r2", "11-w-1"]),
        (ScaleTo(5, 4, 2), ["7+w-2", "7+w-3"]),
        (ScaleTo(5, 0), ["5-w-1", "5-w-0"]),
        (CrashLoop(5, "w-0", 2, 3, 1), ["5xw-0", "6+w-0", "9xw-0", "11+w-0"]),
    ],
)
def test_events_come_down_to_others(event, steps):
    assert in_short([event]) == steps


def test_a_group_that_nobody_was_in_gets_workers():
    scenario = replace(GROUP, consumers=(), events=(ScaleTo(5, 2),))
    crowd = Crowd(scenario)
    assert [event.consumer.name for event in Agenda(scenario).due(5, crowd)] == ["worker-0", "worker-1"]


def test_who_has_joined_is_restarted_too():
    events = [StatefulSetRoll(5, 2, 1), Join(1, Consumer("n")), Leave(2, "w-1")]
    assert in_short(events) == ["1+n", "2-w-1", "5-n", "7+n", "8-w-0", "10+w-0"]


def test_a_roll_after_a_roll_goes_the_same_way():
    names = [step[-3:] for step in in_short([StatefulSetRoll(5, 2), StatefulSetRoll(50, 2)]) if "-w" in step]
    assert names == ["w-1", "w-0", "w-1", "w-0"]


def test_a_change_of_the_group_waits_for_the_one_before():
    steps = in_short([ScaleTo(6, 1), StatefulSetRoll(5, 10)])
    assert steps == ["5-w-1", "15+w-1", "15-w-0", "25+w-0", "25-w-0"]


@pytest.mark.parametrize(
    ("events", "steps"),
    [
        # Closed for good while the roll goes on: it is not brought back.
        ([StatefulSetRoll(5, 10), Leave(6, "w-0")], ["5-w-1", "6-w-0", "15+w-1"]),
        ([RollingRestart(every_ms=10, down_ms=1), Crash(5, "w-1")], ["0-w-0", "1+w-0", "5xw-1"]),
        ([CrashLoop(5, "w-0", 9, 10, 1), Leave(8, "w-0")], ["5xw-0", "6+w-0", "8-w-0"]),
        # Restarted by two: it is started once.
        ([Restart(5, "w-1", 10), StatefulSetRoll(6, 2)], ["5-w-1", "6-w-0", "8+w-0", "15+w-1"]),
        ([StatefulSetRoll(5, 10), Restart(14, "w-0", 4)], ["5-w-1", "14-w-0", "15+w-1", "18+w-0"]),
    ],
)
def test_a_step_that_others_made_impossible_is_left_out(events, steps):
    assert in_short(events) == steps


@pytest.mark.parametrize(
    ("events", "message"),
    [
        (
            [Leave(Condition("members", above=0), "w-0"), Crash(5_000, "w-0")],
            "crash at 5000 ms: consumer 'w-0'",
        ),
        (
            [Leave(5, "w-0"), Stall(Condition("lag", above=0), "w-0", 1)],
            "stall at 1000 ms: consumer 'w-0' is n",
        ),
        (
            [Restart(5, "w-0", Uniform(9, 9)), Leave(10, "w-0")],
            "leave at 10 ms: consumer 'w-0' is not running",
        ),
        ([ScaleTo(5, 3), Join(6, Consumer("w-2"))], "join at 6 ms: consumer 'w-2' is in the group already"),
        (
            [ScaleTo(5, 3, 9), Join(6, Consumer("w-2"))],
            "join at 6 ms: consumer 'w-2' is in the group already",
        ),
        ([Deployment(5), Leave(50, "w-0-r3")], "no consumer 'w-0-r3', neither .*; did you mean 'w-0-r2'"),
        ([Deployment(5), Restart(6, "w-0", 1)], "restart at 6 ms: consumer 'w-0' is not running"),
        ([Deployment(5), DuplicateInstance(6, "w-0-r2")], "'w-0-r2' has no group.instance.id"),
        (
            [Grow(Condition("lag", above=0), "orders", 9), Grow(5_000, "orders", 8)],
            "has 9 partitions already",
        ),
        ([Create(Condition("lag", above=0), "n", 9), Create(5_000, "n", 8)], "there is a topic 'n' already"),
    ],
)
def test_what_turns_out_impossible_is_refused_in_the_same_words(events, message):
    with pytest.raises(ScenarioError, match=message) as caught:
        happening(events, members=after(1_000, 1), lag=after(1_000, 1))
    assert caught.value.path.startswith("$.events[")


def test_nothing_is_looked_at_where_nothing_waits():
    agenda = Agenda(replace(GROUP, events=(Leave(5_000, "w-0"),)))
    assert agenda.next_ms() == 5_000
    assert len(list(agenda.due(5_000, Crowd(GROUP)))) == 1
    assert agenda.next_ms() == math.inf


def test_conditions_are_looked_at_once_a_second_until_they_hold():
    looks = []

    def lag(now_ms):
        looks.append(now_ms)
        return now_ms

    assert in_short([Leave(Condition("lag", above=2_500), "w-0"), Crash(500, "w-1")], lag=lag) == [
        "500xw-1",
        "3000-w-0",
    ]
    assert looks == [0, 1_000, 2_000, 3_000]


@pytest.mark.parametrize(
    ("condition", "at_ms"),
    [
        (Condition("members", below=3), 0),
        (Condition("unread", above=5), 20_000),
        (Condition("partition_lag", above=5, for_ms=2_500), 23_000),
        (Condition("lag", above=5, for_ms=10_000), 50_000),  # it was at rest from 25 s to 40 s
    ],
)
def test_a_condition_holds_when_its_figure_has_been_beyond_the_limit_for_long_enough(condition, at_ms):
    figures = {"unread": after(20_000, 6), "partition_lag": after(20_000, 6)}
    figures["lag"] = lambda now_ms: 9 if 20_000 <= now_ms < 25_000 or now_ms >= 40_000 else 5
    assert in_short([Leave(condition, "w-0")], **figures) == [f"{at_ms}-w-0"]


def test_a_condition_that_never_holds_sets_nothing_off():
    assert happening([Leave(Condition("lag", above=5), "w-0")]) == []


def test_an_autoscaler_follows_the_lag_and_takes_away_the_youngest():
    scaler = Autoscaler(10_000, 100, 10_000, 20_000, fewest=2, start_ms=1_000)
    steps = in_short([scaler], lag=lambda now_ms: 400 if now_ms < 50_000 else 0)
    assert steps == ["11000+w-2", "11000+w-3", "70000-w-3", "70000-w-2"]


def test_an_autoscaler_counts_who_is_about_to_start():
    scaler = Autoscaler(0, 100, 10_000, start_ms=25_000)
    assert in_short([scaler], lag=after(0, 400)) == ["25000+w-2", "25000+w-3"]


def test_an_autoscaler_does_not_start_whom_it_no_longer_wants():
    scaler = Autoscaler(0, 100, 10_000, 0, start_ms=25_000)
    assert in_short([scaler], lag=lambda now_ms: 400 if now_ms == 0 else 0) == ["10000-w-1"]


@pytest.mark.parametrize(
    "event", [Autoscaler(0, 100, start_ms=9), Deployment(0)], ids=["autoscaler", "deployment"]
)
def test_names_that_are_made_have_a_limit(event, monkeypatch):
    scenario = replace(GROUP, events=(event,))
    monkeypatch.setattr(limits, "MAX_GROUP_MEMBERS", 3)
    agenda, crowd = Agenda(scenario), Crowd(scenario, {"lag": after(0, 400)})
    with pytest.raises(ScenarioError, match="the run has 4 members; 3 are the most") as caught:
        pass_on(agenda, crowd, 0)
    assert caught.value.path == "$.events[0]"


def test_an_autoscaler_during_a_deployment_counts_nobody_twice():
    scaler = Autoscaler(0, 100, 1_000)
    steps = in_short([scaler, Deployment(500, 1, 0, 1_000, 1_000)], lag=after(0, 200))
    assert steps == ["1500+w-0-r2", "2500-w-0", "3500+w-1-r2", "4500-w-1"]


def test_an_autoscaler_has_no_more_consumers_than_partitions():
    events = happening([Autoscaler(0, 1, 10_000), Grow(25_000, "orders", 8)], lag=after(0, 1_000))
    assert [at_ms for at_ms, event in events if isinstance(event, Join)] == [0] * 4 + [30_000] * 2


LONG = {"for_ms": Exponential(5_000)}
DRAWN = [
    SlowPoll(5, "w-0", **LONG),
    Stall(5, "w-0", LogNormal(10, 90)),
    Failover(5, Uniform(1, 2)),
    Restart(5, "w-0", Uniform(1, 2)),
    Deployment(5, start_ms=Uniform(1, 2)),
]


@pytest.mark.parametrize("event", DRAWN, ids=lambda event: type(event).__name__)
def test_lengths_are_drawn_by_the_seed_and_the_event_alone(event):
    alone = happening([Failover(1, 1), event])
    assert alone[1:] == happening([Failover(1, Uniform(5, 9)), event])[1:]
    assert alone[1:] != happening([event])
    assert alone == happening([Failover(1, 1), event])


def test_a_length_is_a_number_when_it_happens():
    ((_, event),) = happening([SlowPoll(5, "w-0", Uniform(7, 7))])
    assert event == SlowPoll(5, "w-0", 7.0)
