"""Self-contained pages and pictures: no script, no font, no style sheet from elsewhere."""

from __future__ import annotations

from functools import cache
from math import inf

from copartition.reports.axis import WIDTH
from copartition.reports.words import clock, count, duration, number, visible
from partitioning.kit.extras import needs

with needs("an HTML report", "report"):
    import jinja2

COLOURS = 8
"""Colours in the style sheet (Okabe and Ito's, safe for colour-blind readers)."""
SHADES = 3
"""Each colour comes pale and paler too, when there are more consumers than colours."""
DEPTHS = (0.01, 0.1, 0.5, 1.0)
"""Shares of standing partitions up to which a cell of a grid has a shade of its phase, ever deeper."""
LETTER = 6.2
"""Width of a letter, in pixels."""


def render(template: str, **values: object) -> str:
    """A template of `templates/`, filled in; what could steer the page or the eye in a value is escaped."""
    return _environment().get_template(template).render(**values)


def _records(number: float | None) -> str:
    """Records, of which a model has fractions."""
    return "-" if number is None else f"{number:,.0f}"


def _compact(number: float) -> str:
    """Records in the room beside an axis: 950, 154 k, 12.3 M."""
    if number < 10_000:
        return _records(number)
    return f"{number / 1e3:.0f} k" if number < 999_500 else f"{number / 1e6:,.3g} M"


def _longest(milliseconds: float) -> str:
    """A pause, which may not end."""
    return "no end" if milliseconds == inf else duration(milliseconds)


def _place(pixels: float) -> str:
    """A place or a width on an axis that is as wide as there is room."""
    return f"{100 * pixels / WIDTH:.2f}%"


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("copartition.reports", "templates"),
        autoescape=True,
        finalize=lambda value: visible(value) if isinstance(value, str) else value,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "clock": clock,
        "compact": _compact,
        "count": count,
        "duration": duration,
        "longest": _longest,
        "number": number,
        "place": _place,
        "records": _records,
    }
    environment.globals |= {"colours": COLOURS, "shades": SHADES, "depths": len(DEPTHS)}
    return environment
