"""What must hold of every run, whatever happens in it."""

import json
from dataclasses import replace
from unittest import mock

import pytest
from hypothesis import HealthCheck, example, given, reject, settings
from hypothesis import strategies as st

from assignors.group import Topic
from copartition.simulation import Consumer, Load, Scenario, simulate, simulate_seeds
from copartition.simulation.inputs.events import Create, Join, Leave
from copartition.simulation.inputs.file import scenario_to_dict
from copartition.simulation.outcome.log import log_lines, replay
from partitioning.errors import AssignorError, ScenarioError
from tests.copartition.simulation import invariants
from tests.copartition.simulation.strategies import BROKER_SIDE, scenarios
from tests.support.tiers import examples

EAGER = {"range", "roundrobin", "sticky"}
AT_ONCE = Scenario(
    (Topic("orders", 2),),
    (Consumer("c0"),),
    (Leave(0, "c0"),),
    "range",
    settled_ms=0,
    load=Load(0, 5_000, batch=1, commit="before", commit_on_revoke=False, waiting=70),
)
NOBODY = Scenario((Topic("orders", 1),), (), (Create(0.5, "late", 3),), load=Load(7, 5_000))


def run(scenario):
    """A run; scenarios whose events turn out to be impossible on the way are drawn anew."""
    try:
        return simulate(scenario)
    except ScenarioError as error:
        if "not at rest" in str(error):
            raise
        reject()
    except AssignorError as error:
        if "kafka-python" not in str(error):  # whose leader fails where subscriptions differ
            raise
        reject()


def strategies_in(scenario):
    consumers = [event.consumer for event in scenario.events if isinstance(event, Join)]
    lists = [getattr(part, "assignors", None) for part in (*scenario.consumers, *consumers, *scenario.events)]
    return {scenario.assignor}.union(*filter(None, lists))


@settings(max_examples=examples(50), deadline=None)
@given(scenario=scenarios())
@example(scenario=NOBODY)
@example(scenario=AT_ONCE)
def test_of_every_run(scenario):
    result = run(scenario)
    for check in (
        invariants.check_timeline,
        invariants.check_readers,
        invariants.check_sums,
        invariants.check_records,
        invariants.check_rebalances,
        invariants.check_end,
    ):
        check(result)


def of_members(scenario):
    """Whether every strategy is one of members, not of the broker."""
    return strategies_in(scenario).isdisjoint(BROKER_SIDE)


def takes_time_and_is_eager(scenario):
    takes_time = scenario.costs.network_ms or scenario.costs.assignor_ms
    return takes_time and strategies_in(scenario) <= EAGER


# Most scenarios that are drawn do not fit, so that whatever is drawn is judged.
FILTERED = [HealthCheck.filter_too_much, HealthCheck.too_slow]


@settings(max_examples=examples(25), deadline=None, suppress_health_check=FILTERED)
@given(scenarios(broker_side=False).filter(of_members))
def test_nobody_reads_what_is_not_his_but_zombies(scenario):
    invariants.check_owners(run(scenario))


@pytest.mark.heavy
@settings(max_examples=examples(25), deadline=None, suppress_health_check=FILTERED)
@given(scenarios(broker_side=False).filter(takes_time_and_is_eager))
def test_nobody_reads_through_an_eager_rebalance(scenario):
    invariants.check_eager(run(scenario))


@pytest.mark.heavy
@settings(max_examples=examples(25), deadline=None)
@given(scenarios())
def test_a_log_is_replayed_byte_for_byte(scenario):
    assert replay([line.encode() for line in log_lines(run(scenario))]) is None


@pytest.mark.heavy
@settings(max_examples=examples(25), deadline=None)
@given(scenarios())
def test_a_scenario_that_is_written_down_is_the_same_one(scenario):
    written = scenario_to_dict(scenario)
    again = replace(Scenario.from_dict(json.loads(json.dumps(written))), name=scenario.name)
    assert scenario_to_dict(again) == written
    assert list(log_lines(run(again))) == list(log_lines(run(scenario)))


@pytest.mark.heavy
@settings(max_examples=examples(25), deadline=None)
@given(scenarios(), st.sampled_from([1, 10_000, 2**26]))
def test_runs_that_share_decisions_are_the_runs_alone(scenario, limit):
    seeds = (7, 3, 11, 3)
    runs = {seed: run(replace(scenario, seed=seed)) for seed in seeds}
    alone = [runs[seed] for seed in seeds]
    with mock.patch("copartition.simulation.group.leader.LIMIT", limit):
        shared = list(simulate_seeds(scenario, seeds))
    for one, other in zip(shared, alone, strict=True):
        assert (one.summary, one.outages, one.log) == (other.summary, other.outages, other.log)
        assert [dict(step.assignment) for step in one.steps] == [
            dict(step.assignment) for step in other.steps
        ]
