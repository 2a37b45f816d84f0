"""The rules that judge a drill's answers, and the page of them; no broker is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.drills.__main__ import DRILLS, MEASURED
from benchmarks.drills.drill import Drill, Outcome
from benchmarks.drills.judging import Answer, figure, judge, never, no_ok, no_stop, same_balance, says
from benchmarks.drills.page import faults, page
from benchmarks.measured import read_runs

if TYPE_CHECKING:
    from benchmarks.drills.judging import Rule
    from benchmarks.drills.stage import Stage

STOP = Answer("migrate live:billing uniform", 1, "No way.\nStop all members, and start them.\n")
OK = Answer("doctor billing", 0, "billing   0 findings\n\nlag  ok  nothing lags\n")
MOVED = Answer("diff a b", 1, "22 moved, 2 kept.\n")
RANGE = Answer("diff a b", 1, "18 to 22 moved.\n")
MOST = Answer("watch billing", 0, "pod-1 was away at most 1.5 s\n")


@pytest.mark.parametrize(
    ("rule", "answer", "facts", "fault"),
    [
        (no_stop("milder"), STOP, {"milder": True}, "orders a stop of the whole group, although milder"),
        (no_stop("milder"), STOP, {"milder": False}, None),
        (no_stop("milder"), OK, {"milder": True}, None),
        (no_ok("records wait"), OK, {"records wait": 6}, "exit code 0, although records wait: 6"),
        (no_ok("records wait"), OK, {"records wait": 0}, None),
        (no_ok("records wait"), STOP, {"records wait": 6}, None),
        (never("nothing lags", "6 wait"), OK, {}, 'says "nothing lags", but 6 wait'),
        (never("nothing lags", "6 wait"), STOP, {}, None),
        (says("findings", "what it found"), OK, {}, None),
        (says("lags", "what lags", headline=True), OK, {}, "the headline does not say what lags"),
        (says("unread", "that some are unread"), OK, {}, "does not say that some are unread"),
        (figure(r"(\d+) moved", "moved"), MOVED, {"moved": 22}, None),
        (figure(r"(\d+) moved", "moved"), MOVED, {"moved": 18}, 'says "22 moved", but moved: 18'),
        (figure(r"(\d+)(?: to (\d+))? moved", "moved"), RANGE, {"moved": 20}, None),
        (figure(r"(\d+) moved", "moved"), OK, {"moved": 18}, None),
        (figure(r"at most ([\d.]+) s", "away", most=True), MOST, {"away": 1.2}, None),
        (
            figure(r"at most ([\d.]+) s", "away", most=True),
            MOST,
            {"away": 8},
            'says "at most 1.5 s", but away: 8',
        ),
    ],
)
def test_a_rule_compares_an_answer_with_what_happened(
    rule: Rule, answer: Answer, facts: dict[str, Any], fault: str | None
) -> None:
    assert judge([rule], [answer], facts) == ([] if fault is None else [fault])


@pytest.mark.parametrize("code", [-13, 134, 3])
def test_a_command_that_ends_by_a_signal_is_a_fault_of_every_drill(code: int) -> None:
    assert judge([], [OK._replace(code=code)], {}) == [f"`doctor billing` ended with {code}"]


def test_a_long_first_line_is_a_fault_of_every_drill() -> None:
    assert judge([], [OK._replace(said="x" * 161)], {}) == ["a first line of 161 characters"]


def test_two_commands_judge_the_balance_of_a_group_alike() -> None:
    uneven = Answer("diff live:billing", 1, "Not balanced: 3 to 6 partitions a member.\n")
    found = Answer("doctor billing", 1, "billing   1 finding\nload  warning  the fullest member has 6\n")
    assert same_balance([found, uneven], {}) is None
    assert same_balance([OK, uneven], {}) is not None


def test_the_page_judges_what_was_kept() -> None:
    def walk(stage: Stage) -> Outcome:
        raise AssertionError("a page is made of what was kept, without a walk")

    silent = Answer("snapshot live:billing --out before.json", 0, "")
    drill = Drill("waiting", "6 records wait", walk, (no_ok("records wait"),))
    run = {
        "answers": [OK._asdict(), silent._asdict()],
        "done": "nothing",
        "became": "6 wait",
        "facts": {"records wait": 6},
    }
    text = page({"waiting": drill}, {"waiting 4.4.0 before": run})
    assert "**Runs with a wrong answer: 1 of 1 before, 0 of 0 after.**" in text
    assert "| 6 records wait | exit code 0, although records wait: 6 | not run |" in text


@pytest.fixture(scope="module")
def faults_of_runs() -> dict[str, list[str]]:
    """What is wrong with each kept run, by drill, version and moment."""
    runs = read_runs(MEASURED, "runs")
    return {run["run"]: faults(DRILLS[run["run"].split()[0]], run) for run in runs}


def test_every_drill_has_found_a_wrong_answer(faults_of_runs: dict[str, list[str]]) -> None:
    found = {run.split()[0] for run, wrong in faults_of_runs.items() if wrong and run.endswith("before")}
    assert found == set(DRILLS)


def test_no_answer_of_today_is_wrong(faults_of_runs: dict[str, list[str]]) -> None:
    assert {run: wrong for run, wrong in faults_of_runs.items() if wrong and run.endswith("after")} == {}
