"""What the commands say of themselves, and what that costs."""

import os
import re
import subprocess
import sys
from dataclasses import fields

import pytest

from copartition.assignment_diff import Summary, parse_check
from copartition.assignment_diff.command import CHECKS
from copartition.shell.main import COMMANDS, SECTIONS, copartition
from tests.support.tiers import sample

HEAVY = {"numpy", "rich", "msgspec", "yaml", "jinja2", "confluent_kafka"}


def outcome(command, *arguments, env=None):
    """What a command prints, and what it loads of packages that take long."""
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
        f"from copartition.shell import {command} as main\n"
        "main()"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True, env=env
    )
    return result.stdout, HEAVY & {*result.stderr.split()}


@pytest.mark.live
@pytest.mark.sampled
@pytest.mark.parametrize(
    ("command", "arguments"),
    sample(
        [
            ("assignment_diff", ["--help"]),
            ("assignment_diff", ["--version"]),
            ("copartition", ["--help"]),
            ("copartition", ["--version"]),
            *(("copartition", ["completion", shell]) for shell in ("bash", "zsh", "fish")),
            *(("copartition", [name, "--help"]) for name in COMMANDS),
        ],
        before_ci=4,
    ),
)
def test_a_command_is_told_without_what_it_needs_to_run(command, arguments):
    printed, heavy = outcome(command, *arguments)
    assert printed
    assert heavy == set()


@pytest.mark.live
@pytest.mark.parametrize(
    ("program", "words", "among"),
    [
        ("copartition", "copartition ", [*COMMANDS]),
        ("copartition", "copartition diff --st", ["--strict"]),
        ("assignment_diff", "assignment-diff --by ", ["member", "topic", "partition"]),
    ],
)
def test_completion_loads_no_more_than_help_and_knows_names(program, words, among):
    variable = f"_{program.upper()}_COMPLETE"
    number = words.count(" ") if words.endswith(" ") else len(words.split()) - 1
    env = os.environ | {variable: "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(number)}
    printed, heavy = outcome(program, env=env)
    assert {line.partition(",")[2] for line in printed.splitlines()} >= {*among}
    assert heavy == set()


@pytest.mark.live
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_completes_both_programs(run, shell):
    script = run("completion", shell).stdout
    assert "_COPARTITION_COMPLETE" in script
    assert "_ASSIGNMENT_DIFF_COMPLETE" in script


def test_help_tells_where_a_script_goes(run):
    assert "\n    bash: copartition completion bash >> ~/.bashrc\n" in run("completion", "--help").stdout


def test_another_shell_is_refused(run):
    result = run("completion", "tcsh")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in result.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_listed_and_found(run, name):
    assert re.search(rf"^  {name}( \w+)? +\w", run("--help").stdout, re.MULTILINE)
    assert copartition.get_command(None, name).name == name


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in {"model", "completion"}])
def test_every_command_has_an_example(run, name):
    end = re.split("Examples?:", run(name, "--help").stdout)[-1]
    assert re.search(rf"^ +(copartition {name}|assignment-diff)\b", end, re.MULTILINE)


def test_commands_stand_under_headings(run):
    headings = re.findall(r"^(\w.*):$", run("--help").stdout, re.MULTILINE)
    assert headings[1:] == [*SECTIONS]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["dif"], "did you mean diff?"),
        (["simulte"], "did you mean simulate?"),
        (["model", "batch"], "batching"),
    ],
)
def test_an_unknown_command_is_refused_with_the_near_one(run, arguments, hint):
    result = run(*arguments)
    assert result.exit_code == 2
    assert f"No such command '{arguments[-1]}'" in result.stderr
    assert hint in result.stderr


def test_help_names_what_a_check_can_look_at():
    names = CHECKS.split(", ")
    assert names == [field.name for field in fields(Summary) if not field.name.endswith("_exact")]
    assert [str(parse_check(f"{name}<=1")) for name in names] == [f"{name}<=1" for name in names]


def test_help_has_six_examples(run):
    examples = run("diff", "--help").stdout.partition("Examples:")[2]
    assert len(re.findall(r"^ +assignment-diff ", examples, re.MULTILINE)) == 6
