"""What a deploy stops: the same figures in every command, as ranges over runs of the simulator."""

import json
from dataclasses import replace
from math import inf

import numpy as np
import pytest

from assignors import Topic
from assignors.state import MemberIdentity
from copartition.assignment_diff import WhatIf, diff, plan
from copartition.deploys import stops
from copartition.deploys.answer import Range
from copartition.deploys.pace import Pace, full_names
from copartition.deploys.scenario import Happening, parse_happening, scenario_of
from copartition.deploys.stops import RUNS, affordable_runs, measure, run_phases, stops_of, stops_of_group
from copartition.groups import snapshot_bytes
from copartition.kit.evidence import Missing
from copartition.simulation import (
    Consumer,
    Crash,
    Deployment,
    Grow,
    Leave,
    Restart,
    RollingRestart,
    Scenario,
    Settings,
    Stall,
    simulate,
)
from copartition.simulation.group import leader
from partitioning.errors import ScenarioError
from tests.copartition.assignment_diff.states import group
from tests.support.tiers import sample

BILLING = """\
GROUP    COORDINATOR (ID)  ASSIGNMENT-STRATEGY  STATE   #MEMBERS
billing  kafka-1:9092 (1)  {strategy}                Stable  3

GROUP    CONSUMER-ID  HOST       CLIENT-ID  #PARTITIONS  ASSIGNMENT
billing  pod-0-8c1f   /10.0.0.1  pod-0      6            orders(0,1,2), payments(0,1,2)
billing  pod-1-b7d2   /10.0.0.2  pod-1      4            orders(3,4), payments(3,4)
billing  pod-2-e940   /10.0.0.3  pod-2      4            orders(5,6), payments(5,6)
"""
PACE = ("--down", "20s", "--ready", "5s", "--every", "40s", "--set", "revoke_ms=300")
CASES = [
    (strategy, *question, pace)
    for strategy in ("range", "cooperative-sticky", "uniform")
    for question in (
        (("--deploy", "rolling"),),
        (("--deploy", "surge"),),
        (("--add-members", "2"),),
        (("--remove-member", "pod-1"),),
        (("--grow", "orders=12"),),
    )
    for pace in ((), PACE)
]


def ask(run, *words):
    return json.loads(run(*words, "-o", "json").stdout)


def without_names(stops):
    """The figures of an answer, and what they take for granted, but not what the command calls the deploy."""
    # A plan also says that members which join are named as the others are.
    own = [text for text in stops["assumed"] if not text.startswith("members that join are named")]
    return {**stops, "happens": None, "assumed": sorted(own)}


@pytest.mark.sampled
@pytest.mark.parametrize(("strategy", "options", "pace"), sample(CASES, every=17, before_ci=3))
def test_a_diff_and_a_simulation_of_one_deploy_have_one_answer(run, tmp_path, strategy, options, pace):
    (capture := tmp_path / "billing.txt").write_text(BILLING.format(strategy=strategy))
    first, *_ = ask(run, "diff", capture, "plan:current", *options, *pace)["stops"]
    (other,) = ask(run, "simulate", capture, *options, *pace)["runs"]
    assert without_names(first) == without_names(other["stops"])
    assert first["partition_seconds"]["most"] > 0


def test_many_runs_that_are_asked_for_are_the_runs_of_the_answer(run, tmp_path):
    (capture := tmp_path / "billing.txt").write_text(BILLING.format(strategy="range"))
    (few,) = ask(run, "simulate", capture, "--deploy", "rolling", "--runs", "5")["scenarios"]
    seconds = [summary["partition_seconds"] for summary in few["summaries"]]
    assert few["stops"]["runs"] == 5
    assert few["stops"]["partition_seconds"] == {"least": min(seconds), "most": max(seconds)}


@pytest.mark.parametrize("after", sample(["cooperative-sticky", "uniform"], 2))
def test_a_diff_and_a_migration_to_one_strategy_have_one_answer(run, tmp_path, after):
    (capture := tmp_path / "billing.txt").write_text(BILLING.format(strategy="range"))
    answer = ask(run, "diff", capture, f"plan:{after}")
    first, *_ = answer["stops"]
    assert first == ask(run, "migrate", capture, after)["stops"]
    assert first["happens"] in answer["details"][0]["text"].lower()


MEMBERS = [MemberIdentity(f"{name}-1", None, name, topics=("t",)) for name in "abc"]
STATE = replace(group(MEMBERS, {"a-1": [("t", 0), ("t", 1)]}, {"t": 6}), strategy="range")


@pytest.mark.parametrize(
    ("least", "most", "digits", "whole", "time"),
    [
        (30.06, 45.44, "30.1 to 45.4", "30 to 45", "30 ms to 45 ms"),
        (99.9, 1_234.5, "99.9 to 1,234", "100 to 1,234", "100 ms to 1.2 s"),
        (6.0, 6.0, "6.0", "6", "6 ms"),
        (2_000.0, inf, "2,000 to inf", "2,000 to inf", "2.0 s to never"),
    ],
)
def test_a_range_is_written_from_its_least_to_its_most(least, most, digits, whole, time):
    found = Range(least, most)
    assert (found.digits, found.whole, found.time) == (digits, whole, time)


def test_ranges_are_the_least_and_the_most_of_as_many_seeds(monkeypatch):
    monkeypatch.setattr(stops, "RUNS", 5)
    captured = scenario_of(STATE, parse_happening(STATE, "add 1"))
    found = stops_of(captured, "add 1")
    seconds = [result.summary.partition_seconds for result in run_phases(captured.scenario, 5)]
    assert (found.runs, found.partition_seconds) == (5, Range(min(seconds), max(seconds)))
    assert found.partition_seconds.least < found.partition_seconds.most
    runs = "5 runs of the simulator, seeds 0 to 4, each at another moment of a heartbeat"
    assert found.ground.sources == ("the strategy 'range'", runs)


@pytest.mark.parametrize(("assignor_ms", "asked"), [(0, 2), ("measured", 6)])
def test_runs_share_what_the_assignor_answered_unless_its_time_is_measured(monkeypatch, assignor_ms, asked):
    groups = []
    monkeypatch.setattr(leader, "ask", lambda assignor, group: groups.append(group) or assignor.assign(group))
    scenario = scenario_of(STATE, parse_happening(STATE, "add 1")).scenario
    scenario = replace(scenario, costs=replace(scenario.costs, assignor_ms=assignor_ms))
    assert len(list(run_phases(scenario, 3))) == 3
    # The group as it begins, and after the member has joined.
    assert len(groups) == asked


@pytest.mark.usefixtures("all_runs")
def test_a_time_that_differs_from_member_to_member_gives_a_static_roll_a_range(run, tmp_path):
    members = tuple(member._replace(instance_id=member.client_id) for member in MEMBERS)
    (group := tmp_path / "group.json").write_bytes(snapshot_bytes(replace(STATE, members=members), None))
    words = ("simulate", group, "--deploy", "rolling", "--down", "3s..5s", "--runs")
    # As many runs as are asked for: without that a slow machine runs fewer.
    stopped = ask(run, *words, "10")["scenarios"][0]["stops"]["partition_seconds"]
    # Six partitions, each unread once for 3 to 5 s.
    assert 18 < stopped["least"] < 24 < stopped["most"] < 30
    assert "is away for 3.0 s to 5.0 s" in run(*words, "2").output


@pytest.mark.parametrize(
    ("text", "fault"), [("5s..3s", "'5s..3s' ends before it begins"), ("3..5s", "'3' is no time such as 30s")]
)
def test_a_range_of_times_that_cannot_be_is_refused(run, tmp_path, text, fault):
    (capture := tmp_path / "billing.txt").write_text(BILLING.format(strategy="range"))
    result = run("simulate", capture, "--deploy", "rolling", "--down", text)
    assert result.exit_code == 2
    assert f"Invalid value for --down: {fault}" in result.output


def test_a_static_member_that_restarts_is_unread_for_as_long_as_it_is_down():
    members = [member._replace(instance_id=member.client_id) for member in MEMBERS]
    state = replace(STATE, members=tuple(members))
    for deploy in ("rolling", "surge"):
        found = stops_of_group(state, Happening(deploy=deploy), Pace(down_ms=4_000))
        # Six partitions, each unread once for 4 s.
        assert found.partition_seconds == Range(24.0, 24.0)
        assert (found.longest_pause_ms, found.rebalances) == (Range(4_000.0, 4_000.0), Range(0.0, 0.0))
        assert (found.static_restarts, found.stopped_at_once.most, found.all_stopped.most) == (3, 2, 0)


@pytest.mark.parametrize(("strategy", "stopped", "times"), [("range", 6, 6), ("cooperative-sticky", 2, 0)])
def test_the_whole_group_stops_in_each_rebalance_of_an_eager_strategy_only(strategy, stopped, times):
    found = stops_of_group(STATE, Happening(deploy="rolling"), Pace(), assignor=strategy)
    assert (found.stopped_at_once.most, found.all_stopped.most) == (stopped, times)


def test_a_member_that_stands_still_stops_the_whole_group_without_a_rebalance():
    events = (Stall(1_000, "a", 20_000), Restart(60_000, "a", 1_000))
    found = measure(simulate(Scenario((Topic("t", 6),), (Consumer("a"),), events, "range")))
    assert (found.rebalances, found.all_stopped) == (1, 2)


def test_rebalances_after_a_change_of_strategies_are_not_taken_for_stops_of_the_whole_group():
    bounce = RollingRestart(every_ms=60_000, down_ms=10_000, assignors=("cooperative-sticky", "range"))
    consumers = [Consumer(name, assignors=("range",)) for name in "abc"]
    found = measure(simulate(Scenario((Topic("t", 6),), consumers, (bounce,), "range")))
    assert (found.rebalances, found.all_stopped) == (6, 0)


@pytest.mark.parametrize(("strategy", "stopped"), [("range", 6), ("cooperative-sticky", 0)])
def test_new_partitions_wait_apart_from_those_that_had_a_reader(strategy, stopped):
    found = stops_of_group(STATE, Happening(grows={"t": 9}), Pace(), assignor=strategy)
    assert (found.new_partitions, found.stopped_at_once.most) == (3, stopped)
    assert found.new_ms.most > 60_000 > found.longest_pause_ms.most


def test_a_new_partition_that_stops_later_is_not_first_read_then():
    consumers = [Consumer(name) for name in ("a", "b", "c")]
    events = [Grow(5_000, "t", 9), *(Crash(60_000, name) for name in ("b", "c"))]
    found = measure(
        simulate(
            Scenario(
                [Topic("t", 6)],
                consumers,
                assignor="range",
                events=events,
                settings=Settings(metadata_max_age_ms=1_000),
            )
        )
    )
    assert (found.new_ms < 10_000, found.longest_pause_ms > 40_000) == (True, True)


def test_a_member_without_a_successor_leaves_partitions_unread_without_end():
    scenario = Scenario((Topic("t", 2),), (Consumer("a"),), (Leave(1_000, "a"),), "range")
    assert measure(simulate(scenario)).longest_pause_ms == inf


@pytest.mark.usefixtures("all_runs")
@pytest.mark.parametrize(
    ("members", "partitions", "event", "strategy", "runs"),
    [
        (3, 14, RollingRestart(every_ms=60_000, down_ms=10_000), "range", RUNS),
        (100, 1_000, RollingRestart(every_ms=60_000, down_ms=10_000), "cooperative-sticky", 4),
        (100, 1_000, Deployment(0), "cooperative-sticky", 4),
        (100, 10_000, RollingRestart(every_ms=60_000, down_ms=10_000), "range", 1),
        (100, 10_000, RollingRestart(every_ms=60_000, down_ms=10_000), "uniform", 0),
        (100, 10_000, Leave(0, "c0"), "uniform", 25),
    ],
)
def test_a_large_group_runs_less_often(members, partitions, event, strategy, runs):
    consumers = tuple(Consumer(f"c{number}") for number in range(members))
    scenario = Scenario((Topic("t", partitions),), consumers, (event,), strategy)
    assert affordable_runs(scenario) == runs


def test_a_group_that_is_too_large_for_a_run_is_unknown_and_says_who_takes_the_time():
    members = tuple(MemberIdentity(f"m-{number}", topics=("t",)) for number in range(100))
    owned = {"m-0": [("t", number) for number in range(10)]}
    state = replace(group(members, owned, {"t": 20_000}), strategy="uniform")
    found = stops_of_group(state, Happening(deploy="rolling"), Pace())
    assert isinstance(found, Missing)
    assert (
        found.what
        == "what stops: 100 members and 20,000 partitions are too many to be simulated in two seconds"
    )
    assert "copartition simulate" in found.remedy


@pytest.mark.parametrize(
    ("known", "what"),
    [
        ({"strategy": None}, "the source does not tell which assignor"),
        ({"strategy": "no-such"}, "no-such"),
        ({"protocol": "connect"}, "a worker of Kafka Connect"),
        ({"members": (), "member": np.full(6, -1, np.int32)}, "no members"),
    ],
)
def test_what_the_simulator_cannot_tell_is_unknown_with_the_reason(known, what):
    found = stops_of_group(replace(STATE, **known), Happening(deploy="rolling"), Pace())
    assert isinstance(found, Missing)
    assert found.what.startswith("what stops: ")
    assert what in found.what


def test_a_deploy_of_which_nothing_is_known_ends_with_exit_code_2(run, tmp_path):
    state = replace(STATE, clients=("kafka-python",))
    (capture := tmp_path / "group.json").write_bytes(snapshot_bytes(state, None))
    found = run("diff", capture, "plan:uniform", "--deploy", "rolling")
    assert found.exit_code == 2
    assert found.stdout.startswith("Unknown: what stops on the way; ")


def test_a_cost_may_be_set_by_its_own_name():
    changes = {"revoke_ms": "500", "costs.assign_ms": "20", "session.timeout.ms": "8000", "load.rate": "9"}
    assert full_names(changes) == {
        "costs.revoke_ms": "500",
        "costs.assign_ms": "20",
        "session.timeout.ms": "8000",
        "load.rate": "9",
    }


def test_the_pace_and_settings_are_said_in_the_answer():
    pace = Pace(40_000, 20_000, 90_000, {"revoke_ms": "500", "session.timeout.ms": "8000"})
    rolling, surge = (
        stops_of_group(STATE, Happening(deploy=deploy), pace) for deploy in ("rolling", "surge")
    )
    costs = "the revoke callback takes 500 ms; nothing else but waiting takes time"
    assert rolling.pace == f"a member is restarted every 1 min 30 s, and is away for 40 s; {costs}"
    assert surge.pace == f"one new member at a time, up in 40 s and ready 20 s later; {costs}"
    assert "timeouts are Kafka's defaults but for session.timeout.ms=8000" in rolling.ground.assumed
    assert all(text in rolling.ground.assumed for text in rolling.pace.split("; ", 1))


def test_a_setting_that_does_not_exist_is_refused_before_a_group_is_read():
    with pytest.raises(ScenarioError, match="no setting"):
        Pace(changes={"heartbeat": "1"}).check()


def test_the_defaults_that_help_names_are_those_of_the_pace(run):
    usual = Pace()
    assert (usual.down_ms, usual.ready_ms, usual.every_ms) == (10_000, 10_000, 60_000)
    for command in ("diff", "simulate", "size", "migrate"):
        text = " ".join(run(command, "--help").stdout.split())
        assert all(f"{default}." in text for default in ("10s", "1min")), command


def test_a_change_of_owners_without_a_cause_is_unknown():
    state = replace(group(MEMBERS, {"a-1": [("t", 5)]}, {"t": 6}), strategy="range")
    found = diff(state, plan(state, "range"), match="member-id").stops
    assert isinstance(found, Missing)
    assert "no source shows why the group rebalanced" in found.what


def test_members_that_leave_may_also_crash():
    planned = plan(STATE, "range", WhatIf(remove_members=("b",)))
    leave, crash = diff(STATE, planned, match="member-id").stops
    assert (leave.happens, crash.happens) == ("1 member leaves", "1 member crashes")
    assert crash.partition_seconds.least > leave.partition_seconds.most


def test_a_strategy_that_no_bounce_leads_to_is_unknown():
    state = replace(STATE, clients=("kafka-python",))
    found = diff(state, plan(state, "uniform"), match="member-id").stops
    assert isinstance(found, Missing)
    assert "no rolling bounce leads there" in found.what
