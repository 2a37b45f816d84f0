"""The short form of `make faults`: Spark's Python workers are killed, most of them in open transactions."""

from dataclasses import replace

import pytest

from benchmarks.faults.environment import Environment
from benchmarks.faults.run import run
from benchmarks.faults.scenarios import SCENARIOS


@pytest.mark.parametrize(
    ("count", "batches"),
    [pytest.param(4, 2, marks=pytest.mark.slow), pytest.param(10, 3, marks=pytest.mark.nightly)],
)
@pytest.mark.jvm
@pytest.mark.needs("classic")
@pytest.mark.needs("data sources")
@pytest.mark.needs("time")
def test_kills_neither_lose_nor_double_nor_reorder_a_record(count: int, batches: int) -> None:
    scenario = SCENARIOS["workers killed"]
    kills = replace(scenario, faults=scenario.faults[:count], batches=batches)
    with Environment() as environment:
        found = run("workers killed", kills, environment, exactly_once=True, seed=1)
    assert found["outcome"] == "finished", found
    assert (found["struck"], found["in_transaction"] >= count // 2) == (count, True), found
    wrong = {name: found[name] for name in ("lost", "doubled", "misplaced", "out_of_order")}
    assert wrong == {"lost": 0, "doubled": 0, "misplaced": 0, "out_of_order": 0}
