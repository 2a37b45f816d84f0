"""The short form of `make faults`: ten kills of Spark's Python workers, most of them in open transactions."""

from dataclasses import replace

import pytest

from benchmarks.faults.environment import Environment
from benchmarks.faults.run import run
from benchmarks.faults.scenarios import SCENARIOS


@pytest.mark.slow
@pytest.mark.jvm
@pytest.mark.needs("classic")
@pytest.mark.needs("data sources")
@pytest.mark.needs("time")
def test_ten_kills_neither_lose_nor_double_nor_reorder_a_record() -> None:
    kills = replace(SCENARIOS["workers killed"], faults=SCENARIOS["workers killed"].faults[:10], batches=3)
    with Environment() as environment:
        found = run("workers killed", kills, environment, exactly_once=True, seed=1)
    assert found["outcome"] == "finished", found
    assert (found["struck"], found["in_transaction"] >= 5) == (10, True), found
    wrong = {name: found[name] for name in ("lost", "doubled", "misplaced", "out_of_order")}
    assert wrong == {"lost": 0, "doubled": 0, "misplaced": 0, "out_of_order": 0}
