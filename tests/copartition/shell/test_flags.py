"""Errors of the library speak of arguments, those of a command of its flags."""

import re

import pytest

from copartition.shell.main import COMMANDS, copartition
from partitioning.kit.packages import read_toml


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--grow", "pay=3"], "--grow pay=3: the group reads clicks, orders"),
        (["--remove-member", "x"], "--remove-member x: the group has no such instance id"),
        (["--subscribe", "x=pay"], "--subscribe x: the group has no such instance id"),
    ],
)
def test_an_error_of_the_library_names_the_flag(run, members, options, said):
    result = run("diff", members, "plan:range", *options)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "`" not in result.stderr


def test_an_error_about_what_happens_names_its_flag(run, members):
    result = run("simulate", members, "--crash-member", "x")
    assert "--crash-member x: the group has no such instance id" in result.stderr


def test_each_flag_is_one_of_a_command():
    flags, known = read_toml("copartition.shell", "flags.toml"), set()
    for name in COMMANDS:
        command = copartition.get_command(None, name)
        known |= {flag for option in command.params for flag in option.opts}
    assert {flag.split()[0] for flag in flags.values()} <= known  # one stands with its metavar
    assert all(re.fullmatch("[a-z_]+", argument) for argument in flags)
