"""What `make faults` saved, and what its page says of it."""

from __future__ import annotations

import pytest

from benchmarks.faults.__main__ import SAVED

WRONG = ("lost", "doubled", "misplaced", "out_of_order")


@pytest.fixture(scope="module")
def runs() -> list[dict[str, object]]:
    return SAVED.runs()


def test_the_page_says_what_was_measured(runs: list[dict[str, object]]) -> None:
    assert SAVED.page.read_text() == SAVED.written(runs, SAVED.soak())


def test_the_exactly_once_sink_made_no_mistake(runs: list[dict[str, object]]) -> None:
    once = [run for run in runs if run["sink"] == "exactly once"]
    finished = [run for run in once if run["outcome"] == "finished"]
    assert finished
    assert {name: sum(int(str(run[name])) for run in finished) for name in WRONG} == dict.fromkeys(WRONG, 0)
    # One that did not finish has not written all, but nothing wrongly.
    assert sum(int(str(run[name])) for run in once for name in WRONG[1:]) == 0


def test_the_same_faults_double_records_of_the_at_least_once_sink(runs: list[dict[str, object]]) -> None:
    least = [run for run in runs if run["sink"] == "at least once"]
    assert sum(int(str(run["doubled"])) for run in least) > 0
    assert sum(int(str(run["lost"])) for run in least) == 0
