"""Say what a scenario stops: run it with several seeds, and give the least and the most of each figure.

Where a group's heartbeats are in their intervals decides how long a rebalance takes, and no capture shows
it. So a scenario of a captured group is run with `RUNS` seeds, each at another moment of an interval, and
each figure is a range over these.
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
"""Seeds of a scenario whose phases are unknown."""
_WORK = 1_200_000
"""The work that all seeds of a scenario may take together, see `_work`; less than two seconds."""
_MOST_WORK = 2_500_000
"""The work of the largest scenario that is run once; about two seconds."""
_MEMBER_WORK = 20
"""A member of a rebalance takes as long as so many partitions."""
_WEIGHTS = {"eager": 2, "cooperative": 1, "consumer": 4}
"""How long a partition takes in a rebalance of each protocol, in parts of the fastest."""


class RunStops(NamedTuple):
    """Counts what one run stops.

    Attributes:
        rebalances: how many there are.
        partition_seconds: for how long nobody reads a partition, summed over partitions.
        longest_pause_ms: the longest time for which a partition that had a reader has none; may be infinite.
        stopped_at_once: the most partitions at one time that nobody reads.
        all_stopped: how often nobody reads any partition.
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
    """Return what happens to a group stops.

    Args:
        state: the group.
        happening: what happens.
        pace: how fast it goes.
        assignor: the strategy of the group; None for the one that the group tells.

    Returns:
        The figures; `Missing` if the simulator cannot tell, with the reason.
    """
    if state.protocol == CONNECT:
        return Missing(
            "what stops: a source does not show what a worker of Kafka Connect has to open and close",
            "describe the workers in a scenario with client: connect, and run copartition simulate",
        )
    # With words of its own, as the user can name the assignor.
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
    """Return what a scenario stops; `Missing` if it is too large to be run in about two seconds.

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
    """Run a scenario with as many seeds, each at another moment of a heartbeat interval.

    A group that a rebalance has formed beats in step, and nothing shows when in an interval a deploy begins.
    So the runs are spread over one interval evenly; the first is the scenario as it is.

    Args:
        scenario: the scenario.
        runs: how many, one or more.
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
        runs: one or more.
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
    """Return what one run stops."""
    scenario, line = result.scenario, result.timeline
    partition, opens, closes = line.pauses()
    before = {topic.name: topic.partitions for topic in scenario.topics}
    there = np.array([before.get(name, 0) for name in line.topics], np.int64)
    topic = np.searchsorted(line.first, partition, side="right") - 1
    is_new = partition - line.first[topic] >= there[topic]
    # Of new partitions only the first pause counts as waiting; a pause that begins at once has had no reader.
    longest_ms = float((closes - opens)[~is_new].max(initial=0))
    # A pause without an end counts whatever partition has it.
    if math.isinf(result.summary.longest_pause_ms):
        longest_ms = math.inf
    rebalances = float(result.summary.rebalances)
    at_once, all_stopped = _unread(opens[~is_new], closes[~is_new], int(there.sum()))
    if protocol_of(scenario.assignor) == "eager" and rebalances:
        # Every member gives up all it has in an eager rebalance. The last one to join waits for nobody, so
        # what it has is unread for no time, and the timeline does not show that it stopped.
        at_once = float(there.sum())
        # After the first restart with other strategies it is not known here which rebalances are eager.
        if not _new_lists(scenario):
            all_stopped = max(all_stopped, rebalances)
    return RunStops(
        rebalances,
        result.summary.partition_seconds,
        longest_ms,
        at_once,
        all_stopped,
        float((closes - opens)[is_new].max(initial=0)),
    )


def _unread(
    opens: np.ndarray[tuple[int], np.dtype[np.float64]],
    closes: np.ndarray[tuple[int], np.dtype[np.float64]],
    partitions: int,
) -> tuple[float, float]:
    """Return the most partitions that are unread at one time, and how often all of them are.

    Args:
        opens: the beginning of each pause, in milliseconds.
        closes: the end of each.
        partitions: how many partitions there are.
    """
    at_ms = np.concatenate([opens, closes])
    change = np.concatenate([np.ones(len(opens), np.int64), np.full(len(closes), -1, np.int64)])
    # At one moment what ends comes before what begins, so that a hand-over does not count twice.
    unread = np.cumsum(change[np.lexsort((change, at_ms))])
    # A stop of the whole group counts once, when it begins, however many moments it lasts.
    times = np.count_nonzero((unread == partitions) & (np.roll(unread, 1) < partitions)) if len(unread) else 0
    return float(unread.max(initial=0)), float(times)


def affordable_runs(scenario: Scenario) -> int:
    """Return with how many seeds a scenario runs by default: `RUNS`, or fewer for a large group.

    It depends on nothing but the scenario, so that equal questions have equal answers; 0 if one run would be
    too long.
    """
    work = _work(scenario)
    return min(RUNS, max(int(_WORK // max(work, 1)), int(work <= _MOST_WORK)))


def _new_lists(scenario: Scenario) -> list[tuple[str, ...]]:
    """Return the strategies with which members are restarted, one list for each deploy that has any."""
    deploys = [event for event in scenario.events if isinstance(event, RollingRestart | Deployment)]
    return [event.assignors for event in deploys if event.assignors]


def _work(scenario: Scenario) -> float:
    """Return the work of a run: partitions and members, times the rebalances that are to come."""
    members, partitions = len(scenario.consumers), _partitions(scenario, grown=True)
    rollouts = (RollingRestart, Deployment, StatefulSetRoll, ScaleTo)
    # A rollout makes about one rebalance a member, any other event one.
    rebalances = sum(members if isinstance(event, rollouts) else 1 for event in scenario.events)
    rows = partitions + _MEMBER_WORK * members
    return float(rebalances * rows * _WEIGHTS[protocol_of(scenario.assignor)])


def _partitions(scenario: Scenario, *, grown: bool = False) -> int:
    """Return how many partitions a scenario has at its start, or with `grown` at its end."""
    counts = {topic.name: topic.partitions for topic in scenario.topics}
    if grown:
        counts |= {event.topic: event.partitions for event in scenario.events if isinstance(event, Grow)}
    return sum(counts.values())
