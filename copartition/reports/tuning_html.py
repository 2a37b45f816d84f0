"""A page with settings that were tried for producers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from copartition.reports.page import render
from copartition.reports.producer import remark, verdicts
from copartition.reports.tuning_chart import tuning_chart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partitioning.producer import Tuning


def tuning_html(tunings: Sequence[Tuning], assumed: Sequence[str]) -> str:
    """A page with the settings that were tried for one client or more."""
    return render(
        "tuning.html.j2",
        tunings=tunings,
        verdicts=verdicts(tunings),
        chart=tuning_chart(tunings),
        assumed=assumed,
        remark=remark,
    )
