"""Self-contained pages and pictures: no script, no font, no style sheet from elsewhere."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from assignors.extras import needs
from assignors.reports.availability import availability
from assignors.reports.distribution import distribution
from assignors.reports.ownership import COLOURS, ownership
from assignors.reports.ranges import duration, partition_ranges
from assignors.reports.verdict import count, heading, reason, renames, verdict
from assignors.reports.visible import visible

with needs("an HTML report", "report"):
    import jinja2

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from assignors.diff import AssignmentDiff
    from assignors.simulation import SimulationResult


def diff_html(diff: AssignmentDiff, *, reasons: bool = False) -> str:
    """A page with a diff: the numbers, who owned what before and after, members, flows.

    Args:
        diff: the diff.
        reasons: show flows by what set their partitions in motion.
    """
    return _render(
        "diff.html.j2",
        diff=diff,
        picture=ownership(diff),
        heading=heading(diff),
        verdict=verdict(diff),
        renames=renames(diff),
        reasons=reasons,
    )


def simulation_html(results: Sequence[SimulationResult]) -> str:
    """A page with one or more runs over the same time axis."""
    return _render("simulation.html.j2", results=results, charts=availability(results))


def ownership_svg(diff: AssignmentDiff) -> str:
    """Who owned what before and after, as a file of its own."""
    return _render("ownership.svg.j2", picture=ownership(diff), alone=True)


def availability_svg(results: Sequence[SimulationResult]) -> str:
    """When each partition was read, whole runs, as a file of its own."""
    return _render("availability.svg.j2", chart=availability(results)[0], alone=True)


def distribution_svg(figure: str, samples: Mapping[str, NDArray[np.float64]]) -> str:
    """How a figure is spread over many runs, as a file of its own."""
    return _render("distribution.svg.j2", picture=distribution(figure, samples))


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("assignors.reports", "templates"),
        autoescape=True,
        finalize=lambda value: visible(value) if isinstance(value, str) else value,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "duration": duration,
        "ranges": partition_ranges,
        "count": count,
        "reason": reason,
    }
    environment.globals["colours"] = COLOURS
    return environment


def _render(template: str, **values: object) -> str:
    return _environment().get_template(template).render(**values)
