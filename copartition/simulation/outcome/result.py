"""Define the result of a simulation, and hold it against limits: longest_pause="<5s", duplicates=0."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from copartition.kit.words import COMPARISON, COMPARISONS, count, duration
from copartition.simulation.growth import skipped_in_run
from copartition.simulation.inputs.durations import UNITS
from copartition.simulation.inputs.events import PRIMITIVE_NAMES, Create, Grow
from copartition.simulation.inputs.scenario import Scenario
from copartition.simulation.outcome.history import Rebalance
from copartition.simulation.outcome.timeline import Timeline
from copartition.simulation.records.flow import RecordsResult
from partitioning.errors import ScenarioError
from partitioning.kit.columns import bounds
from partitioning.kit.near import near


@dataclass(frozen=True, slots=True)
class Outage:
    """The pauses of partitions because of one cause, by what they waited for.

    All fields but `cause` and `partitions` are milliseconds, summed over partitions: if 12 partitions wait 2
    s for the barrier, that is 24,000.

    >>> Outage("worker-3 left", 12, 0, 24_000, 0, 600, catch_up_ms=None).pause_ms
    24600

    Attributes:
        cause: the event in words, as in `Rebalance.causes`: "worker-3 left".
        partitions: how many partitions were not read because of it.
        detection_ms: time until the group noticed: until a session ended, or a member saw new partitions.
        barrier_ms: time until the last member had joined; under KIP-848, until the partition was free and its
            new owner had been given it.
        compute_ms: time until the assignor had answered and all members had the assignment.
        handover_ms: time for callbacks, opening and the first fetch.
        catch_up_ms: time in which partitions were read again but further behind than before the outage; None
            without a load.
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
        """Milliseconds for which the partitions were not read, summed over them."""
        return self.detection_ms + self.barrier_ms + self.compute_ms + self.handover_ms


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One thing that happened, as a line of the event log.

    Attributes:
        at_ms: the time, in milliseconds of the run.
        what: the kind of thing that happened. It is an event of the scenario ("leave"), or what the group did
            next: "rebalance", "generation", "session-expired", "fenced", "commit-refused", ...
        subject: the consumer or topic that it is about; None if it is about the group.
        detail: more values about it, of JSON types only.
    """

    at_ms: float
    what: str
    subject: str | None
    detail: dict[str, Any]

    @property
    def from_outside(self) -> bool:
        """True for an event of the scenario, False for what the group did because of one."""
        return self.what in PRIMITIVE_NAMES


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run as a flat row of numbers; figures of records are None if the scenario has no load.

    Attributes:
        seed: the seed of the scenario.
        duration_ms: from time 0 to the last thing that happened, or to `until_ms`.
        rebalances: how many were completed; under KIP-848, target assignments that were reached or replaced.
        rebalancing_ms: how long the group was in a rebalance, summed over rebalances.
        member_pause_ms: how long running consumers stood still for the protocol, summed over consumers. Under
            eager, and with kafka-python, each consumer stands still from revoking to its new assignment;
            otherwise only new members do.
        partition_seconds: how long partitions were not read for any reason, summed over partitions, in
            seconds.
        longest_pause_ms: the longest time for which one partition was not read. It is infinite if a partition
            that a member subscribes to is not read when nothing is left to happen (`Scenario.until_ms` ends
            the run before).
        detection_ms: the part of `partition_seconds` until the group noticed, in milliseconds, as are the
            next three.
        barrier_ms: the part until the last member had joined or the partition was free.
        compute_ms: the part until the assignor had answered and all members had the assignment.
        handover_ms: the part for callbacks, opening and the first fetch.
        moved_partitions: partitions that went from one consumer to another, summed over rebalances.
        unassigned_partitions: partitions that no consumer reads at the end.
        double_read_ms: how long partitions had two readers, summed over partitions: the owner, and a process
            that woke up after its session had ended.
        peak_lag: the most records the group was behind.
        recovery_ms: the longest time from the start of a partition's outage until it was no further behind
            than before; infinite if that never came.
        duplicates: records read twice.
        lost: records that were never processed because their offsets had been committed before, or because a
            new partition was read from its end (`Load.auto_offset_reset`).
    """

    seed: int
    duration_ms: float
    rebalances: int
    rebalancing_ms: float
    member_pause_ms: float
    partition_seconds: float
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


def grows(scenario: Scenario) -> bool:
    """Return whether a topic gets partitions in this scenario, or is created."""
    return any(isinstance(event, Create | Grow) for event in scenario.events)


@dataclass(frozen=True)
class SimulationResult:
    """One run of a scenario.

    >>> grow = {"event": "grow", "at_ms": "10 min", "topic": "orders", "partitions": 8}
    >>> result = simulate(Scenario.from_dict({"topics": {"orders": 4}, "consumers": 2, "events": [grow]}))
    >>> [entry.what for entry in result.log]
    ['generation', 'grow', 'rebalance', 'generation']

    Attributes:
        scenario: the scenario that was run.
        start: the stable group at time 0, as if a rebalance had just made it; None if the group was empty.
        rebalances: every completed rebalance, in order.
        recording: a function that returns the timeline of all partitions.
        summary: the run in numbers.
        outages: the pauses by cause, in the order of time.
        records: lag, duplicates and losses by partition; None without a load.
        log: everything that happened, in order.
        unmet: events whose condition never held, in words.
    """

    scenario: Scenario
    start: Rebalance | None
    rebalances: tuple[Rebalance, ...]
    recording: Callable[[], Timeline] = field(repr=False, compare=False)
    summary: RunSummary
    outages: tuple[Outage, ...]
    records: RecordsResult | None
    log: Sequence[LogEntry]
    unmet: tuple[str, ...] = ()

    @cached_property
    def timeline(self) -> Timeline:
        """The timeline of all partitions, made on first access."""
        return self.recording()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about unlikely settings, events that never happened, and records lost as topics grow."""
        never = (f"{event} never happened" for event in self.unmet)
        overload = self.overload_after(-1)
        rates = None if self.scenario.load is None else self.scenario.rates
        skipped = skipped_in_run(self.timeline, rates) if grows(self.scenario) else ()
        return (*self.scenario.warnings, *never, *([f"at the end {overload}"] if overload else []), *skipped)

    @property
    def steps(self) -> tuple[Rebalance, ...]:
        """The assignments that the group had, in order, beginning with the one at time 0 if there is one."""
        return (self.start, *self.rebalances) if self.start else self.rebalances

    def overload_after(self, step: int) -> str:
        """Return in words which consumer is furthest above its capacity after `steps[step]`.

        The text is empty if no consumer reads more than it can process, or without a load.
        """
        if not self.steps or self.records is None:
            return ""
        consumers = self.steps[step].consumers
        members, topics, member, topic, number = self.steps[step].assignment.to_arrays()
        # The assignment has the topics that existed then, in the order of the scenario.
        rates = [rate for name, rate in self.scenario.rates.items() if name in topics]
        first = bounds(np.array(list(map(len, rates)), np.intp))
        rate = np.concatenate([np.empty(0), *rates])[first[topic] + number]
        totals = np.bincount(member, rate, len(members))
        capacity = np.array([self.scenario.capacity_of(consumers[member]) for member in members])
        excess = totals / capacity
        if excess.max(initial=0.0) <= 1 + 1e-9:  # the tolerance is for sums of rates, which are rounded
            return ""
        worst = int(excess.argmax())
        reads = f"{consumers[members[worst]].name} reads {totals[worst]:,.6g} records a second"
        return f"{reads} and can process {capacity[worst]:,.6g}"

    def assert_(self, **expected: str | float) -> None:
        """Hold figures of the summary against limits: `assert_(longest_pause="<5s", duplicates=0)`.

        Args:
            expected: name of a figure of `RunSummary`, with or without `_ms` -> its limit. A limit is a
                comparison, one of <= >= == != < >, and a number. If it is only a number, the figure must be
                equal to that. Times other than 0 need a unit: ms, s, min or h.

        Raises:
            AssertionError: figures are not as expected. The message names each figure and its value, and for
                a pause the outage that caused it.
            ScenarioError: there is no such figure or limit, or the figure is one of records and the scenario
                has no load.
        """
        run = f"{self.scenario.name} with {self.scenario.assignor}, seed {self.scenario.seed}"
        check_figures([self.summary], expected, run, lambda figure, _: _name_culprit(self, figure))


_LIMIT = re.compile(rf"\s*({COMPARISON})?\s*(\d+(?:_\d+)*(?:\.\d+)?)\s*({'|'.join(UNITS)})?\s*")


class _Limit(NamedTuple):
    """One limit of a figure; `value` is in milliseconds if the figure is a time."""

    figure: str
    percent: int | None  # the percentile, over several runs; None: the limit holds for each run
    comparison: str
    value: float


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the lowest of the values that at least `percent` per cent of the values do not exceed."""
    return float(np.percentile(np.array(values, np.float64), percent, method="inverted_cdf"))


def check_figures(
    summaries: Sequence[RunSummary],
    expected: Mapping[str, str | float],
    whose: str,
    blame: Callable[[str, Sequence[RunSummary]], str],
) -> None:
    """Raise unless all figures are as expected; see `SimulationResult.assert_` and `Runs.assert_`.

    Args:
        summaries: the figures of each run, at least one.
        expected: limits by name, as `assert_` takes them.
        whose: the words that name the run or runs in the message.
        blame: returns the end of a message, which names the cause of a figure. It is called with the name of
            the figure and the runs in which the figure is not as expected.
    """
    limits = {name: _limit(name, text, summaries) for name, text in expected.items()}
    failed = []
    for name, limit in limits.items():
        figures = [(getattr(summary, limit.figure), [summary]) for summary in summaries]
        if limit.percent is not None:
            figures = [(percentile([value for value, _ in figures], limit.percent), [])]
        others = [figure for figure in figures if not COMPARISONS[limit.comparison](figure[0], limit.value)]
        if others:
            because = blame(limit.figure, [summary for _, of in others for summary in of])
            value = _value_text(limit.figure, others[0][0])
            failed.append(f"  {name} is {value}, expected {expected[name]}{because}")
    if failed:
        raise AssertionError("\n".join([f"{whose}:", *failed]))


def _limit(name: str, text: str | float, summaries: Sequence[RunSummary]) -> _Limit:
    """Return the limit that a name and a text stand for; raise `ScenarioError` if they do not make a limit.

    `name` may leave out `_ms`. For a percentile of several runs it ends in `_p` and a number.
    """
    summary = summaries[0]
    names = {field.name.removesuffix("_ms"): field.name for field in fields(summary)}
    of_runs = re.fullmatch(r"(.+)_p(\d\d?|100)", name) if len(summaries) > 1 else None
    base, percent = (of_runs[1], int(of_runs[2])) if of_runs else (name, None)
    figure = base if base in names.values() else names.get(base)
    if figure is None:
        raise ScenarioError(f"a run has no figure {base!r}; {near(base, names, 1)}")
    if getattr(summary, figure) is None:
        raise ScenarioError(f"{name} needs records; give the scenario a load")
    match = _LIMIT.fullmatch(str(text))
    if match is None:
        raise ScenarioError(f"{name}={text!r} is no limit; give one such as '<5s', '<=10' or 0")
    comparison, digits, unit = match.groups()
    value = float(digits) * UNITS.get(unit, 1)
    if figure.endswith("_ms") and value and unit is None:
        raise ScenarioError(f"{name}={text!r}: {name} is a time; give a unit, {', '.join(UNITS)}")
    if unit is not None and not figure.endswith("_ms"):
        raise ScenarioError(f"{name}={text!r}: {name} is no time; leave {unit!r} out")
    return _Limit(figure, percent, comparison or "==", value)


def _value_text(figure: str, value: float) -> str:
    """Return a figure's value for a message; a time is given in readable units and in milliseconds."""
    if not figure.endswith("_ms"):
        return f"{value:,.12g}"
    return duration(value) if value == np.inf else f"{duration(value)} ({value:.12g} ms)"


def _name_culprit(result: SimulationResult, figure: str) -> str:
    """Return the end of a message, which names the outage or pause behind a figure; empty without one."""
    if figure == "longest_pause_ms":
        return longest_pause(result.timeline, result.summary.longest_pause_ms)
    # `part` is the field of `Outage` whose sum over all outages is the figure.
    part = "pause_ms" if figure == "partition_seconds" else figure
    if not hasattr(Outage, part) or not result.outages:
        return ""
    worst = max(result.outages, key=lambda outage: float(getattr(outage, part)))
    share = duration(getattr(worst, part))
    return f"; {share} of it over {count(worst.partitions, 'partition')}: {worst.cause}"


def longest_pause(timeline: Timeline, longest_ms: float) -> str:
    """Return which partition was not read for longest, when and why: "; orders-3 from 1 s to 5 s: w-1 left".

    Args:
        timeline: the timeline of all partitions.
        longest_ms: the longest pause. If it is infinite, a pause that lasts to the end of the run is named.
    """
    partitions, starts, ends = timeline.pauses()
    if len(starts) == 0:
        return ""
    endless = longest_ms == np.inf
    worst = int(np.argmax(np.where(ends == np.max(ends), ends - starts, 0) if endless else ends - starts))
    partition, start, end = partitions[worst], starts[worst], ends[worst]
    rows = (timeline.partition == partition) & (timeline.start >= start) & (timeline.end <= end)
    causes = dict.fromkeys(timeline.causes[cause] for cause in timeline.cause[rows].tolist() if cause >= 0)
    topic = int(np.searchsorted(timeline.first, partition, side="right")) - 1
    which = f"{timeline.topics[topic]}-{partition - timeline.first[topic]}"
    until = "on" if endless else f"to {duration(float(end))}"
    because = f": {', '.join(causes)}" if causes else ""
    return f"; {which} from {duration(float(start))} {until}{because}"
