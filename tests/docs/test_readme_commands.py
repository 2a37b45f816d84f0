"""What the README's commands about keys and topics print."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from copartition.shell.main import copartition
from partitioning import partition_for_key

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^\$ copartition ((?:partition|check) .*)\n((?:.+\n)+?)```", README, re.MULTILINE)


def test_there_is_a_block_for_keys_and_one_for_topics():
    assert [arguments.split()[0] for arguments, _ in BLOCKS] == ["partition", "check"]


@pytest.mark.parametrize(("arguments", "shown"), BLOCKS)
def test_a_command_prints_what_the_readme_shows(arguments, shown):
    printed = CliRunner().invoke(copartition, [*shlex.split(arguments), "--width", "300"]).stdout
    for part in shown.split("...\n"):
        assert part in printed


def test_the_partition_in_the_python_example_is_right():
    [key, count, partition] = re.search(r'partition_for_key\(b"(.*?)", (\d+)\)  # (\d+),', README).groups()
    assert partition_for_key(key.encode(), int(count)) == int(partition)
