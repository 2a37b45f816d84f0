"""What the tiers run, what the quick one forbids, and how a live test is tried once more."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.live, pytest.mark.slow]

ROOT = Path(__file__).parents[2]

TESTS = """
import os, subprocess, time
import pytest
from pathlib import Path
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient
from partitioning.testing.mock_cluster import MockCluster

FAULTS = {
    "sleep": lambda: time.sleep(0.01),
    "consumer": lambda: Consumer({"group.id": "g"}),
    "admin": lambda: AdminClient({}),
    "process": lambda: subprocess.run(["true"]),
    "mock cluster": lambda: MockCluster().close(),
}

count = Path(__file__).with_name("count")

def test_plain():
    pass

@pytest.mark.live
def test_live():
    pass

@pytest.mark.slow
def test_slow():
    pass

@pytest.mark.skipif("FAULT" not in os.environ, reason="asked for below")
def test_leaves_its_process():
    FAULTS[os.environ["FAULT"]]()

@pytest.mark.live
@pytest.mark.skipif("FLAKY" not in os.environ, reason="asked for below")
@pytest.mark.parametrize("number", range(int(os.environ.get("FLAKY", 1))))
def test_fails_the_first_time(number):
    seen = Path(f"{count}-{number}")
    if not seen.exists():
        seen.touch()
        raise AssertionError("the first time")
"""


def pytest_run(tmp_path: Path, *options: str, tests: str = TESTS, **environment: str) -> tuple[int, str]:
    """Exit code and output of a run of pytest over these tests, with the plug-ins of our conftest."""
    path = tmp_path / "test_it.py"
    path.write_text(tests)
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_addoption, pytest_configure\n")
    kept = {name: value for name, value in os.environ.items() if name != "COPARTITION_SECOND_TRIES"}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-c",
            ROOT / "pyproject.toml",
            *options,
            path,
        ],
        cwd=ROOT,
        env=kept | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("tier", "counted"), [("quick", "1 passed"), ("test", "2 passed"), ("ci", "3 passed")]
)
def test_a_tier_runs_what_it_is_for(tmp_path, tier, counted):
    code, output = pytest_run(tmp_path, "--tier", tier)
    assert code == 0, output
    assert re.search(rf"^{counted}, \d skipped", output, re.MULTILINE), output


@pytest.mark.parametrize(("tier", "code"), [("quick", pytest.ExitCode.NO_TESTS_COLLECTED), ("test", 0)])
def test_tests_of_pages_are_left_to_make_test(tier, code):
    command = f"{sys.executable} -m pytest -q -p no:cacheprovider --collect-only --tier {tier}"
    done = subprocess.run(
        [*command.split(), "tests/docs/test_sentences.py"], cwd=ROOT, capture_output=True, check=False
    )
    assert done.returncode == code, done.stdout


@pytest.mark.parametrize("fault", ["sleep", "process", "mock cluster", "consumer", "admin"])
def test_the_quick_tier_fails_what_leaves_its_process(tmp_path, fault):
    code, output = pytest_run(tmp_path, "--tier", "quick", FAULT=fault)
    assert code == 1
    assert "a test that is not marked live did this" in output


def test_other_tiers_do_not(tmp_path):
    assert pytest_run(tmp_path, "--tier", "test", FAULT="sleep")[0] == 0


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_live_test_is_tried_again_and_listed(tmp_path, workers):
    code, output = pytest_run(tmp_path, "--numprocesses", workers, "--dist", "loadfile", FLAKY="1")
    assert code == 0, output
    assert "second try: " in output
    assert "AssertionError: the first time" in output
    assert "second tries: 1; more than 3 are a failure" in output


def test_without_pytest_rerunfailures_it_fails(tmp_path):
    code, output = pytest_run(tmp_path, "-p", "no:rerunfailures", FLAKY="1")
    assert code == 1
    assert "second try" not in output


def test_too_many_second_tries_are_a_failure(tmp_path):
    assert pytest_run(tmp_path, FLAKY="4")[0] == 1


def test_runs_that_share_a_file_count_together(tmp_path):
    file = tmp_path / "second-tries"
    file.write_text("xxx")
    assert pytest_run(tmp_path, FLAKY="1", COPARTITION_SECOND_TRIES=str(file))[0] == 1
    assert file.read_text() == "xxxx"


def test_a_run_without_second_tries_does_not_fail_for_those_of_others(tmp_path):
    file = tmp_path / "second-tries"
    file.write_text("xxxx")
    code, output = pytest_run(tmp_path, COPARTITION_SECOND_TRIES=str(file))
    assert code == 0, output
    assert file.read_text() == "xxxx"
