"""Report on all groups of a cluster as text and JSON: a row for each group, the worst first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from copartition.doctor.checks import doctor_exit_code
from copartition.doctor.observing import SEVERITIES
from copartition.doctor.report import FORMAT_VERSION, doctor_document
from copartition.kit.json import dump
from copartition.kit.words import count

if TYPE_CHECKING:
    from rich.console import Console

    from copartition.doctor.observing import Examined, Finding
    from partitioning.errors import SourceError


class ExaminedGroup(NamedTuple):
    """Holds a group of the cluster with the findings of all checks.

    Attributes:
        name: the group's name in the cluster.
        examination: the group as it was seen.
        findings: one for each check of the group's kind, in the order of its table.
    """

    name: str
    examination: Examined
    findings: Sequence[Finding]

    @property
    def faults(self) -> list[Finding]:
        """The findings of faults, the most severe first; equally severe ones in the order of the checks."""
        found = (finding for finding in self.findings if finding.status == "found")
        return sorted(found, key=lambda finding: SEVERITIES.index(finding.check.severity))

    @property
    def unknown(self) -> int:
        """Number of checks whose answer is unknown."""
        return sum(finding.status == "unknown" for finding in self.findings)


def worst_first(groups: Sequence[ExaminedGroup]) -> list[ExaminedGroup]:
    """Return the groups sorted by the severity of their worst fault, then by number of faults, then by name.

    Unknown checks do not count.

    Args:
        groups: in any order.
    """

    def rank(group: ExaminedGroup) -> tuple[int, int, str]:
        faults = group.faults
        # `faults` begins with the worst one. A group without faults comes last.
        severity = SEVERITIES.index(faults[0].check.severity) if faults else len(SEVERITIES)
        return severity, -len(faults), group.name

    return sorted(groups, key=rank)


def overview_exit_code(groups: Sequence[ExaminedGroup], unread: Mapping[str, SourceError]) -> int:
    """Return 1 if a check of any group found something, else 2 if something vital is unknown, else 0.

    Args:
        groups: the groups that were read. If there are none, the code is 2: brokers leave out groups that a
            user may not DESCRIBE, without an error.
        unread: name of each group that could not be read -> the error. If there are any, the code is 2,
            unless a check found something.
    """
    # The codes are compared by their meaning: a fault (1) counts more than something unknown (2).
    codes = {doctor_exit_code(group.findings) for group in groups} | ({2} if unread else set())
    return 1 if 1 in codes else max(codes, default=2)


def overview_json(groups: Sequence[ExaminedGroup], unread: Mapping[str, SourceError]) -> str:
    """Return the JSON document: the report on each group, and why groups could not be read.

    Args:
        groups: the groups in the order of the report.
        unread: name of each group that could not be read -> the error.
    """
    document: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "kind": "doctor-groups",
        "groups": [doctor_document(group.examination, group.findings) for group in groups],
        "unread": [{"group": name, "why": str(error)} for name, error in unread.items()],
    }
    return dump(document)


def print_overview(
    groups: Sequence[ExaminedGroup], unread: Mapping[str, SourceError], console: Console
) -> None:
    """Print a row for each group, and below the table each group that was not read, with the reason.

    Args:
        groups: the groups in the order of the report.
        unread: name of each group that could not be read -> the error.
        console: where to print.
    """
    from copartition.kit.grid import Grid, GridColumn, cell, note  # noqa: PLC0415 - JSON does without rich

    ill = sum(bool(group.faults) for group in groups)
    head = count(len(groups) + len(unread), "group"), f"{ill} with findings", f"{len(unread)} not read"
    console.print(cell("   ".join(head), "bold"))
    titles = [
        GridColumn("GROUP", "name"),
        *(GridColumn(title, "word") for title in ("PROTOCOL", "STRATEGY", "STATE")),
        *(GridColumn(title) for title in ("MEMBERS", "FOUND", "UNKNOWN")),
        GridColumn("FINDINGS", "list"),
    ]
    # A cluster whose groups could not be read has no table, only the reasons.
    rows = [_row(group) for group in groups]
    if rows:
        console.print(Grid(titles, rows))
    for name, error in unread.items():
        console.print(note(f"{name}: {error}", "yellow"))
    if not groups and not unread:
        console.print(note("unknown: the cluster shows no group; this user may lack DESCRIBE on groups"))
    if ill:
        console.print(note("for one of them: copartition doctor GROUP, with the same options"))


def _row(group: ExaminedGroup) -> tuple[str, ...]:
    """Return the cells of a group's row; a fact that the source does not tell is "unknown"."""
    state = group.examination.state
    return (
        group.name,
        state.protocol or "unknown",
        state.strategy or "unknown",
        state.status or "unknown",
        str(len(state.members or ())),
        str(len(group.faults)),
        str(group.unknown),
        ", ".join(finding.check.name for finding in group.faults),
    )
