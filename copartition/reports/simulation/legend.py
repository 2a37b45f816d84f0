"""What colours stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from copartition.reports.page import COLOURS, LETTER, SHADES
from copartition.reports.visible import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from copartition.simulation import SimulationResult

_NAMED = 24
"""More consumers than this have no legend: they share colours, and tooltips tell them apart."""
_SWATCH = 28
_GAP = 18
_LINE = 18


class Key(NamedTuple):
    """A colour, what it means, and where a picture without a page around it has it."""

    style: str
    text: str
    x: float
    y: float


def consumer_styles(results: Sequence[SimulationResult]) -> dict[str, str]:
    """The colour and shade of every consumer, the same in all runs."""
    names = dict.fromkeys(name for result in results for name in result.timeline.consumers)
    return {
        name: f"c{number % COLOURS} shade-{number // COLOURS % SHADES}" for number, name in enumerate(names)
    }


def phase_legend(results: Sequence[SimulationResult], width: float) -> tuple[Key, ...]:
    """The strips of what partitions do."""
    said = [
        ("read", "read"),
        ("detection", "detection: nobody reads it, nobody has noticed"),
        ("barrier", "barrier: waits for members to join or let go, or nobody is there"),
        ("compute", "compute: the assignor is at work"),
        ("handover", "handover: callbacks, opening, first records"),
    ]
    if any(len(result.timeline.zombies.partition) for result in results):
        said.append(("two", "two readers, one of which no longer owns it"))
    return _placed(said, width)


def colour_legend(results: Sequence[SimulationResult], width: float) -> tuple[Key, ...]:
    """The strip of who reads."""
    styles = consumer_styles(results)
    if len(styles) > _NAMED:
        return ()
    return _placed([(style, visible(name)) for name, style in styles.items()], width)


def _placed(said: Sequence[tuple[str, str]], width: float) -> tuple[Key, ...]:
    """Line after line."""
    keys = []
    x = y = 0.0
    for style, text in said:
        takes = _SWATCH + len(text) * LETTER
        if x and x + takes > width:
            x, y = 0.0, y + _LINE
        keys.append(Key(style, text, x, y))
        x += takes + _GAP
    return tuple(keys)
