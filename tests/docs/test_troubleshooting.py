"""The errors of the page are those that its commands print, and its table of variables is complete."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from copartition.assignment_diff.command import diff
from copartition.shell.main import copartition
from spark_integration.sinks.options import ENVIRONMENT

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")
SHORT = """\
GROUP    CONSUMER-ID  HOST       CLIENT-ID  #PARTITIONS
billing  pod-0-8c1f   /10.0.0.1  pod-0      6
billing  pod-1-b7d2   /10.0.0.2  pod-1      8
"""
ERRORS = re.findall(r"```console\n\$ (.*)\n(.*)\n```", PAGE)


def test_the_page_has_errors() -> None:
    assert len(ERRORS) > 9


@pytest.mark.parametrize(("command", "error"), ERRORS)
def test_a_command_prints_the_error(
    command: str, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in (ROOT / "copartition" / "shell" / "examples").iterdir():
        shutil.copy(file, tmp_path)
    (tmp_path / "short.txt").write_text(SHORT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KAFKA_BOOTSTRAP_SERVERS", raising=False)
    program, *arguments = shlex.split(command)
    told = diff if program == "assignment-diff" else copartition
    done = CliRunner().invoke(told, arguments, prog_name=program)
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", f"{error}\n")


def test_all_variables_of_the_environment_are_in_one_table() -> None:
    table = PAGE.partition("## Environment variables")[2]
    read = {*ENVIRONMENT}
    for package in ("partitioning", "assignors", "copartition", "spark_integration"):
        for path in (ROOT / package).rglob("*.py"):
            read |= {*re.findall(r"environ(?:\.get\(|\[)\"(\w+)\"", path.read_text("utf-8"))}
    assert [name for name in sorted(read) if f"`{name}" not in table] == []
