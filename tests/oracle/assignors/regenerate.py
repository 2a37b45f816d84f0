"""Writes the golden answers again: `python -m tests.oracle.assignors.regenerate [ASSIGNOR...]`.

A file is written only where its content changed, so that another release of the compressor changes nothing.
"""

from __future__ import annotations

import json
import lzma
import sys
from typing import TYPE_CHECKING

from tests.oracle.assignors.scenarios import ASSIGNORS, families, scenarios
from tests.support.golden import GOLDEN
from tests.support.oracle import Oracle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.oracle.assignors.worlds import Json


class UnexpectedAnswerError(AssertionError):
    """The JVM does not do what a named scenario says it does."""


def answered(oracle: Oracle, scenario: Json) -> Json:
    """The scenario with every member resolved and the JVM's answers, checked where it says what to expect."""
    steps = oracle.assign(scenario)
    for number, (asked, step) in enumerate(zip(scenario["steps"], steps, strict=True)):
        got = dict(step.get("assignment", ()))
        for what, told in (
            ("exception", step.get("error", {}).get("exception")),
            ("transferring", step.get("transferring")),
            *((member, runs) for member, runs in got.items()),
        ):
            expected = asked.get("expect", {})
            if what in expected and told != expected[what]:
                raise UnexpectedAnswerError(
                    f"{scenario['assignor']}/{scenario['name']} step {number}: {what} is {told}, "
                    f"expected {expected[what]}; all: {got or step.get('error')}"
                )
    return {"name": scenario["name"], "steps": steps}


def write_lines(name: str, lines: Iterator[Json]) -> bool:
    """Writes a golden file unless it says the same already."""
    path = GOLDEN / f"{name}.jsonl.xz"
    content = "".join(
        json.dumps(line, separators=(",", ":"), ensure_ascii=True) + "\n" for line in lines
    ).encode()
    if path.exists() and lzma.decompress(path.read_bytes()) == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))
    return True


def main(chosen: list[str]) -> None:
    """Asks the JVM everything again."""
    changed = False
    with Oracle() as oracle:
        for assignor in chosen or ASSIGNORS:
            for family in families(assignor):
                lines = (answered(oracle, scenario) for scenario in scenarios(assignor, family))
                is_new = write_lines(f"{assignor}/{family}", lines)
                changed |= is_new
                sys.stdout.write(f"{assignor}/{family}{' written' if is_new else ' unchanged'}\n")
                sys.stdout.flush()
        if changed:
            versions = json.dumps(oracle.versions(), indent=2) + "\n"
            (GOLDEN / "versions.json").write_text(versions, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
