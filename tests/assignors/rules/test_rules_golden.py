"""Every rule gives the JVM's answer, list order included, wherever the JVM was asked."""

from __future__ import annotations

import pytest

from tests.support.agreement import first_difference
from tests.support.golden import ASSIGNORS, Json, golden_files, golden_lines
from tests.support.rules import RuleLeader

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


@pytest.mark.parametrize(("assignor", "scenario"), QUIRKS)
def test_quirk(assignor: str, scenario: Json) -> None:
    difference = first_difference(assignor, scenario, RuleLeader)
    assert difference is None, difference


@pytest.mark.parametrize(("assignor", "family"), FAMILIES)
def test_family(assignor: str, family: str) -> None:
    for scenario in golden_lines(f"{assignor}/{family}"):
        difference = first_difference(assignor, scenario, RuleLeader)
        assert difference is None, difference
