"""What is wrong with a group: text, JSON, a page, and the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from copartition.doctor.examination import exit_code
from copartition.kit.evidence import Missing
from copartition.kit.json import dump, ground_fields
from copartition.kit.words import count, list_names, without_ids

if TYPE_CHECKING:
    from rich.console import Console

    from copartition.doctor.examination import Examination, Finding

FORMAT_VERSION = "1.0"
MOST_MEMBERS = 100
"""Of a page; those with most partitions."""
_STYLES = {"ok": "green", "found": "yellow", "unknown": "dim"}


def doctor_json(examination: Examination, results: Sequence[Finding]) -> str:
    """Return all checks, for programs."""
    rows = [
        {
            "check": finding.check.name,
            "status": finding.status,
            "severity": finding.check.severity if finding.status == "found" else None,
            "seen": finding.text,
            **ground_fields(finding.ground),
            "why": finding.advice.why,
            "next": finding.advice.action,
        }
        for finding in results
    ]
    lags = examination.lags
    return dump(
        {
            "format_version": FORMAT_VERSION,
            "kind": "doctor",
            "group": examination.state.name,
            "state": examination.state.status,
            "protocol": examination.state.protocol,
            "strategy": examination.state.strategy,
            "elapsed_ms": round(examination.elapsed_ms) if examination.first else None,
            "checks": rows,
            "lag": None
            if lags is None
            else {f"{topic}-{number}": lags[topic, number] for topic, number in sorted(lags)},
            "warnings": list(examination.state.warnings),
            "assumed": list(examination.state.assumed),
        }
    )


def print_doctor(examination: Examination, results: Sequence[Finding], console: Console) -> None:
    """Every check, then for each finding why it matters and what to do."""
    from copartition.kit.grid import cell, note, table  # noqa: PLC0415 - JSON does without rich

    bad = [finding for finding in results if finding.status == "found"]
    unknown = sum(finding.status == "unknown" for finding in results)
    head = examination.state.name or "group", count(len(bad), "finding"), f"{unknown} unknown"
    console.print(cell("   ".join(head), "bold"))
    listing = table(["CHECK", "RESULT", "SEEN", "READ FROM"])
    # Without a bound one long cell would push the last column out of sight in a pipe, which has no width.
    listing.columns[2].max_width, listing.columns[3].max_width = 60, 40
    for finding in results:
        word = finding.check.severity if finding.status == "found" else finding.status
        seen = () if isinstance(finding.ground, Missing) else finding.ground.sources
        row = finding.check.name, word, finding.text, "; ".join(seen)
        listing.add_row(*map(cell, row, ("", _STYLES[finding.status], "", "dim")))
    console.print(listing)
    for finding in bad:
        console.print()
        console.print(note(f"{finding.check.name}: {finding.text}", "yellow"))
        console.print(note(f"why: {finding.advice.why}"))
        console.print(note(f"next: {finding.advice.action}"))
    if unknown:
        console.print()
    for remedy, names in remedies(results).items():
        console.print(note(f"to know {list_names(names)}: {remedy}"))
    for text in examination.state.warnings:
        console.print(note(text, "yellow"))
    for text in assumptions(examination, results):
        console.print(note(f"assumed: {text}"))


def remedies(results: Sequence[Finding]) -> dict[str, list[str]]:
    """Return the ways to what is unknown, each with the names of the checks that it serves."""
    ways: dict[str, list[str]] = {}
    for finding in results:
        if isinstance(finding.ground, Missing):
            ways.setdefault(finding.ground.remedy, []).append(finding.check.name)
    return ways


def assumptions(examination: Examination, results: Sequence[Finding]) -> list[str]:
    """Return what the source and the checks take for granted, each once: of checks with their names."""
    own: dict[str, list[str]] = {}
    for finding in results:
        for text in () if isinstance(finding.ground, Missing) else finding.ground.assumed:
            own.setdefault(text, []).append(finding.check.name)
    return [*examination.state.assumed, *(f"{text} ({', '.join(names)})" for text, names in own.items())]


def doctor_html(examination: Examination, results: Sequence[Finding]) -> str:
    """Return a page: what is wrong and what to do, the load of the members, every check."""
    from copartition.kit.page import render  # noqa: PLC0415 - the others do without

    members = examination.state.members
    ends = examination.last.ends if examination.last is not None else {}
    # An empty partition has no lag; elsewhere one without a commit may have any.
    lags = {place: 0 for place, end in ends.items() if not end} | (examination.lags or {})
    waiting: list[int | None] = [0] * len(members)
    for place, member in examination.owners.items():
        if member >= 0 and (behind := waiting[member]) is not None:
            waiting[member] = behind + max(lags[place], 0) if place in lags else None
    names = without_ids(
        {member.id: member.instance_id or member.client_id or member.id for member in members}
    )
    rows = zip((names[member.id] for member in members), examination.loads, waiting, strict=True)
    heaviest = sorted(rows, key=lambda row: (-row[1], -(row[2] or 0), row[0]))
    shown = heaviest[:MOST_MEMBERS]
    return render(
        "doctor/page.html.j2",
        group=examination,
        results=results,
        rows=shown,
        members=len(members),
        remedies=remedies(results),
        assumed=assumptions(examination, results),
        code=exit_code(results),
    )


def doctor_metrics(examination: Examination, results: Sequence[Finding]) -> str:
    """Return the checks and the lag in the text format that Prometheus scrapes (version 0.0.4)."""
    group = {"group": examination.state.name or ""}
    statuses = [({**group, "check": finding.check.name}, finding.status) for finding in results]
    decided = [(labels, int(status == "found")) for labels, status in statuses if status != "unknown"]
    unknown = [(labels, int(status == "unknown")) for labels, status in statuses]
    lags = [
        ({**group, "topic": topic, "partition": str(number)}, lag)
        for (topic, number), lag in sorted((examination.lags or {}).items())
    ]
    return (
        _gauge("found", "1 where the check found something, 0 where not; none if unknown.", decided)
        + _gauge("unknown", "1 where the source does not tell what the check needs.", unknown)
        + _gauge("lag", "Records between the committed offset and the end.", lags)
    )


_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def _gauge(name: str, text: str, samples: Sequence[tuple[Mapping[str, str], int]]) -> str:
    full = f"copartition_doctor_{name}"
    lines = [f"# HELP {full} {text}", f"# TYPE {full} gauge"]
    for labels, value in samples:
        inside = ",".join(f'{key}="{label.translate(_ESCAPES)}"' for key, label in labels.items())
        lines.append(f"{full}{{{inside}}} {value}")
    return "\n".join(lines) + "\n"
