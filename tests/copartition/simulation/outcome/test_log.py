"""The event log of a run, and running it again."""

import json
import re
from dataclasses import replace

import pytest

from copartition.simulation import Costs, simulate
from copartition.simulation.outcome import log
from copartition.simulation.outcome.log import log_lines, replay
from partitioning.errors import ScenarioError
from tests.support.results import LOG, SCENARIO, a_result


@pytest.fixture
def canned(monkeypatch):
    """Whatever is run has this log."""

    def give(entries):
        monkeypatch.setattr(log, "simulate", lambda scenario: replace(a_result(scenario), log=entries))

    give(LOG)
    return give


def logged(*results):
    return [line.encode() for result in results for line in log_lines(result)]


def test_a_log_is_the_scenario_and_a_line_for_each_thing_that_happened():
    first, *others = map(json.loads, log_lines(a_result()))
    assert (first["format_version"], first["scenario"]["name"]) == ("1.0", "deploy")
    assert others[1:] == [
        {"at_ms": 46_000, "what": "session-expired", "subject": "a", "detail": {"generation": 1}},
        {"at_ms": 48_000, "what": "generation", "subject": None, "detail": {"number": 2, "moved": 1}},
    ]


def test_a_run_is_replayed_byte_for_byte():
    assert replay(logged(simulate(SCENARIO))) is None


def test_logs_of_several_runs_may_follow_one_another(canned):
    lines = logged(a_result(), a_result(replace(SCENARIO, seed=3)))
    assert replay(lines) is None
    assert replay([*lines[:-1], b"{}\n"]).line == len(lines)


def test_the_first_difference_is_told(canned):
    lines = logged(a_result())
    lines[2] = lines[2].replace(b"46000", b"46001")
    difference = replay([*lines[:3], b"no matter\n"])
    assert difference[:2] == (3, 15)
    assert (difference.logged[:17], difference.now[:17]) == ('{"at_ms": 46001, ', '{"at_ms": 46000, ')


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        (lambda lines: lines[:-1], (4, None, "generation")),
        (lambda lines: [*lines[:-1], lines[-1].rstrip(b"\n")], (4, "generation", "generation")),
        (lambda lines: [*lines, b'{"at_ms": 1}\n'], (5, "at_ms", None)),
        (lambda lines: [*lines, b"\xff\n"], (5, r"\xff", None)),
        (lambda lines: [lines[0], b"\r\n"], (2, "\r\n", "crash")),
    ],
)
def test_lines_that_are_missing_or_too_many_are_a_difference(canned, change, difference):
    line, logged_part, now_part = difference
    found = replay(change(logged(a_result())))
    assert found.line == line
    for text, part in ((found.logged, logged_part), (found.now, now_part)):
        assert (text is None) is (part is None)
        assert part is None or part in text


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ([], "the log is empty; its first line holds the scenario"),
        ([b"{}\n"], "this is no log of a simulation: its first line holds no scenario"),
        ([b"[" * 100_000], "this is no log of a simulation"),
        ([b"\xff"], "this is no log of a simulation"),
        ([b'["format_version"]'], "this is no log of a simulation"),
        ([b'{"format_version": "2.0"}'], "line 1: a log of format '2.0'; this version reads '1.0'"),
        ([b'{"format_version": "1.0", "scenario": 1}'], "1 is no mapping of names to values"),
    ],
)
def test_what_is_no_log_is_an_error(lines, fault):
    with pytest.raises(ScenarioError, match=re.escape(fault)):
        replay(lines)


def test_a_run_that_measures_its_assignor_cannot_be_replayed():
    measured = replace(SCENARIO, costs=Costs(assignor_ms="measured"))
    with pytest.raises(ScenarioError, match=r"line 1: the run measured its assignor \(costs.assignor_ms\)"):
        replay(logged(a_result(measured)))


def test_an_assignor_that_is_not_installed_is_an_error():
    with pytest.raises(ScenarioError, match="no assignor 'nearest'"):
        replay(logged(a_result(replace(SCENARIO, assignor="nearest"))))
