"""Scenarios in words."""

from dataclasses import replace

import pytest

from copartition.simulate_scenarios.report import run_assumptions
from copartition.simulation import Consumer, Costs, Exponential, Load, LogNormal, Settings, Uniform
from tests.support.results import SCENARIO


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "heartbeats in step, quiet for 1 h 00 min"),
        ({"settled_ms": 0}, "heartbeats in step, a group just formed"),
        ({}, "nothing but waiting takes time"),
        (
            {"costs": Costs(poll_ms=200, network_ms=2)},
            (
                "the work between two polls takes 200 ms; a request and its answer takes 2 ms; "
                "nothing else but waiting takes time"
            ),
        ),
        ({"costs": Costs(revoke_ms=Uniform(0, 2_000))}, "the revoke callback takes 0 ms to 2.0 s; "),
        (
            {"costs": Costs(assign_ms=Exponential(3_000))},
            "the assign callback takes 3.0 s on average (exponential); ",
        ),
        (
            {"costs": Costs(first_fetch_ms=LogNormal(100, 900))},
            "the first fetch takes 100 ms in the middle and 900 ms at the 95th percentile (log-normal); ",
        ),
        (
            {"costs": Costs(assignor_ms="measured", partition_ms=20)},
            (
                "opening a partition takes 20 ms; "
                "the assignor takes what it takes on this machine, so no two runs are alike; "
            ),
        ),
        ({}, "no load given, so no lag, duplicates or losses"),
        (
            {"load": Load(50)},
            (
                "50 records a second come to each partition, evenly, and a consumer can process any number; "
                "offsets are committed after processing, every 5.0 s and on revoke"
            ),
        ),
        (
            {
                "load": Load({"orders": 1_500.5}, 2_000, 500, "before", False, True),
                "settings": Settings(auto_commit_interval_ms=60_000),
            },
            (
                "1,500.5 (orders) records a second come to each partition, evenly, and a consumer can "
                "process 2,000; offsets are committed before processing in the transaction of their results, "
                "every 1 min 00 s and not on revoke"
            ),
        ),
        (
            {"load": Load({"orders": (5, 1_500)}), "events": ()},
            "5 to 1,500 (orders) records a second come to each partition, evenly, and a consumer",
        ),
        (
            {"load": Load(50, 900, zipf=1.1), "consumers": (Consumer("a", capacity=20), Consumer("b"))},
            (
                "50 records a second come to each partition, on average, by Zipf's law with exponent 1.1, "
                "and a consumer can process 900, or 20; "
            ),
        ),
        ({"until_ms": 600_000}, "nothing after 10 min 00 s counts"),
    ],
)
def test_what_is_taken_for_granted_is_said(change, said):
    assert any(assumption.startswith(said) for assumption in run_assumptions(replace(SCENARIO, **change)))
