"""What a run gives."""

import pickle

import numpy as np
import pytest

from assignors.group import Topic
from copartition.simulation import Condition, Consumer, Crash, Load, Scenario, simulate


def test_an_event_whose_condition_never_held_is_named():
    scenario = Scenario(
        (Topic("orders", 4),),
        (Consumer("worker-0"), Consumer("worker-1")),
        (Crash(Condition("members", above=5), "worker-0"), Crash(Condition("members", below=3), "worker-1")),
        until_ms=60_000,
    )
    result = simulate(scenario)
    assert result.unmet == ("crash when members > 5",)
    assert result.warnings == (*scenario.warnings, "crash when members > 5 never happened")


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky", "uniform"])
def test_a_result_pickles(assignor):
    scenario = Scenario(
        (Topic("orders", 4),),
        (Consumer("a"), Consumer("b")),
        (Crash(1_000, "a"),),
        assignor,
        load=Load(10, 50),
    )
    result = simulate(scenario)
    again = pickle.loads(pickle.dumps(result))
    assert (again.scenario, again.summary, again.outages) == (scenario, result.summary, result.outages)
    assert again.rebalances[-1].assignment == result.rebalances[-1].assignment
    assert np.array_equal(again.timeline.end, result.timeline.end)
    assert np.array_equal(again.records.curves.of(0), result.records.curves.of(0))
