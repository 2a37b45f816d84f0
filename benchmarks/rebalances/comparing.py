"""What was measured against what the simulator says, cell by cell."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from benchmarks.rebalances.besides import read_saved, section
from benchmarks.rebalances.predicting import (
    COSTS,
    DRAWS,
    Outcome,
    measured_figures,
    medians,
    predicted_figures,
)
from benchmarks.rebalances.scenarios import SCENARIOS, protocols

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.rebalances.predicting import Run

NEAR = 0.2
"""How far a prediction may be from the measurement, as a share of it."""
QUARTER = {"eager": 0.75, "cooperative": 0.75, "kip848": 1.25}
"""A quarter of a heartbeat, in seconds: a prediction may be that far away, too."""

CAUSES = {
    ("kill and back", "kip848"): (
        "which member gets a partition of the dead one depends on ids that clients draw. In runs 3 to 5 one "
        "went to a member whose next heartbeat came 9.3 to 12.7 s after the kill; most draws give it to "
        "others. The machine was busy besides: heartbeats were answered after up to 2.5 s."
    ),
    ("rolling dynamic", "cooperative"): (
        "runs 2 to 5 are predicted within 2 %. In run 1 heartbeats that had been in step at 12 s were 0.15 s "
        "apart at 17 s and 0.3 s at 20 s, with requests that took up to 40 ms, so that from the third "
        "restart on each consumer was back before the last of the others had heard that it left: one "
        "rebalance instead of two and a follow-up. The prediction has that only later in the roll."
    ),
    ("kafka-python rolling", "cooperative"): (
        "consumers of kafka-python join once more by themselves after some assignments, which the simulator "
        "does not do: one round more in two of three runs, and partitions that waited for two in a row."
    ),
}
"""Why cells miss."""

PAGE = """\
# Rebalances: measured and predicted

`python -m benchmarks.rebalances --compare` writes this page: what `measured.json` shows, against what
`simulate` says of the same runs. `rebalances/README.md` says how they were measured.

A prediction knows when each process first spoke to the coordinator, what was done to it and when, and the
settings; the rest is the simulator's: phases of heartbeats, commits and metadata refreshes, who leads, who
gets what. Only where heartbeats have hours of drift ("join long after") are their phases the measured ones.

Costs are the same for all: a request {network_ms} ms, from the assign callback to the first record
{first_fetch_ms} ms, which is the mean of these runs; a call of kafka-python's `poll` 100 ms, as the
consumers ask for. kafka-python reads nothing from a JoinGroup to the answer of its SyncGroup, in the
measurements as in the predictions. The ids that consumers draw for themselves (KIP-848) are
unknown and decide who gets what, so the median of {draws} draws counts.

The simulator's timers of librdkafka (`rebalances/facts.md`, last section) were learnt from runs of the
scenarios down to "slow poll". "growth", runs 4 and 5 of "rolling dynamic" and all further scenarios were
measured afterwards ("kill and back" on a broker of 4.4.0, all others on 4.3.1); what kafka-python does was
learnt from earlier runs of its scenarios, and what aiokafka does from its code, but for how late its
heartbeats are (1 ms), which is from these runs.

A cell is within the limits if the median of its runs' predictions is within 20 % of the median measured, or
within a quarter of a heartbeat ({classic} s, KIP-848 {consumer} s), for partition-seconds as for the longest
outage of a partition, and the median rounds are equal. **{within} of {cells} cells are.** In {equal} of
{runs} runs the rounds are those predicted.

{ordered} of {pairs} pairs of protocols are predicted in the right order where each run of the one had fewer
partition-seconds than any of the other; {ordered_medians} of {all_pairs} by the medians of all pairs.

| scenario | protocol | runs | partition-s | predicted | longest | predicted | rounds | predicted | misses |
|---|---|--:|--:|--:|--:|--:|--:|--:|---|
{rows}

A partition counts as read from its first record on, and records come every 100 ms, so that measured outages
are up to that much longer.

## Cells that miss

{misses}

{besides}"""


@dataclass(frozen=True, slots=True)
class Cell:
    """A scenario under a protocol.

    Attributes:
        scenario: which one.
        protocol: likewise.
        measured: what each run showed.
        predicted: what the simulator says of each.
    """

    scenario: str
    protocol: str
    measured: Sequence[Outcome]
    predicted: Sequence[Outcome]

    @property
    def misses(self) -> list[str]:
        """The figures of which the medians are too far apart; rounds must be equal."""
        said, was = medians(self.predicted), medians(self.measured)
        limits = Outcome(
            max(NEAR * was.partition_seconds, QUARTER[self.protocol]),
            max(NEAR * was.longest, QUARTER[self.protocol]),
            0,
        )
        return [
            name
            for name, one, other, limit in zip(Outcome._fields, said, was, limits, strict=True)
            if abs(one - other) > limit
        ]


def compare(runs: Iterable[Run]) -> list[Cell]:
    """The cells of these runs."""
    of: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        of.setdefault((run["scenario"], run["protocol"]), []).append(run)
    return [
        Cell(*name, [*map(measured_figures, of[name])], [*map(predicted_figures, of[name])])
        for name in ((scenario, protocol) for scenario in SCENARIOS for protocol in protocols(scenario))
        if name in of
    ]


def orders(cells: Sequence[Cell], *, distinct: bool = True) -> dict[tuple[str, str, str], bool]:
    """Of a scenario and two protocols, the better one first, whether the prediction says so too.

    Args:
        cells: all of them.
        distinct: whether only those count where each run of the better one has fewer partition-seconds than
            any of the other's; else the medians decide.
    """
    found = {}
    for pair in combinations(cells, 2):
        better, worse = sorted(pair, key=lambda cell: medians(cell.measured))
        apart = max(better.measured).partition_seconds < min(worse.measured).partition_seconds
        if better.scenario == worse.scenario and (apart or not distinct):
            said = medians(better.predicted) < medians(worse.predicted)
            found[better.scenario, better.protocol, worse.protocol] = said
    return found


def page(cells: Sequence[Cell]) -> str:
    """All of it for people to read."""
    of_runs = [pair for cell in cells for pair in zip(cell.measured, cell.predicted, strict=True)]
    order, by_medians = orders(cells).values(), orders(cells, distinct=False).values()
    return PAGE.format(
        network_ms=COSTS.network_ms,
        first_fetch_ms=COSTS.first_fetch_ms,
        draws=DRAWS,
        classic=QUARTER["eager"],
        consumer=QUARTER["kip848"],
        within=sum(not cell.misses for cell in cells),
        cells=len(cells),
        equal=sum(one.rounds == other.rounds for one, other in of_runs),
        runs=len(of_runs),
        pairs=len(order),
        ordered=sum(order),
        all_pairs=len(by_medians),
        ordered_medians=sum(by_medians),
        rows="\n".join(map(_row, cells)),
        misses="\n".join(
            f"- {cell.scenario}, {cell.protocol}: {CAUSES[cell.scenario, cell.protocol]}"
            for cell in cells
            if cell.misses
        ),
        besides=section(read_saved()),
    )


def _row(cell: Cell) -> str:
    was, said = medians(cell.measured), medians(cell.predicted)
    figures = [
        str(len(cell.measured)),
        f"{was.partition_seconds:.1f} | {said.partition_seconds:.1f}",
        f"{was.longest:.2f} | {said.longest:.2f}",
        f"{was.rounds:g} | {said.rounds:g}",
    ]
    verdict = ", ".join(name.replace("_", "-") for name in cell.misses)
    return f"| {cell.scenario} | {cell.protocol} | {' | '.join(figures)} | {verdict} |"
