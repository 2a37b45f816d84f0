"""The rules of the sticky strategies answer as the JVM, list order included, wherever it was asked."""

from __future__ import annotations

import pytest

from tests.support.agreement import first_difference
from tests.support.golden import Json, golden_files, golden_lines
from tests.support.sticky_rules import RULES, RuleLeader

FAMILIES = [
    (assignor, name.split("/")[1])
    for assignor in RULES
    for name in golden_files(assignor)
    if not name.endswith("/quirks")
]
QUIRKS = [
    pytest.param(assignor, scenario, id=f"{assignor}-{scenario['name']}")
    for assignor in RULES
    for scenario in golden_lines(f"{assignor}/quirks")
]


@pytest.mark.parametrize(("assignor", "scenario"), QUIRKS)
def test_quirk(assignor: str, scenario: Json) -> None:
    difference = first_difference(assignor, scenario, RuleLeader(assignor))
    assert difference is None, difference


@pytest.mark.parametrize(("assignor", "family"), FAMILIES)
def test_family(assignor: str, family: str) -> None:
    for scenario in golden_lines(f"{assignor}/{family}"):
        difference = first_difference(assignor, scenario, RuleLeader(assignor))
        assert difference is None, difference
