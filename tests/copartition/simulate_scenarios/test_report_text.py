"""Simulations in a terminal."""

import json
from dataclasses import replace

import numpy as np
import pytest

from copartition.simulate_scenarios import report_text
from copartition.simulate_scenarios.report import WORDS, simulation_json
from copartition.simulate_scenarios.report_text import print_runs, print_simulation
from copartition.simulation import Outage, Runs
from copartition.simulation.inputs.events import PRIMITIVE_NAMES
from tests.support.drawing import drawn
from tests.support.results import SCENARIO, a_loaded_result, a_result
from tests.support.tiers import sample

CRASH = """\
deploy

                        cooperative-sticky
  members at the start           2 dynamic
  duration                      1 min 00 s
  rebalances                             1
  time in rebalance                  2.0 s
  members stopped                    2.0 s
  partition-seconds                   49.0
    detection                         45.0
    barrier                            3.0
    compute                            0.6
    handover                           0.4
  longest pause                     47.0 s
  read by two                         0 ms
  partitions moved                       1
  unread at the end                      0
  partition-seconds: for how long nobody reads a partition, summed over partitions; \
the longest is of one partition

  OUTAGE      N  PAUSE  DETECTION  BARRIER  COMPUTE  HANDOVER  CATCH-UP
  a crashed   1   47.0       45.0      1.0      0.6       0.4         -
  b was slow  2    2.0          0      2.0        0         0         -
  seconds, summed over N partitions; in catch-up they are read, but late

  assumed: heartbeats in step, quiet for 1 h 00 min; nothing but waiting takes time; \
no load given, so no lag, duplicates or losses
"""

RECORDS = """\
  highest lag                        2,450
  longest recovery                   never
  records read twice                    12
  records lost                           0
"""


def under(assignor, result=None):
    result = result or a_result()
    return replace(result, scenario=replace(result.scenario, assignor=assignor))


def many(result, figure="longest_pause_ms", values=range(1_000, 21_000, 1_000)):
    summaries = [replace(result.summary, seed=3 + n, **{figure: value}) for n, value in enumerate(values)]
    return Runs(result.scenario, summaries)


def test_a_run_is_its_figures_outages_and_assumptions():
    assert drawn(print_simulation, [a_result()]) == CRASH.splitlines()


def test_what_a_scenario_is_for_stands_above_its_figures():
    purpose = {"question": "Why?", "source": "a ticket", "conclusion": "It waits."}
    result = replace(a_result(), scenario=replace(SCENARIO, **purpose))
    lines = ["  question: Why?", "  source: a ticket", "  conclusion: It waits."]
    assert drawn(print_simulation, [result])[1:5] == [*lines, ""]
    assert drawn(print_runs, [many(result)])[1:5] == [*lines, ""]
    assert json.loads(simulation_json([result]))["runs"][0]["purpose"] == purpose


def test_scenarios_side_by_side_have_a_purpose_each():
    other = replace(SCENARIO, name="other", question="How?", source="a ticket")
    first = replace(SCENARIO, question="Why?", source="a ticket")
    results = [replace(a_result(), scenario=scenario) for scenario in (first, other)]
    assert drawn(print_simulation, results)[1:4] == [
        "  question for deploy: Why?",
        "  question for other: How?",
        "  source: a ticket",
    ]


def test_records_are_shown_where_there_is_a_load():
    lines = drawn(print_simulation, [a_loaded_result()])
    assert "\n".join(lines).count(RECORDS) == 1
    assert [line.split()[-1] for line in lines if line.startswith(("  a crashed", "  b was"))] == [
        "12.0",
        "1.0",
    ]


def test_what_a_run_without_a_load_does_not_know_is_a_dash_beside_one_that_does():
    lines = drawn(print_simulation, [under("range"), under("sticky", a_loaded_result())])
    assert [line.split() for line in lines if "recovery" in line] == [["longest", "recovery", "-", "never"]]


@pytest.mark.parametrize(
    ("changes", "title", "heads"),
    [
        ([("deploy", "range"), ("deploy", "sticky")], "deploy", [["range", "sticky"]]),
        ([("old", "range"), ("new", "range")], "range", [["old", "new"]]),
        (
            [("old", "range"), ("new", "range"), ("new", "sticky")],
            "old, new",
            [["old", "new", "new"], ["range", "range", "sticky"]],
        ),
    ],
)
def test_plans_are_headed_by_what_tells_them_apart(changes, title, heads):
    results = [a_result(replace(SCENARIO, name=name, assignor=assignor)) for name, assignor in changes]
    lines = drawn(print_simulation, results)
    assert lines[0] == title
    assert [line.split() for line in lines[2 : 2 + len(heads)]] == heads


def test_the_outages_of_each_plan_stand_under_its_name():
    lines = drawn(print_simulation, [under("range"), under("sticky")])
    heads = [index for index, line in enumerate(lines) if "DETECTION" in line]
    assert [lines[index - 2] for index in heads] == ["range", "sticky"]


@pytest.mark.parametrize(("width", "tables"), sample([(60, 2), (40, 5), (100, 1)], 3))
def test_plans_that_do_not_fit_stand_below_one_another(width, tables):
    results = [under(name) for name in ("a", "b", "c", "d", "e")]
    lines = drawn(print_simulation, results, width=width)
    assert sum("longest pause" in line for line in lines) == tables


@pytest.mark.parametrize("width", sample([60, 80, 120], 3))
def test_nothing_is_wider_than_the_console(width):
    result = under("an-assignor-with-quite-a-long-name", a_loaded_result())
    assert max(map(len, drawn(print_simulation, [result, under("b")], width=width))) <= width


def test_a_long_name_is_broken():
    lines = drawn(print_simulation, [under("a" * 30), under("b")])
    assert [line.split() for line in lines[2:4]] == [["a" * 24], ["a" * 6, "b"]]


def test_outages_beyond_the_longest_are_added_up():
    outages = tuple(Outage(f"cause {n}", 1, 1_000.0 * n, 0, 0, 0, 500) for n in (22, *range(1, 22)))
    lines = drawn(print_simulation, [replace(a_result(), outages=outages)])
    shown = [line for line in lines if line.startswith("  cause")]
    assert [line.split()[1] for line in shown] == ["22", *map(str, range(3, 22))]
    assert [line.split() for line in lines if "other causes" in line] == [
        ["2", "other", "causes", "3.0", "3.0", "0", "0", "0", "1.0"]
    ]


def test_a_pause_without_end_is_said_so():
    lines = drawn(print_simulation, [a_result(longest_pause_ms=np.inf)])
    assert [line.split() for line in lines if "longest pause" in line] == [["longest", "pause", "no", "end"]]


def test_medians_and_percentiles_stand_side_by_side():
    lines = drawn(print_runs, [many(a_result())])
    assert lines[2:4] == [
        "                            cooperative-sticky",
        "                            MEDIAN        95 %",
    ]
    assert "  longest pause             10.0 s      19.0 s" in lines
    assert any(line.startswith("  20 runs, seeds 3 to 22; ") for line in lines)


def test_percentiles_of_plans_with_and_without_a_load():
    lines = drawn(print_runs, [many(under("range")), many(under("sticky", a_loaded_result()))])
    assert [line.split()[2:] for line in lines if "longest recovery" in line] == [["-", "never", "never"]]


def test_what_is_assumed_of_some_is_said_of_them():
    formed = replace(SCENARIO, assignor="range", settled_ms=0)
    lines = drawn(print_simulation, [a_result(), a_result(formed)])
    assert lines[-3:] == [
        "  assumed for cooperative-sticky: heartbeats in step, quiet for 1 h 00 min",
        "  assumed: nothing but waiting takes time; no load given, so no lag, duplicates or losses",
        "  assumed for range: heartbeats in step, a group just formed",
    ]


def test_a_scenario_that_is_hardly_meant_is_warned_of():
    late = replace(SCENARIO, until_ms=500, assignor="range")
    lines = drawn(print_simulation, [a_result(), a_result(late)])
    assert [line for line in lines if "warning" in line] == [f"  warning for range: {late.warnings[0]}"]
    assert f"  warning: {late.warnings[0]}" in drawn(print_simulation, [a_result(late)])


def test_a_single_run_lists_its_rebalances_with_their_causes(runs):
    text = "\n".join(drawn(print_simulation, runs[1:2]))
    assert "session of worker-1 timed out" in text
    assert "late joined" in text


def test_rebalances_beyond_a_hundred_are_counted(runs, monkeypatch):
    assert report_text.REBALANCES == 100
    monkeypatch.setattr(report_text, "REBALANCES", 5)  # a table of a hundred rows takes long to draw
    first = runs[0].rebalances[0]
    lines = drawn(print_simulation, [replace(runs[0], rebalances=(first,) * 7, outages=())])
    assert sum("session of worker-1 timed out" in line for line in lines) == 5
    assert "  and 2 rebalances more" in lines


def test_a_run_in_which_nothing_happened_has_no_lists(quiet_run):
    lines = drawn(print_simulation, [quiet_run])
    assert not any("BECAUSE" in line or "OUTAGE" in line for line in lines)


def test_every_event_that_comes_from_outside_has_words():
    assert WORDS["events"].keys() == PRIMITIVE_NAMES
