"""Make the pages of reports, with one layout, one style and one axis of time.

Pictures are `WIDTH` pixels wide. A template turns pixels into percent, so a picture fills the room that it
has.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from copartition.kit.words import clock, count, duration, number, visible
from partitioning.kit.packages import needs

if TYPE_CHECKING:
    import jinja2


WIDTH = 1000.0
"""Pixels from the beginning of a window to its end."""
_MARKS = 12
"""The number of steps of an axis of time, at most."""


class Window(NamedTuple):
    """A stretch of time in milliseconds, or another range of numbers, that an axis shows.

    It reaches from `start` to `end`; `end` is greater than `start`.
    """

    start: float
    end: float

    def x(self, at: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Return pixels from the left, 0 to `WIDTH`; values outside the window are moved to its border."""
        place = (np.asarray(at, np.float64) - self.start) / self.grain
        return np.clip(place, 0.0, WIDTH)

    @property
    def grain(self) -> float:
        """The milliseconds of one pixel."""
        return (self.end - self.start) / WIDTH

    def at(self, x: float) -> float:
        """Return the time at a pixel, in milliseconds."""
        return self.start + x * self.grain

    def overlaps(self, start: NDArray[np.float64], end: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return True for each stretch [start, end) that shares more than a border with the window."""
        return (start < self.end) & (end > self.start)


class Tick(NamedTuple):
    """A mark of an axis: pixels from its beginning, and the text next to it."""

    x: float
    text: str


def ticks(window: Window) -> tuple[Tick, ...]:
    """Return about a dozen marks, or fewer, at multiples of a step that people count in: 5 s or 15 min."""
    span = (window.end - window.start) / _MARKS
    # `_steps` never ends, so that an axis of years also has about a dozen marks.
    step = next(step for step in _steps() if step >= span)
    times = np.arange(np.ceil(window.start / step), np.floor(window.end / step) + 1) * step
    return tuple(Tick(float(window.x(at)), clock(at)) for at in times.tolist())


def number_ticks(window: Window, *, least: float = 0) -> tuple[Tick, ...]:
    """Return about six marks at round numbers (1, 2 or 5 times a power of ten).

    Args:
        window: the range of numbers, not of times.
        least: the smallest distance between two marks. If only a few such steps fit, each gets a mark.
    """
    span = window.end - window.start
    rough = least if 0 < span <= _MARKS * least else max(least, span / 6)
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(base * power for base in (1, 2, 5, 10) if base * power >= rough)
    marks = np.arange(np.ceil(window.start / step), np.floor(window.end / step) + 1) * step
    return tuple(Tick(float(window.x(mark)), f"{mark:,.10g}") for mark in marks.tolist())


def _steps() -> Iterator[float]:
    """Yield ever longer steps in milliseconds.

    From 1 s on these are steps in which people count time, such as 15 s and 30 s, but not 20 s or 100 s.
    """
    counted = (number * unit for unit in (1_000, 60_000, 3_600_000) for number in (1, 2, 5, 10, 15, 30))
    days = (number * 86_400_000.0 * 10**power for power in itertools.count() for number in (2, 5, 10))
    return chain((1, 2, 5, 10, 20, 50, 100, 200, 500), counted, days)


COLOURS = 8
"""The number of colours in the style sheet (Okabe and Ito's, safe for colour-blind readers)."""
SHADES = 3
"""The number of shades of each colour, for when there are more consumers than colours."""
DEPTHS = (0.01, 0.1, 0.5, 1.0)
"""Upper bounds of the share of partitions that stand still: one for each shade of a phase, lightest first."""
LETTER = 6.2
"""The width of a letter in pixels."""


def render(template: str, **values: object) -> str:
    """Return the template at this path below `copartition`, filled in with `values`.

    Markup in values is escaped, and so are invisible characters.

    Raises:
        MissingDependencyError: jinja2 is not installed.
    """
    return environment().get_template(template).render(**values)


def _records(number: float | None) -> str:
    """Return a number of records with thousands separators, "-" for None."""
    return "-" if number is None else f"{number:,.0f}"


def _compact(number: float) -> str:
    """Return a number of records, short enough for an axis: 950, 154 k, 12.3 M."""
    if number < 10_000:
        return _records(number)
    return f"{number / 1e3:.0f} k" if number < 999_500 else f"{number / 1e6:,.3g} M"


def _place(pixels: float) -> str:
    """Return pixels as percent of the width, because an axis is as wide as there is room."""
    return f"{100 * pixels / WIDTH:.2f}%"


@cache
def environment() -> jinja2.Environment:
    """Return jinja2's environment of all pages; it is created once.

    Every text is escaped twice: for HTML, and by `visible` for invisible characters. If a template uses a
    name that is not given, that is an error.
    """
    with needs("an HTML report", "report"):
        import jinja2  # noqa: PLC0415 - only pages need it
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("copartition", "."),
        autoescape=True,
        # `finalize` gets every value that a template prints, so no template can forget to escape a name.
        finalize=lambda value: visible(value) if isinstance(value, str) else value,
        trim_blocks=True,
        lstrip_blocks=True,
        # A misspelt name in a template must fail, not print nothing.
        undefined=jinja2.StrictUndefined,
    )
    # Filters by the name that templates use; each takes a value and returns text.
    templates.filters |= {
        "clock": clock,
        "compact": _compact,
        "count": count,
        "duration": duration,
        "longest": lambda milliseconds: "no end" if milliseconds == inf else duration(milliseconds),
        "number": number,
        "place": _place,
        "records": _records,
    }
    templates.globals |= {"colours": COLOURS, "shades": SHADES, "depths": len(DEPTHS)}
    return templates
