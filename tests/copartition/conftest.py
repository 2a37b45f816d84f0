"""Ways to run the commands, and what the reports are made from."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from copartition.assignment_diff import planner
from copartition.deploys import stops
from copartition.shell.main import copartition
from tests.copartition.groups.conftest import workers
from tests.copartition.reported import (
    assuming,
    empty_diff,
    grown,
    large,
    named,
    odd,
    planned,
    quiet_run,
    runs,
    unchanged,
    validate,
    with_stops,
)
from tests.support.commands import invoker
from tests.support.recording import strangers

__all__ = [
    "assuming",
    "empty_diff",
    "grown",
    "large",
    "named",
    "odd",
    "planned",
    "quiet_run",
    "runs",
    "strangers",
    "unchanged",
    "validate",
    "with_stops",
    "workers",
]


ALL_RUNS, ALL_DRAWS = stops.RUNS, planner._DRAWS


@pytest.fixture(scope="module", autouse=True)
def few_runs():
    """What a deploy stops comes from two runs, and what a plan moves from a few draws of member ids.

    A range has the same words for thirty runs or forty draws, which take long. A test of the figures
    themselves uses `all_runs`.
    """
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(stops, "RUNS", 2)
        monkeypatch.setattr(planner, "_DRAWS", planner._FEWEST_DRAWS)
        yield


@pytest.fixture
def all_runs(monkeypatch):
    """What a deploy stops and a plan moves comes from as many runs and draws as a user's command makes."""
    monkeypatch.setattr(stops, "RUNS", ALL_RUNS)
    monkeypatch.setattr(planner, "_DRAWS", ALL_DRAWS)


CAPTURES = Path(__file__).parent / "groups" / "captures"


@pytest.fixture(scope="session")
def run():
    """Run `copartition ARGUMENTS` in this process."""
    return invoker(copartition)


@pytest.fixture
def start(tmp_path):
    """Start `copartition` or `assignment-diff` as a process of its own; none outlives the test."""
    started = []

    def popen(command, *arguments, before="", stdout=subprocess.PIPE, **kwargs):
        script = f"{before}\nfrom copartition.shell import {command} as main\nmain()"
        process = subprocess.Popen(
            [sys.executable, "-c", script, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            # What a shell runs in its background ignores Ctrl-C, and so would its children.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no threads here
            **kwargs,
        )
        started.append(process)
        return process

    yield popen
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def members():
    """A capture of a group of five, one of them idle."""
    return CAPTURES / "members-4.4.0.txt"


@pytest.fixture(scope="session")
def offsets():
    """A capture with committed offsets and lags."""
    return CAPTURES / "offsets-4.4.0.txt"


@pytest.fixture(scope="session")
def reconciling():
    """A capture that holds a current and a target assignment."""
    return CAPTURES / "reconciling-4.4.0.txt"


@pytest.fixture(scope="session")
def without_topics():
    """A capture that cannot be read."""
    return CAPTURES / "members-3.9.1.txt"


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "deploy.yaml"
    path.write_text(
        "{topics: {orders: 12}, consumers: 4,"
        " events: [{event: rolling-restart, every_ms: 60000, down_ms: 1000}]}"
    )
    return path
