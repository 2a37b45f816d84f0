"""Fresh random scenarios, answered by the JVM now."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from tests.support.oracle import Oracle
from tools.oracle.assignors.regenerate import answer_scenario
from tools.oracle.assignors.scenarios import ASSIGNORS, FAMILIES, random_scenario

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.oracle.assignors.worlds import Json


def live_scenarios(count: int, seed: str) -> Iterator[tuple[str, Json]]:
    """Assignor names and scenarios with the JVM's answers; the same seed gives the same again."""
    rng = Random(seed)
    with Oracle() as oracle:
        for number in range(count):
            assignor = ASSIGNORS[number % len(ASSIGNORS)]
            family = rng.choice([family for family in FAMILIES[assignor] if family.name != "large"])
            yield assignor, answer_scenario(oracle, random_scenario(assignor, family, f"{seed}-{number}"))
