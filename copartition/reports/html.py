"""Self-contained pages and pictures: no script, no font, no style sheet from elsewhere."""

from __future__ import annotations

from functools import cache
from math import inf
from typing import TYPE_CHECKING

from copartition.reports.diff_page.fate import fates, notes
from copartition.reports.diff_page.groups import FEW
from copartition.reports.diff_page.heat import heat
from copartition.reports.diff_page.load import HEIGHT, load
from copartition.reports.diff_page.ownership import ownership
from copartition.reports.diff_page.tables import flow_rows, member_rows
from copartition.reports.diff_page.timeline import timeline
from copartition.reports.distribution import distribution
from copartition.reports.join_page.picture import HEIGHT as GAP_HEIGHT
from copartition.reports.join_page.picture import join_picture
from copartition.reports.join_report import (
    GROW_TITLES,
    MARKS,
    PLAN_TITLES,
    TOPIC_TITLES,
    example_rows,
    example_titles,
    grow_rows,
    plan_rows,
    topic_rows,
)
from copartition.reports.ranges import clock, count, duration
from copartition.reports.runs.axis import WIDTH
from copartition.reports.runs.chart import DRAWN, charts, run_title, whole_run
from copartition.reports.runs.lanes import DEPTHS
from copartition.reports.runs.legend import COLOURS, SHADES, colour_legend, phase_legend
from copartition.reports.runs.tables import REBALANCES, causes, outage_rows
from copartition.reports.scenarios import assumptions
from copartition.reports.tuning import remark, verdicts
from copartition.reports.tuning_chart import tuning_chart
from copartition.reports.verdict import answer, heading, number, presence
from copartition.reports.visible import visible
from copartition.topics.join.facts import listed
from copartition.topics.join.planning import plan_told
from partitioning.kit.extras import needs

with needs("an HTML report", "report"):
    import jinja2

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from copartition.diff import AssignmentDiff
    from copartition.reports.join_report import JoinReport
    from copartition.simulation import Scenario, SimulationResult
    from partitioning.producer import Tuning

_TOPICS = 8
"""The most topics that a page's head names."""
_RIBBONS = 150
"""More ribbons than this are a tangle."""


def diff_html(diff: AssignmentDiff, *, reasons: bool = False) -> str:
    """A page with a diff: the verdict and what it rests on, who owned what, the loads, the stop, the details.

    Args:
        diff: the diff.
        reasons: show flows by what set their partitions in motion.
    """
    picture = ownership(diff) if 0 < len(diff.members) <= FEW else None
    if picture is not None and len(picture.ribbons) > _RIBBONS:
        picture = None
    exchanged = bool((diff.source != diff.target).any())
    return _render(
        "diff.html.j2",
        diff=diff,
        heading=heading(diff),
        verdict=answer(diff),
        fates=fates(diff),
        notes=notes(diff),
        picture=picture,
        heat=heat(diff) if exchanged and picture is None else None,
        load=load(diff),
        timeline=timeline(diff),
        members=member_rows(diff),
        flows=flow_rows(diff, reasons=reasons),
        reasons=reasons,
    )


def simulation_html(results: Sequence[SimulationResult]) -> str:
    """A page with one or more runs over the same time axis."""
    drawn = results[:DRAWN]
    outages = [outage_rows(result) for result in drawn]
    return _render(
        "simulation.html.j2",
        results=results,
        names=list(dict.fromkeys(result.scenario.name for result in results)),
        groups=list(dict.fromkeys(_group(result.scenario) for result in results)),
        drawn=drawn,
        charts=charts(drawn),
        phase_keys=phase_legend(drawn, WIDTH),
        colour_keys=colour_legend(drawn, WIDTH),
        outages=outages,
        longest=max((row.total_ms for rows in outages for row in rows if row.partitions), default=0.0),
        rebalances=REBALANCES,
        assumed=_assumed(results),
    )


def tuning_html(tunings: Sequence[Tuning], assumed: Sequence[str]) -> str:
    """A page with the settings that were tried for one client or more."""
    return _render(
        "tuning.html.j2",
        tunings=tunings,
        verdicts=verdicts(tunings),
        chart=tuning_chart(tunings),
        assumed=assumed,
    )


def join_html(report: JoinReport) -> str:
    """A page with the verdict on a join and the picture of the keys its topics share, or with a plan.

    Args:
        report: the verdict, and what it rests on.
    """
    if report.plan is not None:
        return _render(
            "join.html.j2",
            report=report,
            told=plan_told(report.plan),
            plan_titles=PLAN_TITLES,
            plan_rows=plan_rows(report.plan),
            grow_titles=GROW_TITLES,
            grow_rows=grow_rows(report.plan),
        )
    verdict = report.verdict
    assert verdict is not None
    picture = join_picture(report.drawn, report.pairs) if report.pairs else None
    proof, drawn = verdict.proof, (picture.together, picture.apart) if picture else (0, 0)
    together, apart = drawn if proof is None else (proof.common - proof.apart, proof.apart)
    return _render(
        "join.html.j2",
        report=report,
        names=listed(verdict.topics),
        marks=MARKS,
        picture=picture,
        together=together,
        apart=apart,
        picture_height=GAP_HEIGHT,
        invented=not report.audits,
        counts_unknown=any(each.code == "counts" and each.weight == "open" for each in verdict.reasons),
        example_titles=example_titles(verdict.topics),
        example_rows=example_rows(verdict.proof),
        topic_titles=TOPIC_TITLES,
        topic_rows=topic_rows(report.audits),
    )


def _assumed(results: Sequence[SimulationResult]) -> list[tuple[str, list[str]]]:
    """What the figures take for granted: of each run, or of all where it is the same."""
    said = {run_title(result, results): assumptions(result.scenario) for result in results}
    first = next(iter(said.values()))
    return [("", first)] if all(each == first for each in said.values()) else list(said.items())


def ownership_svg(diff: AssignmentDiff) -> str:
    """Who owned what before and after, as a file of its own."""
    return _render("ownership.svg.j2", picture=ownership(diff))


def availability_svg(results: Sequence[SimulationResult]) -> str:
    """When each partition was read, whole runs, as a file of its own."""
    chart = whole_run(results)
    return _render(
        "availability.svg.j2",
        chart=chart,
        keys=phase_legend(results, WIDTH),
        patterns={"detection": "unnoticed", "two": "two"},
        summary=" ".join(f"{panel.title}: {panel.facts}." for panel in chart.panels),
    )


def distribution_svg(figure: str, samples: Mapping[str, NDArray[np.float64]]) -> str:
    """How a figure is spread over many runs, as a file of its own."""
    return _render("distribution.svg.j2", picture=distribution(figure, samples))


def _group(scenario: Scenario) -> str:
    """What there is at the start, and how much happens to it."""
    topics = [f"{topic.name} with {count(topic.partitions, 'partition')}" for topic in scenario.topics]
    if len(topics) > _TOPICS:
        topics[_TOPICS:] = [count(len(topics) - _TOPICS, "more topic")]
    members, happens = count(len(scenario.consumers), "consumer"), count(len(scenario.events), "event")
    return " · ".join([members, *topics, happens, f"seed {scenario.seed}"])


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
        "duration": duration,
        "records": _records,
        "longest": _longest,
        "causes": causes,
        "run_title": run_title,
        "count": count,
        "place": _place,
        "number": number,
        "presence": presence,
        "remark": remark,
    }
    environment.globals |= {"colours": COLOURS, "shades": SHADES, "depths": len(DEPTHS)}
    environment.globals |= {"spread_height": HEIGHT}
    return environment


def _render(template: str, **values: object) -> str:
    return _environment().get_template(template).render(**values)
