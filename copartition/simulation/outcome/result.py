"""What a simulation found."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from copartition.simulation.inputs.scenario import Scenario
from copartition.simulation.outcome.expectations import check
from copartition.simulation.outcome.history import Rebalance
from copartition.simulation.outcome.timeline import Timeline
from copartition.simulation.records.flow import RecordsResult


@dataclass(frozen=True, slots=True)
class Outage:
    """How long partitions were not read because of one cause, by what they waited for.

    All but `cause` and `partitions` are milliseconds summed over partitions: 12 partitions that wait 2 s for
    the barrier count 24,000.

    Attributes:
        cause: the event, as in `Rebalance.causes`: "worker-3 left".
        partitions: how many partitions were not read for it.
        detection_ms: until the group noticed: a session that ran out, new partitions that nobody had seen.
        barrier_ms: until the last member had joined; under KIP-848, until the partition was free and its new
            owner had heard.
        compute_ms: until the assignor had answered and everybody knew.
        handover_ms: callbacks, opening, first fetch.
        catch_up_ms: read again, but further behind than before the outage; None without a load.
    """

    cause: str
    partitions: int
    detection_ms: float
    barrier_ms: float
    compute_ms: float
    handover_ms: float
    catch_up_ms: float | None

    @property
    def pause_ms(self) -> float:
        """How long its partitions were not read, summed over them."""
        return self.detection_ms + self.barrier_ms + self.compute_ms + self.handover_ms


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One thing that happened, as a line of the event log.

    Attributes:
        at_ms: when.
        what: what kind of thing: an event of the scenario ("leave"), or what the group made of it:
            "rebalance", "generation", "session-expired", "fenced", "commit-refused", ...
        subject: the consumer or topic; None where it is the group.
        detail: values that belong to it, JSON types only.
    """

    at_ms: float
    what: str
    subject: str | None
    detail: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run as a flat row of numbers; those of records are None where the scenario has no load.

    Attributes:
        seed: the scenario's.
        duration_ms: from time 0 to the last thing that happened, or to `until_ms`.
        rebalances: how many were completed; under KIP-848, target assignments that were reached or replaced.
        rebalancing_ms: how long the group was in a rebalance, summed over rebalances.
        member_pause_ms: how long running consumers stood still for the protocol, summed over consumers: under
            eager all of them, from revoking to the new assignment; otherwise only newcomers.
        partition_pause_ms: how long partitions were not read for any reason, summed over partitions.
        longest_pause_ms: the longest time one partition was not read; infinite where somebody subscribes to
            it, and it is not read when nothing is left to happen (`Scenario.until_ms` sets an end to that).
        detection_ms: the part of `partition_pause_ms` until the group noticed.
        barrier_ms: the part until the last member had joined or the partition was free.
        compute_ms: the part until the assignor had answered and everybody knew.
        handover_ms: the part for callbacks, opening and first fetch.
        moved_partitions: partitions that went from one consumer to another, summed over rebalances.
        unassigned_partitions: partitions that nobody reads at the end.
        double_read_ms: how long partitions had two readers, summed: a process that woke up after its session.
        peak_lag: the most records the group was behind.
        recovery_ms: the longest time from a partition's outage until it was no further behind than before;
            infinite where it never was.
        duplicates: records read twice.
        lost: records never processed though their offsets were committed.
    """

    seed: int
    duration_ms: float
    rebalances: int
    rebalancing_ms: float
    member_pause_ms: float
    partition_pause_ms: float
    longest_pause_ms: float
    detection_ms: float
    barrier_ms: float
    compute_ms: float
    handover_ms: float
    moved_partitions: int
    unassigned_partitions: int
    double_read_ms: float
    peak_lag: float | None
    recovery_ms: float | None
    duplicates: float | None
    lost: float | None


class Recording:
    """What happened to the partitions, from which a timeline is made when one is asked for."""

    def __init__(self, make: Callable[[], Timeline]) -> None:
        self._make = make

    @cached_property
    def timeline(self) -> Timeline:
        """Every partition's life."""
        return self._make()


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """One run of a scenario.

    Attributes:
        scenario: what was run.
        start: the stable group at time 0 as if a rebalance had just made it; None where the group was empty.
        rebalances: every completed rebalance, in order.
        recording: what happened to the partitions.
        summary: the run in numbers.
        outages: what the pauses consist of, by cause, in the order of time.
        records: lag, duplicates and losses by partition; None without a load.
        log: what happened, in order.
    """

    scenario: Scenario
    start: Rebalance | None
    rebalances: tuple[Rebalance, ...]
    recording: Recording = field(repr=False, compare=False)
    summary: RunSummary
    outages: tuple[Outage, ...]
    records: RecordsResult | None
    log: Sequence[LogEntry]

    @property
    def timeline(self) -> Timeline:
        """Every partition's life."""
        return self.recording.timeline

    @property
    def steps(self) -> tuple[Rebalance, ...]:
        """Every assignment the group had, the one at time 0 first."""
        return (self.start, *self.rebalances) if self.start else self.rebalances

    def assert_(self, **expected: str | float) -> None:
        """Hold figures of the summary against limits: `assert_(longest_pause="<5s", duplicates=0)`.

        Args:
            expected: names of `RunSummary`, with or without `_ms`. A text is a comparison, one of
                <= >= == != < >, and a number; a number alone asks for exactly that. Times other than 0 have a
                unit: ms, s, min or h.

        Raises:
            AssertionError: figures are not as expected; the message names each, what it is, and for pauses
                the outage to blame.
            ScenarioError: no such figure or limit, or a figure of records of a scenario without a load.
        """
        check(self, expected)
