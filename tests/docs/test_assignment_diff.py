"""The examples of docs/assignment-diff.md and of `--help`, and the workflow of docs/ci-gate.md."""

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from assignors import list_assignors
from copartition.assignment_diff import MATCH_RULES
from copartition.assignment_diff.command import diff
from copartition.groups import parse_capture
from copartition.kit.markdown import MOST_CHARACTERS
from copartition.shell.main import copartition

PAGE = Path(__file__).parents[2] / "docs" / "assignment-diff.md"
TEXT = PAGE.read_text(encoding="utf-8")
FILES = dict(re.findall(r"```text (\S+)\n(.*?)```", TEXT, re.DOTALL))
EXAMPLES = [
    (command.replace("\\\n", " "), output)
    for block in re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL)
    for command, output in re.findall(r"^\$ (.*?[^\\])\n(.*?)(?=^\$ |\Z)", block, re.DOTALL | re.MULTILINE)
]
GATE = PAGE.with_name("ci-gate.md").read_text(encoding="utf-8")
(WORKFLOW,) = (yaml.safe_load(workflow) for workflow in re.findall(r"```yaml\n(.*?)```", GATE, re.DOTALL))
SCENARIO = (
    "{topics: {orders: 6}, consumers: 3, events: [{event: rolling-restart, every_ms: 60000, down_ms: 1000}]}"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files of the page and those that `--help` speaks of, and a cluster with the group."""
    monkeypatch.chdir(tmp_path)
    files = FILES | {
        "yesterday.txt": FILES["before.txt"],
        "today.txt": FILES["after.txt"].replace("pod-2", "pod-4"),
        "deploy.yaml": SCENARIO,
        "client.properties": "",
    }
    for name, content in files.items():
        Path(name).write_text(content)
    before, after = (parse_capture(FILES[name])[0] for name in ("before.txt", "after.txt"))
    groups = {"billing": (replace(after, strategy="cooperative-sticky"), None), "payments": (before, after)}
    monkeypatch.setattr("copartition.groups.source.read_live", lambda name, _: groups[name])
    return tmp_path


def outcome(command):
    """What a command line prints, and its exit code; what it reads from another tool is in after.txt."""
    *other, own = command.split(" | ")
    name, *arguments = shlex.split(own)
    program = {"assignment-diff": diff, "copartition": copartition}[name]
    read = FILES["after.txt"] if other else None
    return CliRunner().invoke(program, [*arguments, "--width", "200"], prog_name=name, input=read)


@pytest.mark.parametrize(("command", "output"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_prints_what_the_page_says(folder, command, output):
    if "plan.json" in command and "--save" not in command:
        outcome(next(example for example, _ in EXAMPLES if "--save plan.json" in example))
    assert outcome(command).output == output


def test_there_are_six_examples():
    assert TEXT.count("```console") == 6


def test_the_workflow_comments_what_a_plan_moves(folder):
    (step,) = (step for step in WORKFLOW["jobs"]["moves"]["steps"] if "assignment-diff" in step["run"])
    command = step["run"].replace("$KAFKA", "kafka:9092")
    result = outcome(command)
    assert (result.exit_code, result.output) == (0, "")
    assert len(Path("moves.md").read_text()) < MOST_CHARACTERS


def test_every_option_of_help_is_told():
    options = {name for option in diff.params for name in option.opts if name.startswith("--")}
    told = {*re.findall(r"(--[a-z][a-z-]+)", TEXT)}
    assert options - told <= {"--output", "--bootstrap-server", "--version", "--verbose", "--quiet"}


def test_no_option_is_told_that_there_is_not():
    tables = TEXT.partition("## Options")[2].partition("## Exit codes")[0]
    options = {name for option in diff.params for name in option.opts}
    assert {*re.findall(r"`(--?[a-z][a-z-]*)", tables)} - {"--help"} <= options


def test_every_format_rule_and_assignor_is_told():
    (formats,) = (option.type.choices for option in diff.params if option.name == "form")
    assignors = {info.name for info in list_assignors() if info.origin == "built-in"}
    assert {*re.findall(r"`([a-z-]+)`", TEXT)} >= {*formats, *MATCH_RULES, *assignors}


def test_the_most_characters_of_a_comment_are_those_of_the_code():
    assert f"{MOST_CHARACTERS:,} characters" in TEXT
