"""Scenarios that cannot be, and what is said about them."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

from assignors.group import Topic
from copartition.simulation import (
    Autoscaler,
    Condition,
    Consumer,
    Costs,
    Crash,
    CrashLoop,
    Create,
    Deployment,
    DuplicateInstance,
    Exponential,
    Grow,
    Join,
    Leave,
    Load,
    LogNormal,
    Restart,
    RollingRestart,
    ScaleTo,
    Scenario,
    Settings,
    Stall,
    StatefulSetRoll,
    Uniform,
)
from copartition.simulation.inputs.file import scenario_to_dict
from partitioning.errors import ScenarioError

GROUP = Scenario((Topic("orders", 4),), (Consumer("a"), Consumer("b")))


NAN, INF = float("nan"), float("inf")
LAG = Condition("lag", above=5_000)


def fault_of(make):
    with pytest.raises(ScenarioError) as caught:
        make()
    return caught.value


@pytest.mark.parametrize(
    ("events", "place", "fault"),
    [
        ([Leave(5, "x")], "[0].consumer", "leave at 5 ms: no consumer 'x'"),
        ([Leave(5, "a"), Crash(6, "a")], "[1].consumer", "crash at 6 ms: consumer 'a' is not running"),
        ([Crash(6, "a"), Leave(5, "a")], "[0].consumer", "crash at 6 ms: consumer 'a' is not running"),
        ([Restart(5, "a", 10), Leave(14, "a")], "[1].consumer",
         "leave at 14 ms: consumer 'a' is not running"),
        ([Leave(5, "n"), Join(6, Consumer("n"))], "[0].consumer", "'n' is not running"),
        ([Leave(5, "a"), Stall(6, "a", 1)], "[1].consumer", "stall at 6 ms: consumer 'a' is not running"),
        ([Leave(5, "worker-1"), ScaleTo(6, 3)], "[0].consumer", "'worker-1' is not running"),
        ([Join(5, Consumer("a"))], "[0].consumer", "consumer 'a' is in the group already"),
        ([Restart(1, "a", 9), Join(5, Consumer("a"))], "[1].consumer", "is in the group already"),
        ([Leave(1, "a"), Join(5, Consumer("a", static=True))], "[1].consumer",
         "had another static before"),
        ([Join(5, Consumer("n", topics=("pay",)))], "[0].consumer.topics[0]", "no topic 'pay'"),
        ([Join(5, Consumer("n", client="jav"))], "[0].consumer.client", "did you mean 'java'?"),
        ([DuplicateInstance(5, "a")], "[0].consumer", "'a' has no group.instance.id"),
        ([Grow(5, "pay", 9)], "[0].topic", "no topic 'pay'"),
        ([Grow(5, "order", 9)], "[0].topic", "did you mean 'orders'?"),
        ([Grow(5, "orders", 4)], "[0].topic", "'orders' has 4 partitions already"),
        ([Grow(9, "new", 4), Create(10, "new", 2)], "[0].topic", "no topic 'new'"),
        ([Create(5, "orders", 9)], "[0].topic", "there is a topic 'orders' already"),
        ([Grow(5, "orders", "9")], "[0].partitions", "partitions is '9'"),
        ([Create(5, "n", 0)], "[0].partitions", "partitions is 0; give a whole number from 1 to"),
        ([Grow(5, "orders", 2**24)] * 2, "[1].topic", "16777216 partitions already"),
        ([Grow(5, "orders", 2**24), Create(5, "n", 1)], "[1].partitions",
         "16,777,217 partitions; 16,777,216 are"),
        ([Restart(5, "a", -1)], "[0].down_ms", "down_ms is -1; give a number of milliseconds from 0 to"),
        ([Restart(5, "a", 10**400)], "[0].down_ms", "from 0 to 9007199254740992"),
        ([Restart(5, "a", Uniform(2, 1))], "[0].down_ms", "down_ms is Uniform(low=2, high=1)"),
        ([Restart(5, "a", LogNormal(0, 1))], "[0].down_ms", "down_ms is LogNormal(median=0, p95=1)"),
        ([Restart(5, "a", Exponential(NAN))], "[0].down_ms", "down_ms is Exponential(mean=nan)"),
        ([Restart(5, "a", 1, ("range", "uniform"))], "[0].assignors", "the broker's, each alone"),
        ([Leave(-1, "a")], "[0].at_ms", "at_ms is -1; give a number of milliseconds from 0 to"),
        ([Leave(NAN, "a")], "[0].at_ms", "at_ms is nan"),
        ([Leave(9e18, "a")], "[0].at_ms", "at_ms is 9e+18"),
        ([Leave("5", "a")], "[0].at_ms", "at_ms is '5'"),
        ([Leave(True, "a")], "[0].at_ms", "at_ms is True"),
        ([Grow(10**400, "orders", 5)], "[0].at_ms", "at_ms is 1000"),
        ([Leave(5, 7)], "[0].consumer", "consumer is 7"),
        ([Join(5, "a")], "[0].consumer", "consumer is 'a'; give Consumer"),
        (["leave"], "[0]", "events[0] is 'leave'; give Join or Leave or"),
        ([Leave(LAG, "a")], "[0].when", "lag is known only where the scenario has a load"),
        ([Leave(Condition("members"), "a")], "[0].when", "one limit"),
        ([Leave(Condition("members", above=1, below=2), "a")], "[0].when", "one limit"),
        ([Leave(Condition("commit-refused", above=1), "a")], "[0].when", "has no limit and no time"),
        ([ScaleTo(Condition("commit-refused"), 1)], "[0].when", "is for an event of one consumer"),
        ([Leave(Condition("commit-refused"), "*")], "[0]", "give until_ms"),
        ([Leave(5, "*")], "[0].consumer", "consumer '*' is not running at that time"),
        ([Leave(Condition("members", above=NAN), "a")], "[0].when.above", "above is nan"),
        ([Leave(Condition("lagg", above=1), "a")], "[0].when.figure", "did you mean 'lag'?"),
        ([Leave(Condition("members", above=1), "a")], "[0]",
         "leave when members > 1 looks at the group until"),
        ([Autoscaler(0, 100)], "[0]", "an autoscaler looks at the lag"),
        ([Autoscaler(0, 0)], "[0].lag_per_consumer", "give a number above 0"),
        ([Autoscaler(0, 1, 0.5)], "[0].polling_ms", "from 1 to"),
        ([Autoscaler(0, 1, fewest=3, most=2)], "[0].fewest", "fewest is 3 and most is 2"),
        ([Autoscaler(0, 1, most=2_147_483_646)], "[0].most",
         "most is 2,147,483,646; 1,048,576 consumers are the most"),
        ([Autoscaler(0, 1, fewest=2**20 + 1)], "[0].fewest", "fewest is 1,048,577; 1,048,576 consumers"),
        ([Deployment(0, 0, 0)], "[0].surge", "both 0"),
        ([ScaleTo(0, 2**20 + 1)], "[0].consumers", "scale-to at 0 ms has 1,048,577 members"),
        ([CrashLoop(0, "a", 2**21)], "", "2,097,153 events"),
        ([ScaleTo(0, 2**20), StatefulSetRoll(0, 1)], "", "1,048,580 events, where one that concerns every"),
    ],
)  # fmt: skip
def test_an_event_that_cannot_happen_is_named(events, place, fault):
    error = fault_of(lambda: replace(GROUP, events=tuple(events)))
    assert error.path == f"$.events{place}"
    assert fault in str(error)


UNCERTAIN = {
    "a condition": [Leave(Condition("members", above=1), "a"), Join(5, Consumer("a"))],
    "a commit that may be refused": [Crash(Condition("commit-refused"), "a"), Join(5, Consumer("a"))],
    "a commit of anyone": [Crash(Condition("commit-refused"), "*"), Join(5, Consumer("a"))],
    "a condition for all": [ScaleTo(Condition("members", above=1), 0), Join(5, Consumer("a"))],
    "a join that may come": [Join(Condition("members", above=1), Consumer("n")), Leave(5, "n")],
    "a drawn duration": [Restart(1, "a", Uniform(1, 9)), Leave(5, "a")],
    "a crash loop": [CrashLoop(1, "a"), Leave(5, "a")],
    "a rolling restart": [RollingRestart(at_ms=1, every_ms=1, down_ms=9), Leave(5, "a"), Leave(6, "a")],
    "names that are made": [Deployment(1), Leave(5, "a-r2")],
    "a topic that may be there": [Create(Condition("members", above=1), "n", 2), Grow(5, "n", 3)],
}


@pytest.mark.parametrize("events", UNCERTAIN.values(), ids=UNCERTAIN)
def test_what_is_uncertain_is_left_to_the_run(events):
    assert replace(GROUP, events=tuple(events), until_ms=10).events == tuple(events)


@pytest.mark.parametrize(
    ("change", "path", "fault"),
    [
        ({"topics": (Topic("a", 1), Topic("a", 2))}, "$.topics.a", "topic 'a' is in the scenario twice"),
        ({"topics": (Topic("a", 0),)}, "$.topics.a.partitions", "partitions is 0"),
        ({"topics": (Topic("", 1),)}, "$.topics..name", "name is ''"),
        ({"topics": 3}, "$.topics", "topics is 3; give a tuple, each item of it Topic"),
        ({"topics": ("orders",)}, "$.topics[0]", "topics[0] is 'orders'; give Topic"),
        ({"consumers": 3}, "$.consumers", "consumers is 3"),
        ({"consumers": (Consumer("a"), Consumer("a"))}, "$.consumers[1].name",
         "consumer 'a' is in the scenario twice"),
        ({"consumers": (Consumer("a", member_id="x"), Consumer("b", member_id="x"))},
         "$.consumers[1].member_id", "member id 'x' is in the scenario twice"),
        ({"consumers": (Consumer(7),)}, "$.consumers[0].name",
         "name is 7; give a text of 1 to 32767 characters"),
        ({"consumers": (Consumer("a", topics=("x",)),)}, "$.consumers[0].topics[0]", "no topic 'x'"),
        ({"consumers": (Consumer("a", topics="orders"),)}, "$.consumers[0].topics",
         "topics is 'orders'; give a tuple"),
        ({"consumers": (Consumer("a", (1,)),)}, "$.consumers[0].static",
         "static is (1,); give true or false"),
        ({"consumers": (Consumer("a", pattern="("),)}, "$.consumers[0].pattern",
         "'(' is no regular expression"),
        ({"consumers": (Consumer("a", topics=(), pattern="o"),)}, "$.consumers[0].pattern", "not both"),
        ({"consumers": (Consumer("a", assignors=()),)}, "$.consumers[0].assignors", "no strategy"),
        ({"consumers": (Consumer("a", beat_ms=INF),)}, "$.consumers[0].beat_ms", "beat_ms is inf"),
        ({"events": Leave(5, "a")}, "$.events", "events is Leave("),
        ({"assignor": None}, "$.assignor", "assignor is None"),
        ({"settings": {}}, "$.settings", "settings is {}; give Settings"),
        ({"load": 3}, "$.load", "load is 3; give Load or nothing"),
        ({"load": Load({"order": 1})}, "$.load.rate.order", "did you mean 'orders'?"),
        ({"seed": -1}, "$.seed", "seed is -1; give a whole number from 0 to 18446744073709551615"),
        ({"seed": 1.5}, "$.seed", "seed is 1.5"),
        ({"seed": True}, "$.seed", "seed is True"),
        ({"settled_ms": NAN}, "$.settled_ms", "settled_ms is nan"),
        ({"until_ms": "soon"}, "$.until_ms", "until_ms is 'soon'"),
    ],
)  # fmt: skip
def test_a_group_that_cannot_be_is_named(change, path, fault):
    error = fault_of(lambda: replace(GROUP, **change))
    assert error.path == path
    assert fault in str(error)


@pytest.mark.parametrize(
    ("make", "path", "fault"),
    [
        (lambda: Load(-1), "$.load.rate", "rate is -1; give a number from 0 or a mapping"),
        (lambda: Load({"t": INF}), "$.load.rate.t", "rate.t is inf; give a number from 0"),
        (lambda: Load(1, capacity=0), "$.load.capacity", "give a number above 0"),
        (lambda: Load(1, batch=0.5), "$.load.batch", "batch is 0.5"),
        (
            lambda: Load(1, commit="befor"),
            "$.load.commit",
            "did you mean 'before'? (there are after, before)",
        ),
        (lambda: Costs(poll_ms="x"), "$.costs.poll_ms", "poll_ms is 'x'"),
        (lambda: Costs(assignor_ms="measure"), "$.costs.assignor_ms", "or 'measured'"),
    ],
)
def test_loads_and_costs_without_meaning_are_named(make, path, fault):
    error = fault_of(make)
    assert error.path == path
    assert fault in str(error)


@pytest.mark.parametrize(
    ("event", "until_ms", "fault"),
    [
        (Leave(LAG, "a"), 1e10, "every 1000 ms, 10,000,000 times; 1,048,576 are the most"),
        (Autoscaler(0, 9, 1), 2e6, "autoscaler at 0 ms looks at the group every 1 ms, 2,000,000 times"),
    ],
)
def test_a_run_does_not_last_for_ever(event, until_ms, fault):
    error = fault_of(lambda: replace(GROUP, events=(event,), load=Load(1), until_ms=until_ms))
    assert error.path == "$.until_ms"
    assert fault in str(error)


def test_the_most_looks_are_not_too_many():
    events = (Leave(LAG, "a"), Autoscaler(0, 9, 1_000))
    assert replace(GROUP, events=events, load=Load(1), until_ms=2**20 * 1_000).events == events


def test_numbers_of_numpy_are_numbers():
    events = (Grow(np.float32(5), "orders", np.int64(9)), Stall(np.int32(6), "a", np.float64(7)))
    scenario = replace(GROUP, events=events, seed=np.uint64(3), load=Load(np.float32(0.5)))
    written = json.loads(json.dumps(scenario_to_dict(scenario)))
    assert Scenario.from_dict(written) == scenario


@pytest.mark.parametrize(
    ("change", "warnings"),
    [
        ({}, []),
        ({"settings": Settings(heartbeat_interval_ms=15_000)}, []),
        (
            {"settings": Settings(heartbeat_interval_ms=15_001)},
            ["heartbeat.interval.ms is 15001, more than a third of session.timeout.ms, 45000"],
        ),
        (
            {"settings": Settings(group_consumer_heartbeat_interval_ms=20_000)},
            ["group.consumer.heartbeat.interval.ms is 20000, more than a third of group.consumer.session"],
        ),
        (
            {"until_ms": 5, "events": (Leave(4, "b"), Leave(5, "a"))},
            ["the run ends at until_ms, 5, before 1 of its events, the first of them leave at 5 ms"],
        ),
        ({"settings": Settings(session_timeout_ms=6_000, heartbeat_interval_ms=2_000)}, []),
        ({"settings": Settings(session_timeout_ms=1_800_000)}, []),
        (
            {"settings": Settings(session_timeout_ms=45, heartbeat_interval_ms=10)},
            ["session.timeout.ms is 45; a broker refuses members below its group.min.session.timeout.ms"],
        ),
        ({"settings": Settings(session_timeout_ms=7_200_000)}, ["session.timeout.ms is 7200000; a broker"]),
        ({"settings": Settings(session_timeout_ms=7_200_000), "assignor": "uniform"}, []),
        ({"events": (ScaleTo(5, 4),)}, []),
        (
            {"events": (ScaleTo(5, 50),)},
            ["scale-to at 5 ms: 50 consumers for 4 partitions, so at least 46 of them read nothing"],
        ),
        (
            {"events": (ScaleTo(5, 50), Grow(6, "orders", 49))},
            ["scale-to at 5 ms: 50 consumers for 49 partitions, so at least 1 of them read nothing"],
        ),
    ],
)
def test_what_is_hardly_meant_is_warned_of(change, warnings):
    found = replace(GROUP, **change).warnings
    assert [warning[: len(start)] for warning, start in zip(found, warnings, strict=True)] == warnings


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"session_timeout_ms": 0}, "session.timeout.ms is 0"),
        ({"heartbeat_interval_ms": float("inf")}, "heartbeat.interval.ms is inf"),
        ({"metadata_max_age_ms": float("nan")}, "metadata.max.age.ms is nan"),
        ({"metadata_max_age_ms": 10**400}, "give a number of milliseconds from 1 to 9007199254740992"),
        ({"heartbeat_interval_ms": 45_000}, "heartbeats must be more frequent"),
        ({"group_consumer_heartbeat_interval_ms": 45_000}, "group.consumer.session.timeout.ms is 45000"),
        ({"session_timeout_ms": "45 s"}, "session.timeout.ms is '45 s'"),
        ({"max_poll_interval_ms": 2_000}, "max.poll.interval.ms is 2000"),
    ],
)
def test_a_setting_without_meaning_is_named(change, fault):
    with pytest.raises(ScenarioError, match=fault):
        Settings(**change)


def test_events_keep_the_order_they_are_given_in():
    events = [Leave(9, "a"), Restart(5, "a", 0), Leave(5, "b")]
    assert replace(GROUP, events=events).events == tuple(events)


def test_a_scenario_travels_to_another_process():
    scenario = replace(GROUP, events=(Leave(9, "a"),))
    assert pickle.loads(pickle.dumps(scenario)) == scenario


def test_a_fault_keeps_its_place_in_another_process():
    error = pickle.loads(pickle.dumps(fault_of(lambda: replace(GROUP, seed=-1))))
    assert (error.path, str(error).endswith(" - at `$.seed`")) == ("$.seed", True)
