"""Report what is wrong with a group, as text, JSON, an HTML page, or in the text format of Prometheus.

All four are made from the same two values: the examination (what was seen) and its findings, one for each
check of the group's kind, in order. A finding without evidence is "unknown" in all of them; it is never left
out and never "ok".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from copartition.doctor.checks import doctor_exit_code
from copartition.kit.evidence import Missing
from copartition.kit.json import dump, ground_fields
from copartition.kit.words import count, list_names, without_ids

if TYPE_CHECKING:
    from rich.console import Console

    from copartition.doctor.observing import Examined, Finding

FORMAT_VERSION = "1.0"
"""Version of the JSON document: a minor version adds fields and renames none."""

MOST_MEMBERS = 100
"""The most members that the page lists: those with the most partitions. The others are only counted."""

_STYLES = {"ok": "green", "found": "yellow", "unknown": "dim"}
"""Style of a check's row on a terminal, by `Finding.status`."""


def doctor_json(examination: Examined, results: Sequence[Finding]) -> str:
    """Return the JSON document: the group, a row for each check, and the lag of each partition.

    Args:
        examination: the group as it was seen.
        results: the findings of all checks, in the order of the table; "why" and "next" of a check that is
            "ok" are its usual advice.

    Returns:
        JSON text with a newline at its end. `lag` maps TOPIC-PARTITION to records (negative if the commit is
        beyond the end); it is null if the source tells no lag. `elapsed_ms` is null if the source has only
        one look, such as a file of a consumer group.
    """
    return dump(doctor_document(examination, results))


def doctor_document(examination: Examined, results: Sequence[Finding]) -> dict[str, Any]:
    """Return the document that `doctor_json` writes.

    Args:
        examination: the group as it was seen.
        results: the findings of all checks, in the order of the table.

    Returns:
        Values that JSON has. Keys of `lag` are sorted by topic, then by partition number.
    """
    # Rows that are "ok" or "unknown" have the usual advice, so that every row has the same fields.
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
    return {
        "format_version": FORMAT_VERSION,
        "kind": "doctor",
        "group": examination.state.name,
        "state": examination.state.status,
        "protocol": examination.state.protocol,
        "strategy": examination.state.strategy,
        "elapsed_ms": round(examination.elapsed_ms) if examination.first else None,
        "checks": rows,
        # null means that the source tells no lags at all; {} means that no partition has a known lag.
        "lag": None
        if lags is None
        else {f"{topic}-{number}": lags[topic, number] for topic, number in sorted(lags)},
        "warnings": list(examination.state.warnings),
        "assumed": list(examination.state.assumed),
    }


def print_doctor(examination: Examined, results: Sequence[Finding], console: Console) -> None:
    """Print every check, then why each finding matters and what to do, then how to learn what is unknown.

    Args:
        examination: the group as it was seen; its warnings and assumptions are printed too.
        results: the findings of all checks, in the order of the table.
        console: where to print.
    """
    from copartition.kit.grid import cell, note, table  # noqa: PLC0415 - JSON does without rich

    bad = [finding for finding in results if finding.status == "found"]
    unknown = sum(finding.status == "unknown" for finding in results)
    head = examination.state.name or "group", count(len(bad), "finding"), f"{unknown} unknown"
    console.print(cell("   ".join(head), "bold"))
    listing = table(["CHECK", "RESULT", "SEEN", "READ FROM"])
    # Output to a pipe has no width. Without these bounds, one long cell would move the last column far to the
    # right.
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
    for remedy, names in ways_to_know(results).items():
        console.print(note(f"to know {list_names(names)}: {remedy}"))
    for text in examination.state.warnings:
        console.print(note(text, "yellow"))
    for text in doctor_assumptions(examination, results):
        console.print(note(f"assumed: {text}"))


def ways_to_know(results: Sequence[Finding]) -> dict[str, list[str]]:
    """Return the ways to learn what is unknown: remedy -> names of the checks that the remedy would answer.

    Remedies and names are in the order of `results`. A remedy for several checks is in the result once.
    """
    ways: dict[str, list[str]] = {}
    for finding in results:
        if isinstance(finding.ground, Missing):
            ways.setdefault(finding.ground.remedy, []).append(finding.check.name)
    return ways


def doctor_assumptions(examination: Examined, results: Sequence[Finding]) -> list[str]:
    """Return the assumptions as sentences, each once: first those of the source, then those of checks.

    An assumption of checks ends with their names in brackets, so that readers see which answers depend on it.
    """
    own: dict[str, list[str]] = {}
    for finding in results:
        for text in () if isinstance(finding.ground, Missing) else finding.ground.assumed:
            own.setdefault(text, []).append(finding.check.name)
    return [*examination.state.assumed, *(f"{text} ({', '.join(names)})" for text, names in own.items())]


def doctor_html(examination: Examined, results: Sequence[Finding]) -> str:
    """Return an HTML page: what is wrong and what to do, the load of the members, and every check.

    Args:
        examination: the group as it was seen.
        results: the findings of all checks, in the order of the table.

    Returns:
        The text of one file that loads nothing from a network. It lists at most `MOST_MEMBERS` members, those
        with the most partitions first. The number of records that wait for a member is "unknown" if the lag
        of any of its partitions is unknown.

    Raises:
        MissingDependencyError: the extra "report" is not installed.
    """
    from copartition.kit.page import render  # noqa: PLC0415 - the others do without

    rows = examination.rows
    names = without_ids({name: name for name, _, _ in rows})
    # Sorted by partitions, then by records that wait, then by name, so that equal facts make equal pages.
    heaviest = sorted(rows, key=lambda row: (-row[1], -(row[2] or 0), row[0]))
    shown = heaviest[:MOST_MEMBERS]
    return render(
        "doctor/page.html.j2",
        group=examination,
        results=results,
        rows=[(names[name], load, waiting) for name, load, waiting in shown],
        members=len(rows),
        remedies=ways_to_know(results),
        assumed=doctor_assumptions(examination, results),
        code=doctor_exit_code(results),
    )


def doctor_metrics(groups: Sequence[tuple[Examined, Sequence[Finding]]], unread: Collection[str] = ()) -> str:
    """Return the checks and the lag of groups in the text format that Prometheus scrapes (version 0.0.4).

    Args:
        groups: each group as it was seen, with the findings of all checks in the order of the table; the
            label `group` is empty if the source has no name.
        unread: names of groups that could not be read.

    Returns:
        Three gauges, and a fourth one, `unread`, if groups could not be read; it is 1 for each of them.
        `found` is 1 or 0. It has no sample for a check that is unknown, because a 0 would mean "healthy".
        `unknown` is 1 or 0 for every check. `lag` has a sample for each partition whose lag is known, in
        records.
    """
    statuses = [
        ({"group": examination.state.name or "", "check": finding.check.name}, finding.status)
        for examination, results in groups
        for finding in results
    ]
    decided = [(labels, int(status == "found")) for labels, status in statuses if status != "unknown"]
    unknown = [(labels, int(status == "unknown")) for labels, status in statuses]
    lags = [
        ({"group": examination.state.name or "", "topic": topic, "partition": str(number)}, lag)
        for examination, _ in groups
        for (topic, number), lag in sorted((examination.lags or {}).items())
    ]
    # A group that cannot be read any more has no other samples. Without this sample it would look healthy.
    missing = [({"group": name}, 1) for name in unread]
    return (
        _gauge("found", "1 where the check found something, 0 where not; none if unknown.", decided)
        + _gauge("unknown", "1 where the source does not tell what the check needs.", unknown)
        + _gauge("lag", "Records between the committed offset and the end.", lags)
        + (_gauge("unread", "1 for a group that could not be read.", missing) if missing else "")
    )


# In a label's value the format needs a backslash before a backslash, a quote and a newline. Names of groups
# may contain any of these; without the escapes a scraper would misread the whole text.
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def _gauge(name: str, text: str, samples: Sequence[tuple[Mapping[str, str], int]]) -> str:
    """Return the lines of one gauge: its help, its type, and one line for each sample.

    Args:
        name: the rest of the gauge's name, after `copartition_doctor_`.
        text: its help, on one line.
        samples: the samples, each as (label name -> value, value of the sample).
    """
    full = f"copartition_doctor_{name}"
    lines = [f"# HELP {full} {text}", f"# TYPE {full} gauge"]
    for labels, value in samples:
        inside = ",".join(f'{key}="{label.translate(_ESCAPES)}"' for key, label in labels.items())
        lines.append(f"{full}{{{inside}}} {value}")
    return "\n".join(lines) + "\n"
