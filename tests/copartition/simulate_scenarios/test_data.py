"""Runs for programs."""

import json
from dataclasses import replace

import numpy as np

from copartition.simulate_scenarios.report import run_assumptions, runs_json, simulation_json
from copartition.simulation import Runs
from tests.support.results import SCENARIO, a_loaded_result, a_result


def test_runs_carry_their_summaries_and_rebalances(runs):
    report = json.loads(simulation_json(runs))
    assert [run["assignor"] for run in report["runs"]] == ["range", "sticky", "cooperative-sticky"]
    for run, result in zip(report["runs"], runs, strict=True):
        assert run["summary"]["rebalances"] == len(run["rebalances"]) == result.summary.rebalances


def run_of(result):
    (run,) = json.loads(simulation_json([result]))["runs"]
    return run


def test_a_run_carries_its_outages_by_cause():
    outages = run_of(a_result())["outages"]
    assert [(outage["cause"], outage["pause_ms"], outage["catch_up_ms"]) for outage in outages] == [
        ("a crashed", 47_000, None),
        ("b was slow", 2_000, None),
    ]
    assert {"partitions", "detection_ms", "barrier_ms", "compute_ms", "handover_ms"} < set(outages[0])


def test_a_run_carries_what_it_takes_for_granted():
    run = run_of(a_result())
    assert run["assumptions"] == run_assumptions(SCENARIO)
    assert (run["scenario"], run["assignor"], run["members"], run["membership"]) == (
        "deploy",
        "cooperative-sticky",
        2,
        "dynamic",
    )


def test_a_run_carries_the_warnings_of_its_scenario():
    late = replace(SCENARIO, until_ms=500)
    assert run_of(a_result(SCENARIO))["warnings"] == []
    assert run_of(a_result(late))["warnings"] == list(late.warnings) != []


def test_figures_of_records_are_null_without_a_load_and_say_so():
    run = run_of(a_result())
    unknown = dict.fromkeys(("peak_lag", "recovery_ms", "duplicates", "lost"), "the scenario has no load")
    assert {name: run["summary"][name] for name in unknown} == dict.fromkeys(unknown)
    assert run["summary"]["null_because"] == unknown
    assert run["records"] is None


def test_what_never_happens_is_null_and_says_so():
    summary = run_of(a_loaded_result())["summary"]
    assert (summary["recovery_ms"], summary["peak_lag"], summary["lost"]) == (None, 2_450, 0)
    assert summary["null_because"] == {
        "recovery_ms": "never: it was still further behind than before when the run ended"
    }


def test_a_pause_without_end_is_null_and_says_so():
    summary = run_of(a_loaded_result(longest_pause_ms=np.inf, recovery_ms=0))["summary"]
    assert summary["longest_pause_ms"] is None
    assert list(summary["null_because"]) == ["longest_pause_ms"]
    assert summary["null_because"]["longest_pause_ms"].startswith("a pause has no end")


def test_records_are_told_by_partition():
    records = run_of(a_loaded_result())["records"]
    assert records["lag"] == {"at_ms": [0, 1_000, 48_000, 60_000], "records": [0, 0, 2_450, 1_250]}
    assert [
        (
            partition["topic"],
            partition["partition"],
            partition["peak"],
            partition["recovery_ms"],
            list(partition["null_because"]),
        )
        for partition in records["partitions"]
    ] == [("orders", 0, 2_350, None, ["recovery_ms"]), ("orders", 1, 100, 1_000, [])]


def test_many_runs_carry_medians_percentiles_and_each_summary():
    summaries = [
        replace(a_loaded_result().summary, seed=n, rebalances=n, recovery_ms=1_000 if n < 10 else np.inf)
        for n in range(20)
    ]
    (plan,) = json.loads(runs_json([Runs(SCENARIO, summaries)]))["scenarios"]
    assert (plan["scenario"], plan["median"]["rebalances"], plan["p95"]["rebalances"]) == ("deploy", 9, 18)
    assert (plan["median"]["recovery_ms"], plan["p95"]["recovery_ms"]) == (1_000, None)
    assert list(plan["p95"]["null_because"]) == ["recovery_ms"]
    assert [summary["seed"] for summary in plan["summaries"]] == list(range(20))
