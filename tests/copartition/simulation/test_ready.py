"""What comes with the package shows what people complained of, and that the advice helps."""

import math
import re
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from click.testing import CliRunner

from copartition.shell.main import copartition
from copartition.simulation import RunSummary, Scenario, simulate, simulate_seeds
from copartition.simulation.inputs.file import ready_scenarios
from tests.support.tiers import sample

READY = ready_scenarios()
COMMANDS = [
    line.removeprefix("#   copartition ")
    for ready in READY.values()
    for line in ready.path.read_text().splitlines()
    if line.startswith("#   copartition ")
]
SEEDS = sample(range(9), 9)
SLOW = {"lag-autoscaler", "new-protocol-kip-848", "new-protocol-two-bounces"}
"""One with more than a hundred rebalances, and two that are new-protocol-stop-start at another pace."""


@cache
def _runs(name: str, changes: tuple[tuple[str, str], ...] = ()) -> list[tuple[RunSummary, bool]]:
    """Figures of runs with these changes, and whether somebody was refused; the first has the file's seed."""
    scenario = Scenario.from_file(READY[name].path, dict(changes))
    assert scenario.seed == SEEDS[0]
    runs = simulate_seeds(scenario, SEEDS)
    return [(run.summary, any(entry.what == "refused" for entry in run.log)) for run in runs]


def median(name: str, figure: str, **changes: str) -> float:
    """Of the figure over some seeds, where the scenario says this instead."""
    return float(np.median([getattr(run, figure) for run, _ in _runs(name, tuple(changes.items()))]))


@pytest.mark.parametrize("name", READY)
def test_it_can_be_read_and_nothing_in_it_is_warned_of(name: str) -> None:
    scenario = Scenario.from_file(READY[name].path)
    assert scenario.warnings == ()
    assert scenario.load is not None or name == "connect-worker-lost"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in READY]
)
def test_it_can_be_run_as_it_is_and_nobody_is_refused(name: str) -> None:
    (_, refused), *_ = _runs(name)
    assert not refused


@pytest.mark.parametrize("name", READY)
def test_its_first_line_says_what_it_is_and_another_one_what_is_assumed(name: str) -> None:
    assert re.fullmatch(r"[A-Z].{30,100}[^.]", READY[name].summary)
    text = READY[name].path.read_text()
    assert re.search(r"^# Assumed: |See [\w-]+\.yaml", text, re.MULTILINE)


@pytest.mark.parametrize("name", READY)
def test_it_has_a_question_an_issue_that_asks_it_and_an_answer(name: str) -> None:
    purpose = Scenario.from_file(READY[name].path).purpose
    assert purpose["question"].endswith("?")
    assert purpose["conclusion"].endswith(".")
    address = r"https://github\.com/[\w-]+/[\w-]+/issues/\d+"
    assert re.fullmatch(rf"{address}(, {address})*", purpose["source"])


@pytest.mark.sampled
@pytest.mark.parametrize("command", sample(COMMANDS, 24, before_ci=4))
def test_what_it_tells_to_compare_can_be_compared(command: str) -> None:
    done = CliRunner().invoke(copartition, command.split(), catch_exceptions=False)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("name", "figure", "low", "high"),
    [
        # Everybody waits from the start of the new one until the busy one polls.
        ("busy-consumer", "rebalancing_ms", 209e3, 215e3),
        # One that nobody heard leaving is waited for as long as its session.
        ("brokers-rolled", "rebalancing_ms", 40e3, 48e3),
        ("brokers-rolled", "rebalances", 1, 1),
        ("connect-worker-lost", "longest_pause_ms", 305e3, 316e3),
        ("connect-worker-lost", "moved_partitions", 10, 10),
        ("deploy-static-ids", "rebalances", 0, 0),
        ("deploy-same-second", "rebalances", 8, 8),
        pytest.param("lag-autoscaler", "rebalances", 100, 200, marks=pytest.mark.slow),
        pytest.param("lag-autoscaler", "peak_lag", 200e3, 300e3, marks=pytest.mark.slow),
        ("lag-autoscaler-fixed", "peak_lag", 0, 0),
        ("restart-once", "rebalances", 2, 2),
        ("restart-once", "duplicates", 0, 0),
    ],
)
def test_what_comes_out(name: str, figure: str, low: float, high: float) -> None:
    assert low <= median(name, figure) <= high


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("figure", "worse", "better", "times"),
    sample(
        [
            (
                "partition_seconds",
                ("busy-consumer", {}),
                ("busy-consumer", {"assignor": "cooperative-sticky"}),
                5,
            ),
            ("partition_seconds", ("busy-consumer", {}), ("busy-consumer", {"assignor": "uniform"}), 5),
            (
                "rebalancing_ms",
                ("busy-consumer", {}),
                ("busy-consumer", {"max.poll.interval.ms": "60000"}),
                5,
            ),
            (
                "double_read_ms",
                ("busy-consumer", {"max.poll.interval.ms": "60000"}),
                ("busy-consumer", {}),
                math.inf,
            ),
            (
                "partition_seconds",
                ("lag-autoscaler", {}),
                ("lag-autoscaler", {"assignor": "cooperative-sticky"}),
                1.8,
            ),
            ("partition_seconds", ("restart-on-rebalance", {}), ("restart-once", {}), 100),
            ("duplicates", ("restart-on-rebalance", {}), ("restart-once", {}), math.inf),
            ("partition_seconds", ("deploy-surge", {}), ("deploy-same-second", {}), 1.5),
            ("rebalances", ("deploy-surge", {}), ("deploy-same-second", {}), 1.5),
            ("partition_seconds", ("deploy-same-second", {}), ("deploy-static-ids", {}), 1.5),
            (
                "partition_seconds",
                ("deploy-surge", {}),
                ("deploy-surge", {"assignor": "cooperative-sticky"}),
                10,
            ),
            ("partition_seconds", ("deploy-surge", {}), ("deploy-surge", {"assignor": "uniform"}), 10),
            (
                "partition_seconds",
                ("deploy-static-ids", {"session.timeout.ms": "20000"}),
                ("deploy-static-ids", {}),
                5,
            ),
            (
                "partition_seconds",
                ("brokers-rolled", {}),
                ("brokers-rolled", {"session.timeout.ms": "10000"}),
                4,
            ),
            (
                "partition_seconds",
                ("brokers-rolled", {}),
                ("brokers-rolled", {"assignor": "cooperative-sticky"}),
                4,
            ),
            ("longest_pause_ms", ("new-protocol-stop-start", {}), ("new-protocol-two-bounces", {}), 2),
            ("longest_pause_ms", ("new-protocol-stop-start", {}), ("new-protocol-kip-848", {}), 2),
            ("partition_seconds", ("new-protocol-two-bounces", {}), ("new-protocol-stop-start", {}), 2),
            ("partition_seconds", ("new-protocol-stop-start", {}), ("new-protocol-kip-848", {}), 1.4),
            (
                "longest_pause_ms",
                ("connect-worker-lost", {}),
                ("connect-worker-lost", {"scheduled.rebalance.max.delay.ms": "60000"}),
                4,
            ),
            (
                "moved_partitions",
                ("connect-worker-lost", {"scheduled.rebalance.max.delay.ms": "0"}),
                ("connect-worker-lost", {"scheduled.rebalance.max.delay.ms": "60000"}),
                2,
            ),
        ],
        7,
        before_ci=7,
    ),
)
def test_the_advice_helps(
    figure: str, worse: tuple[str, dict[str, str]], better: tuple[str, dict[str, str]], times: float
) -> None:
    before, after = median(worse[0], figure, **worse[1]), median(better[0], figure, **better[1])
    assert before >= times * after if after else before > 0


@pytest.mark.heavy
def test_the_autoscaler_swings_to_the_end() -> None:
    log = simulate(Scenario.from_file(READY["lag-autoscaler"].path)).log
    steps = [1 if entry.what == "join" else -1 for entry in log if entry.what in {"join", "leave"}]
    turns = [before for before, after in pairwise(steps) if before != after]
    assert len(turns) >= 10


def test_every_file_of_the_folder_is_one() -> None:
    folder = next(iter(READY.values())).path.parent
    assert {file.stem for file in folder.iterdir() if file.suffix != ".py" and file.is_file()} == set(READY)
