"""What a simulation found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assignors.assignment import Assignment
    from assignors.simulation.scenario import Consumer, Scenario
    from assignors.simulation.timeline import Timeline


@dataclass(frozen=True, slots=True)
class Rebalance:
    """One rebalance, from the event that started it to the assignment that ended it.

    Attributes:
        generation: the generation it made.
        started_ms: when the coordinator began to wait for the members.
        completed_ms: when everybody had the new assignment.
        causes: why, in order; "partitions revoked" is the follow-up of a cooperative rebalance.
        moved: partitions that went from one consumer to another.
        assignment: who has what from then on, by member id.
        consumers: the consumer behind every member id.
    """

    generation: int
    started_ms: float
    completed_ms: float
    causes: tuple[str, ...]
    moved: int
    assignment: Assignment
    consumers: dict[str, Consumer]


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run as a flat row of numbers.

    Attributes:
        seed: the scenario's.
        duration_ms: from time 0 to the last thing that happened.
        rebalances: how many were completed.
        rebalancing_ms: how long the group was in a rebalance, summed over rebalances.
        member_pause_ms: how long running consumers stood still for the protocol, summed over consumers: under
            eager all of them, from revoking to the new assignment; under cooperative only newcomers.
        partition_pause_ms: how long partitions were not read for any reason, summed over partitions.
        longest_pause_ms: the longest time one partition was not read.
        moved_partitions: partitions that went from one consumer to another, summed over rebalances.
        unassigned_partitions: partitions that nobody reads at the end.
    """

    seed: int
    duration_ms: float
    rebalances: int
    rebalancing_ms: float
    member_pause_ms: float
    partition_pause_ms: float
    longest_pause_ms: float
    moved_partitions: int
    unassigned_partitions: int


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """One run of a scenario.

    Attributes:
        scenario: what was run.
        start: the stable group at time 0 as if a rebalance had just made it; None where the group was empty.
        rebalances: every completed rebalance, in order.
        timeline: every partition's life.
        summary: the run in numbers.
    """

    scenario: Scenario
    start: Rebalance | None
    rebalances: tuple[Rebalance, ...]
    timeline: Timeline
    summary: RunSummary

    @property
    def steps(self) -> tuple[Rebalance, ...]:
        """Every assignment the group had, the one at time 0 first."""
        return (self.start, *self.rebalances) if self.start else self.rebalances
