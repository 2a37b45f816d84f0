"""The runner that others copy says how many answers are equal, and which are not."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from partitioning import PROFILES, partition_for_key
from tools.oracle.clients import golden

pytestmark = [pytest.mark.live]

ROOT = Path(__file__).parents[2]


def run(profile: str) -> subprocess.CompletedProcess[str]:
    """The runner for Python over what a client answered."""
    lines = [json.dumps(line) for name in ("keys", f"profiles/{profile}") for line in golden.read(name)]
    command = [sys.executable, ROOT / "tools" / "oracle" / "vectors" / "runner.py"]
    return subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=False)


def test_the_rule_of_java_is_equal_to_what_java_answered() -> None:
    found = run("java")
    assert (found.returncode, found.stdout) == (0, "18760 of 18760 are equal\n")


def test_what_differs_is_counted_and_three_keys_are_named() -> None:
    found = run("platformatic")
    *keys, verdict = found.stdout.splitlines()
    assert found.returncode == 1
    assert verdict == "12315 of 18760 are equal"
    assert len(keys) == 3
    assert partition_for_key(b"a", 3) != partition_for_key(b"a", 3, profile="platformatic")
    assert keys[0].startswith("key 61, 3 partitions: ")


def test_the_index_of_golden_answers_names_each_folder() -> None:
    index = (ROOT / "tests" / "golden" / "README.md").read_text(encoding="utf-8")
    folders = [path.name for path in (ROOT / "tests" / "golden").iterdir() if path.is_dir()]
    assert [folder for folder in folders if f"| [{folder}](" not in index] == []
    counted = len([profile for profile in PROFILES.values() if profile.checked])
    assert f"{counted} configurations of 13 clients" in index
