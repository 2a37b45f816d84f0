"""Compute what a scenario stops: run it with several seeds, and give the least and the most of each figure.

The duration of a rebalance depends on where the group's heartbeats are in their intervals, and no capture
shows that. So a scenario of a captured group is run with `RUNS` seeds, each at another moment of an interval,
and each figure is a range over these runs.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from assignors.registry import protocol_of
from assignors.state import CONNECT, GroupState
from copartition.deploys.answer import Range, Stops
from copartition.deploys.assumptions import assumed_of_time, pace_words
from copartition.deploys.pace import Pace
from copartition.deploys.scenario import Happening, scenario_of
from copartition.kit.evidence import Evidence, Missing
from copartition.kit.words import count
from copartition.simulation import (
    Deployment,
    Grow,
    RollingRestart,
    ScaleTo,
    Scenario,
    SimulationResult,
    StatefulSetRoll,
)
from copartition.simulation.inputs.scenario import CapturedScenario
from copartition.simulation.run import simulate_moments
from partitioning.errors import AssignorError, ScenarioError, SourceError, UnknownStrategyError

RUNS = 30
"""The number of seeds for a scenario with unknown heartbeat phases."""
_WORK = 1_200_000
"""The most work of all seeds of a scenario together, see `_work`; it takes less than two seconds."""
_MOST_WORK = 2_500_000
"""The most work of a scenario that is run only once; it takes about two seconds."""
_MEMBER_WORK = 20
"""In the work of a rebalance, a member counts as much as this many partitions."""
_WEIGHTS = {"eager": 2, "cooperative": 1, "consumer": 4}
"""Protocol -> how long a rebalance takes to simulate per partition, in multiples of the fastest protocol."""


class RunStops(NamedTuple):
    """The figures of what one run stops.

    Attributes:
        rebalances: the number of rebalances.
        partition_seconds: for how long no member reads a partition, summed over partitions.
        longest_pause_ms: the longest time for which a partition that had a reader has none; may be infinite.
        stopped_at_once: the most partitions at one time that no member reads.
        all_stopped: how often no member reads any partition.
        new_ms: the longest time until a new partition is read; 0 if none is new.
    """

    rebalances: float
    partition_seconds: float
    longest_pause_ms: float
    stopped_at_once: float
    all_stopped: float
    new_ms: float


def stops_of_group(
    state: GroupState, happening: Happening, pace: Pace, *, assignor: str | None = None
) -> Stops | Missing:
    """Return what is stopped by something that happens to a group.

    Args:
        state: the group.
        happening: what happens.
        pace: how fast it happens.
        assignor: the strategy of the group; None for the one that the source shows.

    Returns:
        The figures; `Missing` with the reason if the simulator cannot compute them.
    """
    if state.protocol == CONNECT:
        return Missing(
            "what stops: a source does not show what a worker of Kafka Connect has to open and close",
            "describe the workers in a scenario with client: connect, and run copartition simulate",
        )
    # A missing assignor has a message of its own, because the user can name the assignor.
    if (assignor or state.strategy) is None:
        return Missing(
            "what stops: the source does not tell which assignor the group uses",
            "capture --describe --state, too, or name the assignor, as plan:range does",
        )
    try:
        return stops_of(scenario_of(state, happening, pace, assignor=assignor), happening.name)
    except UnknownStrategyError as error:
        return Missing(f"what stops: {error}", "name a strategy that is known here, as plan:range does")
    except (AssignorError, ScenarioError, SourceError) as error:
        return Missing(f"what stops: {error}", "copartition simulate runs a scenario of your own")


def stops_of(captured: CapturedScenario, happens: str) -> Stops | Missing:
    """Return what a scenario stops; `Missing` if it is too large to run in about two seconds.

    Raises:
        ScenarioError, UnknownStrategyError, AssignorError: see `copartition.simulation.simulate`.
    """
    scenario = captured.scenario
    runs = affordable_runs(scenario)
    if not runs:
        members, partitions = len(scenario.consumers), _partitions(scenario)
        return Missing(
            f"what stops: {count(members, 'member')} and {count(partitions, 'partition')} are too many to be "
            "simulated in two seconds",
            "ask copartition simulate with the same source and --deploy, which takes its time",
        )
    return sum_up_stops(captured, happens, [measure(result) for result in run_phases(scenario, runs)])


def run_phases(scenario: Scenario, runs: int) -> Iterator[SimulationResult]:
    """Run a scenario with `runs` seeds, each at another moment of a heartbeat interval.

    After a rebalance a group's heartbeats are in step, and nothing shows when in an interval a deploy begins.
    So the runs are spread evenly over one interval; the first run is the scenario as it is.

    Args:
        scenario: the scenario.
        runs: the number of runs, one or more.
    """
    settings = scenario.settings
    consumer = protocol_of(scenario.assignor) == "consumer"
    beat_ms = settings.group_consumer_heartbeat_interval_ms if consumer else settings.heartbeat_interval_ms
    return simulate_moments(
        scenario,
        ((scenario.seed + number, scenario.settled_ms + beat_ms * number / runs) for number in range(runs)),
    )


def sum_up_stops(captured: CapturedScenario, happens: str, runs: Sequence[RunStops]) -> Stops:
    """Return the least and the most of each figure.

    Args:
        captured: the scenario of the runs.
        happens: what happens in it.
        runs: figures of the runs, at least one.
    """
    scenario = captured.scenario
    ranges = {
        name: Range(min(values), max(values))
        for name, values in zip(RunStops._fields, zip(*runs, strict=True), strict=True)
    }
    seeds = f"seeds {scenario.seed} to {scenario.seed + len(runs) - 1}, each at another moment of a heartbeat"
    restarts = any(isinstance(event, RollingRestart) for event in scenario.events)
    grown = _partitions(scenario, grown=True) - _partitions(scenario)
    lists = _new_lists(scenario)
    return Stops(
        happens=happens,
        pace=pace_words(scenario),
        protocol=protocol_of(scenario.assignor),
        protocol_after=protocol_of(lists[-1][0] if lists else scenario.assignor),
        runs=len(runs),
        partitions=_partitions(scenario),
        new_partitions=grown,
        static_restarts=sum(consumer.static for consumer in scenario.consumers) if restarts else 0,
        ground=Evidence(
            (f"the strategy {scenario.assignor!r}", f"{count(len(runs), 'run')} of the simulator, {seeds}"),
            tuple(dict.fromkeys((*captured.assumed, *assumed_of_time(scenario)))),
        ),
        **ranges,
    )


def measure(result: SimulationResult) -> RunStops:
    """Return the figures of what one run stops."""
    scenario, line = result.scenario, result.timeline
    partition, opens, closes = line.pauses()
    before = {topic.name: topic.partitions for topic in scenario.topics}
    there = np.array([before.get(name, 0) for name in line.topics], np.int64)
    topic = np.searchsorted(line.first, partition, side="right") - 1
    is_new = partition - line.first[topic] >= there[topic]
    # Pauses are sorted by partition, then by time. The first pause of a new partition lasts until its first
    # reader; its later pauses are those of a partition that had a reader.
    waits = is_new & (np.diff(partition, prepend=-1) > 0)
    longest_ms = float((closes - opens)[~waits].max(initial=0))
    # A pause without an end counts, whichever partition has it.
    if math.isinf(result.summary.longest_pause_ms):
        longest_ms = math.inf
    rebalances = float(result.summary.rebalances)
    at_once, all_stopped = _unread(opens[~is_new], closes[~is_new], int(there.sum()))
    if protocol_of(scenario.assignor) == "eager" and rebalances:
        # In an eager rebalance every member gives up all partitions. The last member to join waits for no
        # other, so its partitions are unread for no time, and the timeline does not show that they stopped.
        at_once = float(there.sum())
        # After a restart with other strategies it is unknown here which rebalances are eager.
        if not _new_lists(scenario):
            all_stopped = max(all_stopped, rebalances)
    return RunStops(
        rebalances,
        result.summary.partition_seconds,
        longest_ms,
        at_once,
        all_stopped,
        float((closes - opens)[waits].max(initial=0)),
    )


def _unread(
    opens: np.ndarray[tuple[int], np.dtype[np.float64]],
    closes: np.ndarray[tuple[int], np.dtype[np.float64]],
    partitions: int,
) -> tuple[float, float]:
    """Return the most partitions that are unread at one time, and how often all of them are.

    Args:
        opens: the beginning of each pause, in milliseconds.
        closes: the end of each pause.
        partitions: the number of partitions.
    """
    at_ms = np.concatenate([opens, closes])
    change = np.concatenate([np.ones(len(opens), np.int64), np.full(len(closes), -1, np.int64)])
    # Ends come before beginnings at the same moment, so that a hand-over does not count twice.
    unread = np.cumsum(change[np.lexsort((change, at_ms))])
    # A stop of the whole group counts once, when it begins, however long it lasts.
    times = np.count_nonzero((unread == partitions) & (np.roll(unread, 1) < partitions)) if len(unread) else 0
    return float(unread.max(initial=0)), float(times)


def affordable_runs(scenario: Scenario) -> int:
    """Return the number of seeds with which a scenario runs by default: `RUNS`, or fewer for a large group.

    The number depends only on the scenario, so that equal questions have equal answers. It is 0 if one run
    would take too long.
    """
    work = _work(scenario)
    return min(RUNS, max(int(_WORK // max(work, 1)), int(work <= _MOST_WORK)))


def _new_lists(scenario: Scenario) -> list[tuple[str, ...]]:
    """Return the strategies that members get by restarts: a list for each deploy that changes strategies."""
    deploys = [event for event in scenario.events if isinstance(event, RollingRestart | Deployment)]
    return [event.assignors for event in deploys if event.assignors]


def _work(scenario: Scenario) -> float:
    """Return the work of a run: partitions and members, times the expected rebalances."""
    members, partitions = len(scenario.consumers), _partitions(scenario, grown=True)
    rollouts = (RollingRestart, Deployment, StatefulSetRoll, ScaleTo)
    # A rollout makes about one rebalance for each member, any other event one.
    rebalances = sum(members if isinstance(event, rollouts) else 1 for event in scenario.events)
    rows = partitions + _MEMBER_WORK * members
    return float(rebalances * rows * _WEIGHTS[protocol_of(scenario.assignor)])


def _partitions(scenario: Scenario, *, grown: bool = False) -> int:
    """Return how many partitions a scenario has at its start, or with `grown` at its end."""
    counts = {topic.name: topic.partitions for topic in scenario.topics}
    if grown:
        counts |= {event.topic: event.partitions for event in scenario.events if isinstance(event, Grow)}
    return sum(counts.values())
