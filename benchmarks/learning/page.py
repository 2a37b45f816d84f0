"""The page of what was learned and what became of it: a row for each group that judges, none left out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.learning.cells import KINDS, TEACHES
from benchmarks.learning.judging import DRAWS, NEAR, Figures, judge, misses
from benchmarks.learning.running import LOOKS
from benchmarks.measured import read_runs
from benchmarks.rebalances.predicting import COSTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.learning.judging import Verdict

HERE = Path(__file__).parent
MEASURED = HERE / "measured.json"
RECORDS = HERE / "records"
PAGE = HERE.parent / "learning.md"

NAMES = Figures("partition-seconds", "longest pause", "peak lag", "record-seconds")  # type: ignore[arg-type]

CAUSES: dict[str, str] = {}
"""Kind -> why a figure of its row is outside, in the order of the page."""

HEAD = """\
# Costs that a record teaches

`python -m benchmarks.learning` runs {cells} cells on a real broker (Kafka 4.4.0): groups whose members take
long to give up partitions, or to work on a batch, while each partition gets 10 records a second. Half of
them teach: `copartition watch --record` looks at a group every {looks} while its members are restarted one
after the other ({teaches}), and `simulate RECORD --deploy ...` [learns `revoke_ms` from
that](../docs/scenarios.md#from-a-captured-group). The other half judge: another group of the same kind, of
another size or deployed another way.

A prediction knows when each process was told to start and to close, the settings, and what the record
taught. A request takes {network_ms:g} ms, and the first record comes {first_fetch_ms:g} ms after the assign
callback, as on [the page of rebalances](rebalances.md). The median of {draws} draws counts. *Lag* is what
waits beyond what a group has before its deploy: at its peak, and as record-seconds, for how long records
waited, summed over records.

A figure is near if it is within {near:.0%} of the measured one. **All four figures are near in {near_rows}
of {rows} rows**, the two of pauses in {near_pauses}, the two of lag in {near_lags}; in rows that learned
something, all four in {near_learned} of {learned}. Of {figures} figures {near_figures} are near; if no cost
is known, {near_blank}.

| group | the deploy that judges | revoke + batch | learned | partition-s | predicted | longest | predicted \
| peak lag | predicted | record-s | predicted | outside |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|
"""

RANGES = """
"Revoke + batch" is what an application took: its callback, and each batch, in ms. A record shows only their
sum, and of a batch only the rest when a rebalance comes. Groups of KIP-848 teach nothing, since the next
heartbeat hides a revoke; their rows are predicted with the costs as they are, and say "not learned".

## What the command says

It does not know when in a heartbeat interval a deploy begins, so it gives a range: `simulate GROUP
--deploy` with `revoke_ms` as learned, in partition-seconds, the least and the most of 30 runs. **What was
measured is inside in {inside} of {rows} rows.**

| group | the deploy that judges | the command | measured | inside |
|---|---|--:|--:|---|
"""

LEARNED = """
## What each record taught

| group | sentence of the command |
|---|---|
"""


def verdicts() -> list[Verdict]:
    """Return what came of each kind whose two cells were run, in their order."""
    runs = {run["kind"]: run for run in read_runs(MEASURED, "runs") if run["role"] == "judges"}
    return [
        judge(KINDS[name], run, RECORDS / f"{name}.ndjson")
        for name in KINDS
        if (run := runs.get(name)) is not None
    ]


def page(found: Sequence[Verdict]) -> str:
    """Return the page of all rows."""
    outside = [misses(row.measured, row.predicted) for row in found]
    parts = [
        HEAD.format(
            cells=2 * len(found),
            looks=LOOKS,
            teaches=TEACHES.words,
            network_ms=COSTS.network_ms,
            first_fetch_ms=COSTS.first_fetch_ms,
            draws=DRAWS,
            near=NEAR,
            near_rows=sum(not names for names in outside),
            rows=len(found),
            near_pauses=sum(not {*names} & {*Figures._fields[:2]} for names in outside),
            near_lags=sum(not {*names} & {*Figures._fields[2:]} for names in outside),
            near_learned=sum(
                not names for row, names in zip(found, outside, strict=True) if row.learned is not None
            ),
            learned=sum(row.learned is not None for row in found),
            figures=len(NAMES) * len(found),
            near_figures=len(NAMES) * len(found) - sum(map(len, outside)),
            near_blank=sum(len(NAMES) - len(misses(row.measured, row.blank)) for row in found),
        ),
        *(_row(row, names) for row, names in zip(found, outside, strict=True)),
        RANGES.format(inside=sum(row.holds for row in found), rows=len(found)),
    ]
    for row in found:
        held = "yes" if row.holds else "no"
        parts.append(
            f"| {_group(row)} | {row.kind.deploy('judges').words} | {row.least:.1f} to {row.most:.1f} "
            f"| {row.measured.partition_seconds:.1f} | {held} |\n"
        )
    parts.append(LEARNED)
    parts += [f"| {_group(row)} | {row.said} |\n" for row in found]
    causes = [f"- {_group(row)}: {CAUSES[row.kind.name]}\n" for row in found if row.kind.name in CAUSES]
    return "".join([*parts, *(["\n## Why figures are outside\n\n"] if causes else []), *causes])


def _group(row: Verdict) -> str:
    return f"{row.kind.client.name}, {row.kind.protocol}"


def _row(row: Verdict, outside: Sequence[str]) -> str:
    learned = "not learned" if row.learned is None else f"{row.learned:.0f} ms"
    digits = Figures(".1f", ".2f", ".0f", ".0f")  # type: ignore[arg-type]
    figures = " | ".join(
        f"{was:{form}} | {said:{form}}"  # type: ignore[str-format]
        for was, said, form in zip(row.measured, row.predicted, digits, strict=True)
    )
    names = ", ".join(getattr(NAMES, name) for name in outside)
    return (
        f"| {_group(row)} | {row.kind.deploy('judges').words} | {row.kind.revoke_ms} + {row.kind.batch_ms} "
        f"| {learned} | {figures} | {names} |\n"
    )
