"""Run a scenario."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from assignors.errors import ScenarioError
from assignors.simulation.group.coordinator import Coordinator
from assignors.simulation.group.decisions import Decisions
from assignors.simulation.inputs.events import (
    Crash,
    Grow,
    Join,
    Leave,
    Restart,
    RollingRestart,
    rolling_restart,
)
from assignors.simulation.outcome.result import RunSummary, SimulationResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from assignors.simulation.inputs.scenario import Scenario


STEPS = 1_000
STEPS_EACH = 10
"""A group comes to rest within so many steps, and so many for each consumer and event, or it never does.

A step is a barrier passed, a session ended or growth noticed, without an event of the scenario in between.
"""


def simulate(scenario: Scenario) -> SimulationResult:
    """Run a scenario until nothing is left to happen; the same scenario and seed give the same result.

    The model: a rebalance starts when the coordinator hears of its cause. Members learn of it at their next
    heartbeat (see `Scenario.heartbeats` for their phases) and join at once; the barrier waits for the last of
    them, or for the session of one that is gone. Under eager they stand still from then on until the
    assignment, under cooperative only what they must give away does, until the follow-up rebalance. The
    strategy itself is the real one. Time that is neither waiting nor configured (network, assignor, the
    application's own poll loop, opening files) is taken as nothing, so real pauses are a little longer.

    Raises:
        ScenarioError: the strategy belongs to a protocol that is not modelled, or never lets the group
            come to rest.
        UnknownStrategyError: no strategy of that name.
        AssignorError: the strategy cannot assign such a group.
    """
    return _run(scenario, Decisions(scenario.assignor))


def simulate_seeds(scenario: Scenario, seeds: Iterable[int]) -> Iterator[SimulationResult]:
    """Run a scenario once for each seed, as `simulate` does, in a fraction of the time of separate calls.

    Runs that come to the same point of the same history share the assignor's answer, so an assignor that is
    not deterministic does not belong here.

    Raises:
        ScenarioError, UnknownStrategyError, AssignorError: see `simulate`.
    """
    decisions = Decisions(scenario.assignor)
    for seed in seeds:
        yield _run(replace(scenario, seed=seed), decisions)


def _run(scenario: Scenario, decisions: Decisions) -> SimulationResult:
    coordinator = Coordinator(scenario, decisions)
    pending = _schedule(scenario)
    most = STEPS + STEPS_EACH * (len(scenario.consumers) + len(scenario.events))
    turn = steps = 0
    while True:
        at_ms = pending[turn][0] if turn < len(pending) else np.inf
        own_ms = coordinator.next_ms()
        if own_ms <= at_ms:
            if own_ms == np.inf:
                return _result(scenario, coordinator)
            if steps == most:
                raise _restless(scenario, coordinator, most)
            coordinator.advance(own_ms)
            steps += 1
            continue
        event = pending[turn][1]
        turn += 1
        steps = 0
        match event:
            case Join():
                coordinator.start(event.consumer.name, at_ms)
            case Leave():
                coordinator.stop(event.consumer, at_ms, cleanly=True)
            case Crash():
                coordinator.stop(event.consumer, at_ms, cleanly=False)
            case Grow():
                coordinator.grow(event.topic, event.partitions, at_ms)


def _restless(scenario: Scenario, coordinator: Coordinator, steps: int) -> ScenarioError:
    done = coordinator.rebalances
    last = f", the last one because of: {', '.join(done[-1].causes)}" if done else ""
    return ScenarioError(
        f"the group is not at rest {steps} steps after anything last happened to it: at "
        f"{coordinator.now_ms:g} ms it has been through {len(done)} rebalances{last}; does assignor "
        f"{scenario.assignor!r} answer alike when it is asked again?"
    )


def _schedule(scenario: Scenario) -> list[tuple[float, Join | Leave | Crash | Grow]]:
    consumers = {consumer.name: consumer for consumer in scenario.consumers}
    schedule: list[tuple[float, Join | Leave | Crash | Grow]] = []
    events = list(scenario.events)
    for event in scenario.events:
        if isinstance(event, RollingRestart):
            every_ms, down_ms = event.every_ms, event.down_ms
            events += rolling_restart(
                scenario.consumers, start_ms=event.at_ms, every_ms=every_ms, down_ms=down_ms
            )
    for event in events:
        if isinstance(event, Restart):
            back_ms = event.at_ms + event.down_ms
            schedule.append((event.at_ms, Leave(event.at_ms, event.consumer)))
            schedule.append((back_ms, Join(back_ms, consumers[event.consumer])))
        elif not isinstance(event, RollingRestart):
            if isinstance(event, Join):
                consumers[event.consumer.name] = event.consumer
            schedule.append((event.at_ms, event))
    return sorted(schedule, key=lambda entry: entry[0])


def _result(scenario: Scenario, coordinator: Coordinator) -> SimulationResult:
    timeline = coordinator.timeline()
    _, start, end = timeline.pauses()
    rebalances = tuple(coordinator.rebalances)
    summary = RunSummary(
        seed=scenario.seed,
        duration_ms=float(coordinator.now_ms),
        rebalances=len(rebalances),
        rebalancing_ms=float(sum(each.completed_ms - each.started_ms for each in rebalances)),
        member_pause_ms=float(coordinator.member_pause_ms),
        partition_pause_ms=float(np.sum(end - start)),
        longest_pause_ms=float(np.max(end - start, initial=0.0)),
        detection_ms=0.0,
        barrier_ms=0.0,
        compute_ms=0.0,
        handover_ms=0.0,
        moved_partitions=sum(each.moved for each in rebalances),
        unassigned_partitions=coordinator.unread,
        double_read_ms=0.0,
        peak_lag=None,
        recovery_ms=None,
        duplicates=None,
        lost=None,
    )
    return SimulationResult(scenario, coordinator.initial, rebalances, timeline, summary, (), None, ())
