"""Sum up a run in figures, and many runs in percentiles of these figures."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import partial

import numpy as np
from numpy.typing import NDArray

from copartition.kit.words import count
from copartition.simulation.group.leader import subscription
from copartition.simulation.group.world import World
from copartition.simulation.growth import CURE, skipped_records
from copartition.simulation.inputs.scenario import Scenario
from copartition.simulation.ledger import Ledger
from copartition.simulation.outcome.result import (
    Outage,
    RunSummary,
    SimulationResult,
    check_figures,
    grows,
    percentile,
)
from copartition.simulation.outcome.timeline import PHASE_NAMES, Phase
from copartition.simulation.partition_states import KINDS
from copartition.simulation.records.flow import RecordsResult


def sum_up(world: World, unmet: Iterable[str]) -> SimulationResult:
    """Return the result of a world at its end; its ledger must have been brought up to that time.

    `unmet` has the events whose condition never held, in words.
    """
    now_ms, scenario, ledger = world.now_ms, world.scenario, world.ledger
    forsaken = scenario.until_ms is None and _is_forsaken(world)
    double_read_ms = ledger.finish(now_ms)
    records = ledger.flow.result(now_ms) if ledger.flow is not None else None
    # Turn one long column into shape (causes, phases), without the room that was made for more causes.
    spent = ledger.now.spent.reshape(-1, KINDS)[: len(ledger.causes)]
    by_phase = spent.sum(axis=0)
    rebalances = world.history.rebalances
    summary = RunSummary(
        seed=scenario.seed,
        duration_ms=float(now_ms),
        rebalances=len(rebalances),
        rebalancing_ms=float(sum(rebalance.completed_ms - rebalance.started_ms for rebalance in rebalances)),
        member_pause_ms=float(world.member_pause_ms),
        partition_seconds=float(by_phase.sum()) / 1_000,
        longest_pause_ms=math.inf if forsaken else ledger.now.longest_ms,
        **_by_name(by_phase),
        moved_partitions=sum(rebalance.moved for rebalance in rebalances),
        unassigned_partitions=ledger.now.unread,
        double_read_ms=double_read_ms,
        peak_lag=None if records is None else float(records.lag.max(initial=0)),
        recovery_ms=None if records is None else float(records.recovery_ms.max(initial=0)),
        duplicates=None if records is None else float(records.duplicates.sum()),
        lost=None if records is None else float(records.lost.sum()),
    )
    outages = tuple(
        Outage(cause, touched, **_by_name(parts), catch_up_ms=caught_up)
        for cause, touched, parts, caught_up in zip(
            ledger.causes,
            ledger.now.touched.tolist(),
            spent.tolist(),
            _catch_up(ledger, records),
            strict=False,
        )
        if sum(parts) > 0
    )
    names = tuple(consumer.name for consumer in world.consumers)
    return SimulationResult(
        scenario,
        world.history.start,
        tuple(rebalances),
        partial(ledger.timeline, names, now_ms),
        summary,
        outages,
        records,
        tuple(world.log),
        tuple(unmet),
    )


def _by_name(spent: Sequence[float] | NDArray[np.float64]) -> dict[str, float]:
    """Return milliseconds by phase as the fields of a summary or an outage."""
    return {f"{name}_ms": float(spent[phase]) for phase, name in PHASE_NAMES.items()}


def _catch_up(ledger: Ledger, records: RecordsResult | None) -> list[float] | list[None]:
    """Return the milliseconds for which partitions were further behind than before their outage, by cause.

    Each stretch counts for the cause of its partition's last pause. Without a load the result is None for
    each cause.
    """
    if records is None:
        return [None] * len(ledger.causes)
    partition, start, end = records.catch_ups.partition, records.catch_ups.start, records.catch_ups.end
    if len(partition) == 0:
        return [0.0] * len(ledger.causes)
    causes = ledger.now.causes_of(partition, start)
    return np.bincount(causes, end - start, len(ledger.causes)).tolist()  # type: ignore[no-any-return]


def _is_forsaken(world: World) -> bool:
    """Return whether a partition that a consumer of the run subscribes to is not read and never will be."""
    partitions, states = world.partitions, world.ledger.now
    if not states.unread:
        return False
    wanted = {
        name for consumer in world.consumers for name in subscription(consumer, world, partitions.counts)
    }
    unread = states.phase > Phase.CONSUMING
    return any(
        unread[start:end].any()
        for name, start, end in zip(partitions.topics, partitions.first, partitions.first[1:], strict=False)
        if name in wanted
    )


FIGURES = tuple(field.name for field in fields(RunSummary) if field.name != "seed")
"""The names of a run's figures, in order."""


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of one scenario under several seeds.

    Attributes:
        scenario: what was run, with the first seed.
        summaries: the figures of each run.
    """

    scenario: Scenario
    summaries: Sequence[RunSummary]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings: unlikely settings of the scenario, and records that a growing topic loses."""
        if not grows(self.scenario):
            return self.scenario.warnings
        skipped, _ = skipped_records(None, self.scenario.settings)
        return (*self.scenario.warnings, f"{skipped}; to lose none, {CURE}")

    def percentile(self, percent: float) -> dict[str, float | None]:
        """Return, for every figure, the value that `percent` per cent of the runs do not exceed.

        The result is always the value of one run, never a value between those of two runs: some runs may
        never recover, and nothing lies between a number and infinity. Without a load it is None for figures
        of records.
        """
        columns = {name: [getattr(summary, name) for summary in self.summaries] for name in FIGURES}
        return {
            name: None if values[0] is None else percentile(values, percent)
            for name, values in columns.items()
        }

    def assert_(self, **expected: str | float) -> None:
        """Hold figures against limits in all runs: `assert_(longest_pause_p95="<5s", duplicates=0)`.

        `_p95` after a name means the 95th percentile of the runs; other numbers from 0 to 100 work in the
        same way. A limit without such an ending must hold for each run. Everything else is as in
        `SimulationResult.assert_`.
        """
        scenario, runs = self.scenario, count(len(self.summaries), "run")

        def blame(_figure: str, others: Sequence[RunSummary]) -> str:
            return f"; in {len(others):,} of {runs}, first with seed {others[0].seed}" if others else ""

        check_figures(self.summaries, expected, f"{scenario.name} with {scenario.assignor}, {runs}", blame)
