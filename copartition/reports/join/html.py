"""A page with the verdict on a join."""

from __future__ import annotations

from typing import TYPE_CHECKING

from copartition.reports.join.model import (
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
from copartition.reports.join.picture import HEIGHT, join_picture
from copartition.reports.page import render
from copartition.topics.join.facts import listed
from copartition.topics.join.planning import plan_told

if TYPE_CHECKING:
    from copartition.reports.join.model import JoinReport


def join_html(report: JoinReport) -> str:
    """A page with the verdict on a join and the picture of the keys its topics share, or with a plan.

    Args:
        report: the verdict, and what it rests on.
    """
    if report.plan is not None:
        return render(
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
    return render(
        "join.html.j2",
        report=report,
        names=listed(verdict.topics),
        marks=MARKS,
        picture=picture,
        together=together,
        apart=apart,
        picture_height=HEIGHT,
        invented=not report.audits,
        counts_unknown=any(each.code == "counts" and each.weight == "open" for each in verdict.reasons),
        example_titles=example_titles(verdict.topics),
        example_rows=example_rows(verdict.proof),
        topic_titles=TOPIC_TITLES,
        topic_rows=topic_rows(report.audits),
    )
