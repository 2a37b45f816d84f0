"""The examples of docs/delivery.md, as a reader would run them."""

import re
from pathlib import Path

import pytest

from copartition.models.command import delivery
from tests.support.commands import printed

PAGE = Path(__file__).parents[2] / "docs" / "delivery.md"
TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```console\n\$ copartition (.*?)\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.heavy
@pytest.mark.parametrize(("arguments", "output"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_prints_what_the_page_says(arguments, output):
    assert printed(arguments) == output


def test_there_are_two_examples():
    assert TEXT.count("```console") == len(EXAMPLES) == 2


@pytest.mark.heavy
@pytest.mark.parametrize("arguments", re.findall(r"^ +copartition (.+)$", delivery.epilog, re.MULTILINE))
def test_an_example_of_help_runs(arguments):
    assert printed(arguments)


@pytest.mark.heavy
def test_the_python_example_runs():
    (example,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    exec(compile(example, str(PAGE), "exec"), {})  # it asserts


def test_options_of_the_page_exist():
    known = {name for option in delivery.params for name in (*option.opts, *option.secondary_opts)}
    assert {*re.findall(r"`(--[a-z-]+)", TEXT)} <= known
