"""What `make wrapper-faults` saved, what its page says of it, and how records are judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.faults.checking import ReadRecord
from benchmarks.wrapper_faults.__main__ import SAVED
from benchmarks.wrapper_faults.diary import KEYS, Diary, Life, Verdict, judge, read_lives
from benchmarks.wrapper_faults.scenarios import SCENARIOS

if TYPE_CHECKING:
    from pathlib import Path

HOMES = {f"a-{key}": {key % 3} for key in range(KEYS)}
ALL = (0, 1, 2, 3)
THERE = [ReadRecord(record % 3, f"a-{record}", 0) for record in ALL]


@pytest.fixture(scope="module")
def runs() -> list[dict[str, Any]]:
    return SAVED.runs()


def life(
    delivered: tuple[int, ...] = (0, 2), failed: tuple[int, ...] = (), raised: int = 0, *, ended: bool = True
) -> dict[str, Life]:
    return {"a": Life(frozenset(ALL), frozenset(delivered), frozenset(failed), raised, ended)}


def test_the_page_says_what_was_measured(runs: list[dict[str, Any]]) -> None:
    assert SAVED.page.read_text() == SAVED.written(runs, None)


def test_each_fault_struck_as_often_as_planned(runs: list[dict[str, Any]]) -> None:
    assert {run["scenario"] for run in runs if run["writer"] == "idempotent"} == set(SCENARIOS)
    assert all(run["struck"] == len(SCENARIOS[run["scenario"]].faults) for run in runs)


def test_no_record_was_lost_untold_or_misplaced(runs: list[dict[str, Any]]) -> None:
    assert {run["outcome"] for run in runs} == {"finished"}
    assert [run for run in runs if run["lost"] or run["misplaced"]] == []


def test_an_idempotent_producer_doubled_and_reordered_nothing(runs: list[dict[str, Any]]) -> None:
    wrong = [run for run in runs if run["writer"] != "plain" and (run["doubled"] or run["out_of_order"])]
    assert wrong == []


@pytest.mark.parametrize(
    ("lives", "found", "verdict"),
    [
        pytest.param(life(), THERE, Verdict(0, 0, 0, 0, 0), id="all there"),
        pytest.param(life(), THERE[1:], Verdict(1, 0, 0, 0, 0), id="acknowledged and not there"),
        pytest.param(life((2,), (0,)), THERE[1:], Verdict(0, 1, 0, 0, 0), id="a callback said so"),
        pytest.param(life((2,), (0,)), THERE, Verdict(0, 1, 0, 0, 0), id="called lost and there"),
        pytest.param(life((2,)), THERE, Verdict(1, 0, 0, 0, 0), id="no report"),
        pytest.param(life((2,), ended=False), THERE[1:], Verdict(0, 0, 0, 0, 0), id="killed: nobody knows"),
        pytest.param(life(), THERE[:1] + THERE[2:], Verdict(1, 0, 0, 0, 0), id="unwatched and not there"),
        pytest.param(life(raised=1), THERE[:1] + THERE[2:], Verdict(0, 1, 0, 0, 0), id="it was raised"),
        pytest.param(life(), [*THERE, THERE[0]], Verdict(0, 0, 1, 0, 0), id="twice"),
        pytest.param(life(), [*THERE[:3], ReadRecord(1, "a-3", 0)], Verdict(0, 0, 0, 1, 0), id="elsewhere"),
    ],
)
def test_records_are_judged(lives: dict[str, Life], found: list[ReadRecord], verdict: Verdict) -> None:
    assert judge(lives, found, HOMES) == verdict


def test_a_record_behind_a_later_one_of_its_key_is_out_of_order() -> None:
    records = frozenset({0, KEYS})
    lives = {"a": Life(records, records, frozenset(), 0, ended=True)}
    assert judge(lives, [ReadRecord(0, "a-0", 1), ReadRecord(0, "a-0", 0)], HOMES).out_of_order == 1


def test_a_record_that_nobody_produced_is_refused() -> None:
    with pytest.raises(ValueError, match="nobody produced"):
        judge(life(), [*THERE, ReadRecord(0, "a-0", 9)], HOMES)


def test_a_diary_is_read_as_it_was_written(tmp_path: Path) -> None:
    with Diary(tmp_path, "a") as diary:
        for what, number in [("produced", 0), ("produced", 1), ("delivered", 0), ("raised", 1), ("ended", 0)]:
            diary.note(what, number)
    assert read_lives(tmp_path) == {"a": Life(frozenset({0, 1}), frozenset({0}), frozenset(), 1, ended=True)}
