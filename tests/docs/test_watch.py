"""The examples of docs/watch.md, as a reader would run them."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from copartition.assignment_diff.command import diff
from copartition.shell.main import copartition
from copartition.watch.command import watch

TEXT = (Path(__file__).parents[2] / "docs" / "watch.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```text (\S+)\n(.*?)```", TEXT, re.DOTALL))
EXAMPLES = re.findall(r"```console\n\$ (.*?)\n(.*?)```", TEXT, re.DOTALL)
PROGRAMS = {"assignment-diff": diff, "copartition": copartition}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        Path(name).write_text(content)


def outcome(command):
    name, *arguments = shlex.split(command)
    return CliRunner().invoke(PROGRAMS[name], arguments, prog_name=name)


@pytest.mark.parametrize(("command", "output"), EXAMPLES)
def test_an_example_prints_what_the_page_says(folder, command, output):
    assert outcome(command).output == output


def test_a_command_in_the_text_runs(folder):
    [command] = re.findall(r"`(assignment-diff night.+?)`", TEXT)
    assert outcome(command).exit_code == 1


def test_every_option_is_told_and_no_other():
    options = {name for option in watch.params for name in option.opts}
    table = TEXT.partition("| option |")[2].partition("## ")[0]
    told = {*re.findall(r"(?<![\w-])(--?[a-zA-Z][a-z-]*)", table)}
    assert told <= options
    assert options - told == {"group", "--bootstrap-server", "--output", "--verbose", "-v"}
