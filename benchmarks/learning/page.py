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
    from collections.abc import Iterable, Sequence

    from benchmarks.learning.judging import Verdict

HERE = Path(__file__).parent
MEASURED = HERE / "measured.json"
RECORDS = HERE / "records"
PAGE = HERE.parent / "learning.md"

NAMES = Figures("partition-seconds", "longest pause", "peak lag")  # type: ignore[arg-type]

CAUSES = {
    "librdkafka-eager-0-400": (
        "its members take the time for batches, and their callback takes none. The learned time is right for "
        "the callback; that batches take 400 ms is not in a record (`--set poll_ms=400`)."
    ),
}
"""Kind -> why a figure of its row is outside, in the order of the page."""

HEAD = """\
# Costs that a record teaches

`python -m benchmarks.learning` runs {cells} cells on a real broker (Kafka 4.4.0): groups whose members take
long to give up partitions, or to work on a batch, while each partition gets 10 records a second. Half of
them teach: `copartition watch --record` looks at a group every {looks} while its members are restarted one
after the other ({teaches}), and `simulate RECORD --deploy ...` [learns `revoke_ms` from
that](../docs/scenarios.md#from-a-captured-group). The other half judge: another group of the same kind, of
another size or deployed another way.

A prediction knows when each process was told to start and to close, its client, the settings, and what
the record taught. A request takes {network_ms:g} ms, and the first record comes {first_fetch_ms:g} ms
after the assign callback, as on [the page of rebalances](rebalances.md). The median of {draws} draws
counts. *Peak lag* is the most records that waited at one time, beyond what waits in the 5 s before the
deploy.

Nothing else ran on the machine's two cores; two groups were run at a time, at a load of {least_load:g} to
{most_load:g}. The judging groups are the second set of this kind. The first set showed what the simulator
lacked, [what callbacks and batches stop besides the partitions that move](rebalances/facts.md), and these
groups were run after that had been added. Two of librdkafka's (1000 + 0 and 800 + 50) were run once more
afterwards: beside them the JVMs of the next groups had started, and for 8 s their consumers got half of the
records. The records that teach were made with the first set.

A figure is near if it is within {near:.0%} of the measured one. **Of rows that learned something, both
figures of pauses are near in {pauses_learned} of {learned}, and the peak lag in {lags_learned}**; of all
{rows} rows, pauses in {pauses} and the lag in {lags}. If no cost is known, pauses are near in
{pauses_blank} of {rows} rows, and the lag in {lags_blank} of {rows}. Of the rows that learned
something, {all_learned} have all three figures near.

| group | the deploy that judges | revoke + batch | learned | partition-s | predicted | longest | predicted \
| peak lag | predicted | outside |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|
"""

RANGES = """
"Revoke + batch" is what an application took: its callback, and each batch, in ms. A record shows only their
sum, and of a batch only the rest when a rebalance comes. Groups of KIP-848 teach nothing, since the next
heartbeat hides a revoke; their rows are predicted with the costs as they are, and say "not learned".

## What the command says

It does not know when in a heartbeat interval a deploy begins, so it gives a range: `simulate GROUP
--deploy rolling` with `revoke_ms` as learned, in partition-seconds, the least and the most of 30 runs. Of
{asked} rolls **what was measured is inside in {inside}, and inside or within {near:.0%} of the nearer end in
{nearly}**. Surges are not asked, since one of the command starts the next member as soon as the one before
has closed.

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
    runs = {run["kind"]: run for run in read_runs(MEASURED, "runs")}
    return [
        judge(KINDS[name], run, RECORDS / f"{name}.ndjson")
        for name in KINDS
        if (run := runs.get(name)) is not None
    ]


def page(found: Sequence[Verdict]) -> str:
    """Return the page of all rows."""
    outside = [misses(row.measured, row.predicted) for row in found]
    blank = [misses(row.measured, row.blank) for row in found]
    learned = [names for row, names in zip(found, outside, strict=True) if row.learned is not None]
    asked = [row for row in found if row.asked is not None]
    loads = [run["load"] for run in read_runs(MEASURED, "runs")]
    parts = [
        HEAD.format(
            cells=2 * len(found),
            looks=LOOKS,
            teaches=TEACHES.words,
            network_ms=COSTS.network_ms,
            first_fetch_ms=COSTS.first_fetch_ms,
            draws=DRAWS,
            least_load=min(loads),
            most_load=max(loads),
            near=NEAR,
            rows=len(found),
            learned=len(learned),
            pauses_learned=_near_pauses(learned),
            lags_learned=_near_lags(learned),
            all_learned=sum(not names for names in learned),
            pauses=_near_pauses(outside),
            lags=_near_lags(outside),
            pauses_blank=_near_pauses(blank),
            lags_blank=_near_lags(blank),
        ),
        *(_row(row, names) for row, names in zip(found, outside, strict=True)),
        RANGES.format(
            near=NEAR,
            asked=len(asked),
            inside=sum(row.holds() for row in asked),
            nearly=sum(row.holds(NEAR) for row in asked),
        ),
    ]
    for row in asked:
        held = "yes" if row.holds() else "near" if row.holds(NEAR) else "no"
        parts.append(
            f"| {_group(row)} | {row.kind.deploy('judges').words} | {_words(row.asked)} "
            f"| {row.measured.partition_seconds:.1f} | {held} |\n"
        )
    parts.append(LEARNED)
    parts += [f"| {_group(row)} | {row.said} |\n" for row in found]
    causes = [f"- {_group(row)}: {CAUSES[row.kind.name]}\n" for row in found if row.kind.name in CAUSES]
    return "".join([*parts, *(["\n## Why figures are outside\n\n"] if causes else []), *causes])


def _near_pauses(outside: Iterable[Sequence[str]]) -> int:
    """How many rows have both figures of pauses near, by the names of those that are not."""
    return sum({*names} <= {"peak_lag"} for names in outside)


def _near_lags(outside: Iterable[Sequence[str]]) -> int:
    """How many rows have the peak lag near, by the names of the figures that are not."""
    return sum("peak_lag" not in names for names in outside)


def _group(row: Verdict) -> str:
    return f"{row.kind.client.name}, {row.kind.protocol}"


def _words(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f"{ends[0]:.1f} to {ends[1]:.1f}"


def _row(row: Verdict, outside: Sequence[str]) -> str:
    learned = "not learned" if row.learned is None else f"{row.learned:.0f} ms"
    digits = Figures(".1f", ".2f", ".0f")  # type: ignore[arg-type]
    figures = " | ".join(
        f"{was:{form}} | {said:{form}}"  # type: ignore[str-format]
        for was, said, form in zip(row.measured, row.predicted, digits, strict=True)
    )
    names = ", ".join(getattr(NAMES, name) for name in outside)
    return (
        f"| {_group(row)} | {row.kind.deploy('judges').words} | {row.kind.revoke_ms} + {row.kind.batch_ms} "
        f"| {learned} | {figures} | {names} |\n"
    )
