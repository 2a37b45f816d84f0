"""`copartition simulate`."""

import json

import pytest


def test_a_run_and_its_rebalances(run, scenario):
    result = run("simulate", scenario)
    assert result.exit_code == 0
    assert "worker-0 left, worker-0 joined" in result.stdout


def test_strategies_side_by_side(run, scenario):
    result = run(
        "simulate", scenario, "--assignor", "sticky", "--assignor", "cooperative-sticky", "-o", "json"
    )
    runs = json.loads(result.stdout)["runs"]
    assert [each["assignor"] for each in runs] == ["sticky", "cooperative-sticky"]
    assert runs[0]["summary"]["partition_pause_ms"] > runs[1]["summary"]["partition_pause_ms"]


def test_the_seed_decides(run, scenario):
    def summary(seed):
        return json.loads(run("simulate", scenario, "--seed", seed, "-o", "json").stdout)["runs"][0][
            "summary"
        ]

    assert summary(3) == summary(3)
    assert summary(3)["rebalancing_ms"] != summary(4)["rebalancing_ms"]


def test_a_page_is_written(run, scenario, tmp_path):
    page = tmp_path / "deploy.html"
    assert run("simulate", scenario, "--html", page).exit_code == 0
    assert page.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{topics: {orders: x}, consumers: 4}", "Expected `int`, got `str` - at `$.topics[...]`"),
        ("{topics: {orders: 1}, consumers: 4, assignor: ranges}", "no assignor 'ranges'; did you mean range"),
    ],
)
def test_a_bad_scenario_is_2(run, scenario, text, fault):
    scenario.write_text(text)
    result = run("simulate", scenario)
    assert (result.exit_code, result.stdout) == (2, "")
    assert fault in result.stderr


def test_a_missing_scenario_is_2(run):
    result = run("simulate", "nowhere.yaml")
    assert result.exit_code == 2
    assert "nowhere.yaml" in result.stderr
