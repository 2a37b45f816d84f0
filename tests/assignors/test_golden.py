"""Every assignor and its rule give the JVM's answer, list order included, wherever the JVM was asked."""

from __future__ import annotations

import pytest

from assignors import get_assignor
from tests.support.agreement import first_difference
from tests.support.golden import ASSIGNORS, Json, golden_files, golden_lines
from tests.support.rules import RuleLeader

pytestmark = pytest.mark.sampled

FAMILIES = [
    (assignor, name.split("/")[1])
    for assignor in ASSIGNORS
    for name in golden_files(assignor)
    if not name.endswith("/quirks")
]
QUIRKS = [
    pytest.param(assignor, scenario, id=f"{assignor}-{scenario['name']}")
    for assignor in ASSIGNORS
    for scenario in golden_lines(f"{assignor}/quirks")
]


def assert_both_answer_as_the_jvm(assignor: str, scenario: Json) -> None:
    """The assignor as it is, and the rule alone."""
    for leader in (get_assignor, RuleLeader):
        difference = first_difference(assignor, scenario, leader)
        assert difference is None, (leader, difference)


@pytest.mark.parametrize(("assignor", "scenario"), QUIRKS)
def test_quirk(assignor: str, scenario: Json) -> None:
    assert_both_answer_as_the_jvm(assignor, scenario)


@pytest.mark.parametrize(("assignor", "family"), FAMILIES)
def test_family(assignor: str, family: str) -> None:
    for scenario in golden_lines(f"{assignor}/{family}", every=150):
        assert_both_answer_as_the_jvm(assignor, scenario)


@pytest.mark.slow
def test_at_least_three_thousand_scenarios_are_committed() -> None:
    count = sum(1 for assignor in ASSIGNORS for name in golden_files(assignor) for _ in golden_lines(name))
    assert count >= 3_000
