"""A page with a diff."""

from __future__ import annotations

from typing import TYPE_CHECKING

from copartition.reports.diff.fate import fates, notes
from copartition.reports.diff.groups import FEW
from copartition.reports.diff.heat import heat
from copartition.reports.diff.load import HEIGHT, load
from copartition.reports.diff.ownership import ownership
from copartition.reports.diff.tables import flow_rows, member_rows
from copartition.reports.diff.timeline import timeline
from copartition.reports.diff.verdict import answer, heading, presence
from copartition.reports.page import render

if TYPE_CHECKING:
    from copartition.diff import AssignmentDiff

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
    return render(
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
        presence=presence,
        spread_height=HEIGHT,
    )


def ownership_svg(diff: AssignmentDiff) -> str:
    """Who owned what before and after, as a file of its own."""
    return render("ownership.svg.j2", picture=ownership(diff))
