"""The top of a diff's page: what became of the partitions, and what to know before believing it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from copartition.reports.diff.verdict import renames

if TYPE_CHECKING:
    from collections.abc import Sequence

    from copartition.diff import AssignmentDiff

_NOTES = 12
"""The most notes of one kind."""


class Fate(NamedTuple):
    """What became of some partitions."""

    style: str
    number: int
    label: str
    percent: float

    @property
    def told(self) -> str:
        """Its share in words, none and all only where that is so."""
        if 0 < self.percent < 0.05:
            return "< 0.1 %"
        return "> 99.9 %" if 99.95 <= self.percent < 100 else f"{self.percent:.1f} %"


class Note(NamedTuple):
    """Something to know, and what kind of thing it is."""

    kind: str
    text: str


def fates(diff: AssignmentDiff) -> list[Fate]:
    """Every partition under one of these; what did not happen is left out."""
    numbers = diff.summary
    said = [
        ("kept", numbers.kept, "kept"),
        ("between", numbers.moved, "moved"),
        ("joined", numbers.assigned, "gained an owner"),
        ("left", numbers.unassigned, "lost their owner"),
        ("added", numbers.added, "added"),
        ("removed", numbers.removed, "removed"),
        ("conflict", numbers.conflicts, "with two owners"),
    ]
    said.append(("free", numbers.partitions - sum(number for _, number, _ in said), "owned by nobody"))
    return [
        Fate(style, number, label, 100 * number / numbers.partitions)
        for style, number, label in said
        if number
    ]


def notes(diff: AssignmentDiff) -> list[Note]:
    """What was assumed, what is doubtful, and who is taken for whom."""
    conflicts = [
        f"{each.topic}-{each.partition} has two owners: before {', '.join(each.before) or 'nobody'}, "
        f"after {', '.join(each.after) or 'nobody'}."
        for each in diff.conflicts[:_NOTES]
    ]
    return [
        *_cut("Conflict", conflicts, len(diff.conflicts)),
        *_cut("Assumed", diff.assumed, len(diff.assumed)),
        *_cut("Warning", diff.warnings, len(diff.warnings)),
        *_cut("Matched", renames(diff), len(diff.matching.renames)),
    ]


def _cut(kind: str, texts: Sequence[str], number: int) -> list[Note]:
    shown = [Note(kind, text) for text in texts[:_NOTES]]
    return [*shown, Note(kind, f"and {number - _NOTES:,} more.")] if number > _NOTES else shown
