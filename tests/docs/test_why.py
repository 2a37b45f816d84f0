"""The example of docs/why.md is what the recorded logs give."""

from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner

from copartition.shell.main import copartition

ROOT = Path(__file__).parents[2]
LOGS = sorted(map(str, (ROOT / "tests" / "golden" / "logs" / "java-range").glob("*.log.gz")))


def test_the_example_is_in_the_report_of_its_logs() -> None:
    example = re.findall(r"```text\n(.*?)```", (ROOT / "docs" / "why.md").read_text(), re.DOTALL)[0]
    report = CliRunner().invoke(copartition, ["why", *LOGS]).stdout.splitlines()
    shown = example.splitlines()
    assert len(shown) > 5
    assert [line for line in shown if line not in report] == []
