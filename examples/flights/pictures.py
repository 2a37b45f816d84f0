"""The pictures the demo leaves behind."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import jinja2
import numpy as np
from numpy.typing import NDArray

from copartition.assignment_diff import AssignmentDiff
from copartition.assignment_diff.page import diff_html
from copartition.kit.page import LETTER, WIDTH, environment
from copartition.simulate_scenarios.page import phase_legend, simulation_html, whole_run
from copartition.simulation import SimulationResult
from partitioning import Growth


def write_pictures(
    folder: Path,
    sizes: NDArray[np.int64],
    counts: list[tuple[str, int]],
    growth: Growth,
    restarts: Sequence[SimulationResult],
    change: AssignmentDiff,
) -> list[Path]:
    """Write the pages and return their paths.

    Args:
        folder: where to.
        sizes: rows of each partition.
        counts: every key with its number of rows, most rows first.
        growth: what more partitions would move.
        restarts: simulated rolling restarts to compare.
        change: the group before and after one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pages = {
        "index.html": page("index.html.j2", rows=int(sizes.sum()), partitions=len(sizes)),
        "topic.html": topic_page(sizes, counts, growth),
        "rolling-restart.html": simulation_html(restarts),
        "rolling-restart.svg": availability_svg(restarts),
        "assignment-diff.html": diff_html(change),
    }
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in pages]


class Key(NamedTuple):
    """A colour, what it means, and where the picture says so."""

    style: str
    text: str
    x: float
    y: float


SWATCH = 28
GAP = 18
LINE = 18


def availability_svg(results: Sequence[SimulationResult]) -> str:
    """When each partition was read, whole runs, as a file of its own, drawn as the report draws them."""
    folders = [jinja2.FileSystemLoader(Path(__file__).parent), jinja2.PackageLoader("copartition", ".")]
    template = environment().overlay(loader=jinja2.ChoiceLoader(folders)).get_template("availability.svg.j2")
    chart = whole_run(results)
    return template.render(
        chart=chart,
        keys=place_keys(phase_legend(results)),
        patterns={"detection": "unnoticed", "two": "two"},
        summary=" ".join(f"{panel.title}: {panel.facts}." for panel in chart.panels),
    )


def place_keys(legend: Mapping[str, str]) -> list[Key]:
    """The legend in lines as wide as the picture."""
    keys = []
    x = y = 0.0
    for style, text in legend.items():
        takes = SWATCH + len(text) * LETTER
        if x and x + takes > WIDTH:
            x, y = 0.0, y + LINE
        keys.append(Key(style, text, x, y))
        x += takes + GAP
    return keys


def topic_page(sizes: NDArray[np.int64], counts: list[tuple[str, int]], growth: Growth) -> str:
    """Partition sizes, hottest keys and growth as bars."""
    largest = int(np.argmax(sizes))
    return page(
        "topic.html.j2",
        rows=int(sizes.sum()),
        largest=f"{sizes[largest] / sizes.mean():.0%}",
        partitions=[
            {
                "label": f"partition {p}",
                "value": rows,
                "suffix": "",
                "style": "hot" if p == largest else "bar",
            }
            for p, rows in enumerate(sizes.tolist())
        ],
        keys=[{"label": key, "value": rows, "suffix": "", "style": "bar"} for key, rows in counts[:10]],
        warning=growth.warning,
        growth=[
            {"label": "rows that stay", "value": growth.keyed - growth.moving, "suffix": "", "style": "bar"},
            {"label": "rows that move", "value": growth.moving, "suffix": "", "style": "hot"},
        ],
    )


def page(template: str, **values: object) -> str:
    """A template of this folder, filled in."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template(template).render(values)
