"""The assignor in docs/plugins.md, which records."""

import re
from pathlib import Path

import pytest

from assignors import Group, Member, Reason, Topic, explain
from assignors.testing import check_assignor

DOCS = Path(__file__).parents[2] / "docs" / "plugins.md"
PACKAGE = DOCS.parent / "example-assignor"


def shown():
    """The assignor that the page shows."""
    snippets = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    (snippet,) = [example for example in snippets if "def assign_recorded" in example]
    return snippet


@pytest.fixture
def assignor():
    names = {}
    exec(shown(), names)
    return names["InTurnsAssignor"]()


def test_it_is_that_of_the_package():
    assert (PACKAGE / "copartition_in_turns.py").read_text().endswith(shown())


@pytest.mark.heavy
def test_it_is_an_assignor(assignor):
    check_assignor(type(assignor))


def test_the_packages_own_test_is_that_of_the_page():
    assert (PACKAGE / "test_in_turns.py").read_text().partition('"""\n\n')[2] in DOCS.read_text()


def test_it_tells_its_steps(assignor):
    group = Group([Topic("t", 2)], [Member("a", ["t"]), Member("b", ["t"])])
    explanation = explain(group, assignor.assign(group), ("t", 1), assignor=assignor)
    assert explanation.reason is Reason.TURN
    assert str(explanation) == "t-1 goes to 'b', whose turn it was ('b' has 1 of a share of 1)"


def test_every_step_is_in_the_table():
    told = set(re.findall(r"`([A-Z_]+)`", DOCS.read_text()))
    assert told == {reason.name for reason in Reason} - {"NOBODY", "NOT_TOLD"}
