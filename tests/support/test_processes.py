"""Files of tests run in several processes, and one of them says what happened."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from operator import add
from pathlib import Path
from types import SimpleNamespace
from typing import Literal

import pytest

from tests.support import processes
from tests.support.processes import in_turn, numbers_for, queues_of, worth_sending
from tests.support.tiers import TIERS

ROOT = Path(__file__).parents[2]
Outcome = Literal["passed", "failed", "skipped"]
Run = Callable[..., tuple[int, str]]


def report(when: Literal["setup", "call", "teardown"], outcome: Outcome) -> pytest.TestReport:
    """A report of one step of a test."""
    return pytest.TestReport("test_it", ("test.py", 1, "test_it"), {}, outcome, None, when)


@pytest.mark.parametrize(
    ("outcomes", "sent"),
    [
        (["passed", "passed", "passed"], ["call"]),
        (["passed", "failed", "passed"], ["call"]),
        (["failed", "passed"], ["setup"]),
        (["skipped", "passed"], ["setup"]),
        (["passed", "passed", "failed"], ["call", "teardown"]),
    ],
)
def test_nothing_that_did_not_pass_is_left_out(outcomes: list[Outcome], sent: list[str]) -> None:
    steps = ("setup", "call", "teardown") if len(outcomes) == 3 else ("setup", "teardown")
    reports = [report(when, outcome) for when, outcome in zip(steps, outcomes, strict=True)]  # type: ignore[arg-type]
    assert [each.when for each in reports if worth_sending(each)] == sent


def test_files_start_that_failed_then_new_ones_then_the_longest(tmp_path, monkeypatch):
    recorded = tmp_path / "durations.json"
    seconds = {"short": 0.1, "long": 5.0, "failed": 0.1}
    recorded.write_text(json.dumps(dict.fromkeys(TIERS, seconds)))
    monkeypatch.setattr(processes, "DURATIONS", recorded)
    files = [SimpleNamespace(nodeid=name) for name in ("short", "long", "failed", "new")]
    assert [file.nodeid for file in in_turn(files, {"failed"})] == ["failed", "new", "long", "short"]


def test_each_file_is_taken_once():
    queue = processes._queue(range(300))
    first, second = processes._numbers(queue), processes._numbers(queue)
    taken = [next(first), next(second), *first, *second]
    os.close(queue)
    assert taken == list(range(300))


def test_two_processes_take_the_files_with_a_spark_session_and_each_file_is_taken_once(tmp_path, monkeypatch):
    recorded = tmp_path / "durations.json"
    recorded.write_text(json.dumps({"spark": ["0", "3", "4"]}))
    monkeypatch.setattr(processes, "DURATIONS", recorded)
    queues = queues_of([SimpleNamespace(nodeid=str(number)) for number in range(6)])
    takers = [numbers_for(process, *queues) for process in range(3)]
    taken = [[next(numbers)] for numbers in takers]
    rest = [[*numbers] for numbers in takers]
    for queue in queues:
        os.close(queue)
    assert [*map(add, taken, rest)] == [[0, 4, 2, 5], [3], [1]]


PASSES = """
import os
import pytest

@pytest.fixture(scope="session", autouse=True)
def ended():
    yield
    with open(os.environ["ENDED"], "a") as file:
        file.write("x")

def test_passes(shared): assert shared == 1
"""
FAILS = """
import os, signal, warnings
import pytest

def test_prints():
    print("what it printed")
    assert [1, 2] == [1, 3]

@pytest.fixture
def left(): yield; raise ValueError("in the tear-down")

def test_is_left(left): pass
def test_warns(): warnings.warn("a warning")
def test_catches(capfd):
    print("own output")
    assert capfd.readouterr().out == "own output\\n"
@pytest.mark.skip
def test_is_skipped(): pass
@pytest.mark.xfail
def test_is_not_there_yet(): assert False
"""
CANNOT_BE_IMPORTED = "import nowhere"
DIES = "import os\ndef test_dies(): os._exit(7)"
INTERRUPTS = "import os, signal\ndef test_interrupts(): os.killpg(0, signal.SIGINT)"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Exit code and output of pytest in two processes over files of these texts and three that pass."""

    def run(*texts: str, options: tuple[str, ...] = ()) -> tuple[int, str]:
        folder = tmp_path / "tests"
        folder.mkdir(exist_ok=True)
        conftest = "import pytest\nfrom tests.conftest import pytest_addoption, pytest_configure\n"
        shared = '@pytest.fixture(scope="session")\ndef shared(): return 1\n'
        (folder / "conftest.py").write_text(conftest + shared)
        for number, text in enumerate((*texts, PASSES, PASSES, PASSES)):
            (folder / f"test_{number}.py").write_text(text)
        command = [sys.executable, "-m", "pytest", "--tier", "quick", "--processes", "2"]
        done = subprocess.run(
            [*command, "-p", "no:cacheprovider", "-c", ROOT / "pyproject.toml", *options, folder],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT), "ENDED": str(tmp_path / "ended")},
            capture_output=True,
            text=True,
            check=False,
            # A shell's background ignores Ctrl-C, and our own process is not to be interrupted.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
            start_new_session=True,
        )
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.mark.live
class TestRuns:
    def test_all_files_run_and_their_tests_are_counted(self, run, tmp_path):
        code, output = run()
        assert code == 0, output
        assert re.search(r"^=+ 3 passed in ", output, re.MULTILINE), output
        assert set((tmp_path / "ended").read_text()) == {"x"}

    def test_failures_are_printed_whole(self, run):
        code, output = run(FAILS, CANNOT_BE_IMPORTED)
        assert code == 1
        counts = "2 failed, 5 passed, 1 skipped, 1 xfailed, 2 errors"
        told = ["what it printed", "At index 1 diff: 2 != 3", "in the tear-down", "UserWarning: a warning"]
        assert [text for text in [counts, *told, "No module named 'nowhere'"] if text not in output] == []

    def test_what_is_chosen_runs(self, run):
        code, output = run(FAILS, options=("-k", "catches"))
        assert code == 0, output
        assert "1 passed, 8 deselected" in output

    def test_nothing_chosen_is_pytests_own_exit_code(self, run):
        assert run(options=("-k", "zebra"))[0] == pytest.ExitCode.NO_TESTS_COLLECTED

    def test_the_first_failure_ends_all_where_that_is_the_wish(self, run):
        code, output = run(FAILS, options=("-x",))
        assert code == 1
        assert "1 failed" in output
        assert "stopping after 1 failures" in output

    def test_a_process_that_dies_is_an_error(self, run):
        code, output = run(DIES)
        assert code == pytest.ExitCode.INTERNAL_ERROR
        assert "a process of the tests ended early, with exit code 7" in output

    def test_an_interrupt_ends_all(self, run):
        code, output = run(INTERRUPTS)
        assert code == pytest.ExitCode.INTERRUPTED, output
        assert "KeyboardInterrupt" in output
