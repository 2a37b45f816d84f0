"""Learn from a record how long a rebalance takes besides waiting, so that the user need not give it.

A member works before it rejoins: it finishes the present batch and runs the revoke callback. A record does
not show these two separately, and it does not show at all what members do after the assignment. The sum of
the two is learned in one of two ways, by the protocol of a classic group:

- In an eager group a rebalance takes longer by that work. A simulation of the rebalance without costs shows
  how long it waits for heartbeats and for the barrier. The rest of its time is the work.
- In a cooperative group members give partitions up between two rebalances: the first rebalance tells them to,
  and the second one begins when they have done so. The time between the two is the work.

In a KIP-848 group nothing is learned, because heartbeats decide how long a rebalance takes, even if a revoke
takes long.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import sqrt
from os import PathLike
from statistics import fmean, median

from assignors.registry import protocol_of
from copartition.deploys.pace import Pace, full_names
from copartition.groups.snapshot import read_record
from copartition.kit.words import count, duration
from copartition.simulate_scenarios.episodes import (
    DurationBounds,
    Episode,
    NamedStep,
    episodes,
    see,
    whole_bounds,
)
from copartition.simulation import SimulationResult, simulate
from copartition.simulation.inputs.events import SimulatedClient
from copartition.simulation.inputs.file import with_settings

LEAST = 3
"""The fewest rebalances from which a cost is learned; with only two, one would decide half of the result."""
MOST = 12
"""The most rebalances that are used, the last ones of a record, so that a long record takes only seconds."""
SEEDS = range(2)
"""The seeds of the simulations; each seed begins a rebalance at another moment between two heartbeats."""
STEPS = 12
"""The number of costs that are tried, up to the length of the shortest rebalance."""
LEAST_STEP_MS = 100.0
"""The shortest distance from one cost that is tried to the next, in milliseconds."""
CLIENTS: tuple[SimulatedClient, ...] = ("java", "librdkafka")
"""The clients that are tried, because a record does not show which one the members are.

After a rebalance the heartbeats of Java's client begin anew, as those of all other clients do, except that
librdkafka's heartbeats go on as before the rebalance.
"""
HIDDEN = "assign_ms, first_fetch_ms and partition_ms"
"""The costs of what members do after the assignment, which a record does not show."""


def learn_costs(path: str | PathLike[str], pace: Pace) -> tuple[Pace, tuple[str, ...]]:
    """Return the pace with the cost `revoke_ms` as the record shows it, and sentences on how it was learned.

    If the user has given that cost, nothing is learned. `poll_ms` and `network_ms` keep the values of `pace`.
    They count as waiting, so only the time that they do not explain is learned.

    Args:
        path: the record.
        pace: how fast a deploy goes, and the settings and costs with which the record is simulated.

    Raises:
        SourceError: the file is not a record.
        ScenarioError: a setting does not exist, or is impossible.
    """
    if "revoke_ms" in pace.changes:
        return pace, ()
    steps = read_record(path)
    strategies = {step.state.strategy for step in steps} - {None}
    why = None
    strategy = str(strategies.pop()) if len(strategies) == 1 else ""
    protocol = protocol_of(strategy) if strategy else ""
    show = _handover if protocol == "cooperative" else _rebalance
    seen = see(steps)
    taught = [
        (episode, bounds)
        for episode in episodes(seen)
        if whole_bounds(episode) and (bounds := show(episode.steps))
    ][-MOST:]
    if not strategy:
        why = "the record does not name one assignor"
    # In a group of the consumer protocol the next owner learns at its own heartbeat, every 5 s, that a revoke
    # has ended. So a record does not show whether that took 1 s or 4 s.
    elif protocol == "consumer":
        why = "in a group of the consumer protocol the next heartbeat hides what a revoke takes"
    elif len(taught) < LEAST:
        why = f"the record shows {count(len(taught), 'rebalance')} whose length it bounds"
    if why is not None:
        return pace, (f"{why}, so what a rebalance takes is not learned from it (--set revoke_ms=500)",)
    measured = [(bounds.least + (bounds.most or 0.0)) / 2 for _, bounds in taught]
    if protocol == "cooperative":
        learned_ms = median(measured)
        errors = [was - learned_ms for was in measured]
    else:
        learned_ms, errors = _fit([episode for episode, _ in taught], seen, strategy, pace.changes, measured)
    # A cost within twice the standard error of the median may be chance. Also, if looks are a second apart,
    # the length of each rebalance is known only to a second, and the median may be wrong by as much.
    looks_ms = fmean((bounds.most or 0.0) - bounds.least for _, bounds in taught) / 2
    doubt_ms = max(2 * _standard_error(errors), looks_ms)
    of = f"learned from {count(len(taught), 'rebalance')} of the record, within {duration(doubt_ms)}"
    after = f"{HIDDEN} are not shown by a record"
    if learned_ms <= doubt_ms:
        return pace, (f"the batch in hand and the revoke callback take no time that shows, {of}; {after}",)
    revoke_ms = round(learned_ms, -1)
    text = f"the batch in hand and the revoke callback take {duration(revoke_ms)} together, {of}; {after}"
    return replace(pace, changes={"revoke_ms": f"{revoke_ms:.0f}", **pace.changes}), (text,)


def _rebalance(steps: Sequence[NamedStep]) -> DurationBounds:
    """Return bounds of the time from the beginning of an episode's first rebalance to the end of its last.

    Args:
        steps: the steps of the episode, from one settled step to the next.
    """
    return _bound_time_between(steps[1], steps[-1])


def _handover(steps: Sequence[NamedStep]) -> DurationBounds | None:
    """Return bounds of the time from a rebalance that revokes partitions to the one that assigns them.

    Between the two the group is stable, and some partitions have no owner. The result is None if no step
    shows such a state. `steps` are those of an episode, so the last one is settled.
    """
    for number, step in enumerate(steps[1:], 1):
        if step.step.state.status == "Stable" and not step.settled:
            # The first rebalance has ended. The second one may be over before a look shows it.
            after = (
                later for later in steps[number:] if later.settled or later.step.state.status != "Stable"
            )
            return _bound_time_between(step, next(after))
    return None


def _bound_time_between(begin: NamedStep, end: NamedStep) -> DurationBounds:
    """Return bounds of the time between two changes; `begin` and `end` are the first steps that show them."""
    begun, ended = begin.step, end.step
    # Only the first step of a record has no look before it, and no change of an episode is in that step.
    last_before, last_during = begun.since or begun.at, ended.since or ended.at
    return DurationBounds(1_000 * max(last_during - begun.at, 0.0), 1_000 * (ended.at - last_before))


def _standard_error(errors: Sequence[float]) -> float:
    """Return the standard error of the median of values with these errors, from their median size.

    The median size is used because a few large errors hardly change it. Such errors occur: if a simulated
    member hears of a rebalance one heartbeat too late, the error is a whole interval.
    """
    # If errors are normally distributed, their median size is 0.67 of their standard deviation, and the
    # standard error of a median is 1.25 times that of a mean.
    return 1.25 * median(map(abs, errors)) / 0.67 / sqrt(len(errors))


def _fit(
    taught: Sequence[Episode],
    seen: Sequence[NamedStep],
    strategy: str,
    changes: Mapping[str, str],
    measured: Sequence[float],
) -> tuple[float, list[float]]:
    """Return the cost with which simulated rebalances take as long as recorded ones.

    How long a rebalance waits for heartbeats depends on when the rebalance before it ended, and on what the
    client does with its heartbeats while it works. So each rebalance is simulated together with the one
    before it, and with each of `CLIENTS`; the client that fits best is used.

    Args:
        taught: the episodes with the rebalances, in order of time.
        seen: all steps of the record.
        strategy: the strategy of the group.
        changes: settings and costs of the simulation.
        measured: how long each rebalance took by the record, in ms.

    Returns:
        The cost in ms, 0 or more; and for each rebalance the recorded length minus the simulated one, in ms.
    """
    before = [taught[0], *taught]
    windows = [
        Episode(first.first, seen[first.first : last.last + 1])
        for first, last in zip(before, taught, strict=False)
    ]

    def errors(client: SimulatedClient, revoke_ms: float, seeds: range = SEEDS) -> list[float]:
        """Return how much longer each rebalance is than in the model with this client and cost, in ms."""
        given = full_names({**changes, "revoke_ms": f"{revoke_ms:.3f}"})
        return [
            was
            - fmean(
                _last_ms(
                    episode,
                    window,
                    simulate(with_settings(window.scenario(strategy, seed, revoke_ms, client), given)),
                    revoke_ms,
                )
                for seed in seeds
            )
            for was, window, episode in zip(measured, windows, taught, strict=True)
        ]

    def size(cost: tuple[SimulatedClient, float]) -> float:
        """Return the average size of the errors in ms; one seed is enough to compare two costs."""
        return fmean(map(abs, errors(*cost, SEEDS[:1])))

    # A rebalance is never shorter than the cost, so higher costs are not tried. Near the best of the tried
    # costs, simulated lengths grow as much as the cost does. So the median error brings the cost nearer.
    step_ms = max(min(measured) / STEPS, LEAST_STEP_MS)
    tried = [number * step_ms for number in range(int(min(measured) / step_ms) + 1)]
    client, cost = min(((client, cost) for client in CLIENTS for cost in tried), key=size)
    nearer = max(cost + median(errors(client, cost)), 0.0)
    cost = min((cost, nearer), key=lambda ms: size((client, ms)))
    return cost, errors(client, cost)


def _last_ms(episode: Episode, window: Episode, result: SimulationResult, closing_ms: float) -> float:
    """Return how long the last rebalance of a window takes in a run, in ms; 0 if the run does not have it.

    Args:
        episode: the episode of that rebalance.
        window: the steps that are simulated in the run.
        result: the run.
        closing_ms: how long a member that closes works before it tells the coordinator.
    """
    # Time 0 of the run is between the look that first showed a change and the look before. The last rebalance
    # begins after the last look that did not show it.
    first, last = window.steps[1].step, episode.steps[1].step
    begins_ms = closing_ms + 1_000 * ((last.since or last.at) - first.at)
    found = [rebalance for rebalance in result.rebalances if rebalance.started_ms >= begins_ms]
    return found[-1].completed_ms - found[0].started_ms if found else 0.0
