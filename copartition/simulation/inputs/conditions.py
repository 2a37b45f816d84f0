"""Conditions as people write them: `lag > 5000 for 30 s`."""

from __future__ import annotations

import re
from typing import Any

from copartition.simulation.inputs.events import Condition
from copartition.simulation.inputs.kinds import NUMBER, TIME, kinds_of, milliseconds, near, plain, shown

FIGURES: tuple[Any, ...] = tuple(kinds_of(Condition)["figure"].schema["enum"])
_TEXT = re.compile(rf"([a-z_]+) *([<>]) *({NUMBER})(?: +for +({TIME}))?")
SCHEMA = {
    "type": "string",
    "pattern": rf"^({'|'.join(FIGURES)}) *[<>] *{NUMBER}( +for +{TIME})?$",
    "examples": ["lag > 5000 for 30 s", "members < 3"],
}


def read_condition(text: object) -> Condition:
    """The condition that a text says.

    Raises:
        ValueError: it says none; the message tells what to write.
    """
    said = _TEXT.fullmatch(text) if isinstance(text, str) else None
    if said is None:
        raise ValueError(
            f"{shown(text)} is no condition; write a figure ({', '.join(FIGURES)}), > or <, a number, and "
            "for how long if you like: 'lag > 5000 for 30 s'"
        )
    sign, limit, time = said.groups()[1:]
    figure: Any = said[1]
    if figure not in FIGURES:
        raise ValueError(f"no figure {figure!r}; {near(figure, FIGURES)}")
    above, below = (float(limit), None) if sign == ">" else (None, float(limit))
    return Condition(figure, above, below, milliseconds(time) if time else 0)


def write_condition(condition: Condition) -> str:
    """The text of a condition, as `read_condition` reads it."""
    sign, limit = ("<", condition.below) if condition.above is None else (">", condition.above)
    text = f"{condition.figure} {sign} {plain(limit or 0)}"
    if condition.for_ms % 1_000:
        return f"{text} for {plain(condition.for_ms)} ms"
    return f"{text} for {plain(condition.for_ms / 1_000)} s" if condition.for_ms else text
