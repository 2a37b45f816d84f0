"""Learn from a record how long a rebalance takes besides waiting, so that the user need not give it.

A member works before it rejoins: it finishes the present batch and runs the revoke callback. A record does
not show these two separately, and it does not show at all what members do after the assignment. Together they
show in two ways, by the protocol of a classic group:

- In an eager group a rebalance takes longer by that work. A simulation of it without costs shows how much is
  waiting, for heartbeats and for the barrier. The rest is the work.
- In a cooperative group members give partitions up between two rebalances: the first one tells them to, and
  the second one begins when they have. The time between the two is the work.

In a KIP-848 group heartbeats decide how long a rebalance takes, even if a revoke takes long.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import sqrt
from os import PathLike
from statistics import fmean, stdev

from assignors.registry import protocol_of
from copartition.deploys.pace import Pace, full_names
from copartition.groups.snapshot import read_record
from copartition.kit.words import count, duration
from copartition.simulate_scenarios.replay import Bounds, Episode, NamedStep, episodes, see, whole_bounds
from copartition.simulation import SimulationResult, simulate
from copartition.simulation.inputs.file import with_settings

LEAST = 3
"""The fewest rebalances from which a cost is learned; of only two, each would decide half of the result."""
MOST = 12
"""The most rebalances that are used, the last ones of a record, so that a long record takes only seconds."""
SEEDS = range(5)
"""The seeds with which each rebalance is simulated. Each seed begins at another moment of heartbeats."""
HIDDEN = "assign_ms, first_fetch_ms and partition_ms"
"""The costs of what members do after the assignment, which a record does not show."""


def learn_costs(path: str | PathLike[str], pace: Pace) -> tuple[Pace, tuple[str, ...]]:
    """Return the pace with the cost `revoke_ms` as the record shows it, and sentences on how it was learned.

    If the user has given that cost, nothing is learned. `poll_ms` and `network_ms` are not changed. They
    count as waiting, so only the time that they do not explain is learned.

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
    taught = [
        (episode, bounds)
        for episode in episodes(see(steps))
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
        learned_ms, errors = fmean(measured), measured
    else:
        learned_ms, errors = _fit([episode for episode, _ in taught], strategy, pace.changes, measured)
    # A cost within twice the standard error of the mean may be chance. Also, if looks are a second apart, the
    # length of each rebalance is known only to a second, and the mean may be wrong by as much.
    looks_ms = fmean((bounds.most or 0.0) - bounds.least for _, bounds in taught) / 2
    doubt_ms = max(2 * stdev(errors) / sqrt(len(errors)), looks_ms)
    of = f"learned from {count(len(taught), 'rebalance')} of the record, within {duration(doubt_ms)}"
    after = f"{HIDDEN} are not shown by a record"
    if learned_ms <= doubt_ms:
        return pace, (f"the batch in hand and the revoke callback take no time that shows, {of}; {after}",)
    revoke_ms = round(learned_ms, -1)
    text = f"the batch in hand and the revoke callback take {duration(revoke_ms)} together, {of}; {after}"
    return replace(pace, changes={"revoke_ms": f"{revoke_ms:.0f}", **pace.changes}), (text,)


def _rebalance(steps: Sequence[NamedStep]) -> Bounds:
    """Return bounds of the time from the beginning of the steps' first rebalance to the end of their last.

    Args:
        steps: those of an episode, from one settled step to the next.
    """
    return _between(steps[1], steps[-1])


def _handover(steps: Sequence[NamedStep]) -> Bounds | None:
    """Return bounds of the time from a rebalance that takes partitions away to the one that gives them away.

    Between the two the group is stable, and some partitions have no owner. It is None if the steps, which are
    those of an episode, do not show that.
    """
    for number, step in enumerate(steps[1:], 1):
        if step.step.state.status == "Stable" and not step.settled:
            # The first rebalance has ended, so the next step at which the group is not stable is the second.
            after = [later for later in steps[number:] if later.step.state.status != "Stable"]
            return _between(step, after[0]) if after else None
    return None


def _between(begin: NamedStep, end: NamedStep) -> Bounds:
    """Return bounds of the time between two changes, which these steps were the first to show."""
    begun, ended = begin.step, end.step
    # Only the first step of a record has no look before it, and no episode has a change in that one.
    last_before, last_during = begun.since or begun.at, ended.since or ended.at
    return Bounds(1_000 * max(last_during - begun.at, 0.0), 1_000 * (ended.at - last_before))


def _fit(
    taught: Sequence[Episode], strategy: str, changes: Mapping[str, str], measured: Sequence[float]
) -> tuple[float, list[float]]:
    """Return the cost with which simulated rebalances take as long as recorded ones on average.

    Args:
        taught: the rebalances.
        strategy: the strategy of the group.
        changes: settings and costs of the simulation.
        measured: how long each rebalance took by the record, in ms.

    Returns:
        The cost in ms, 0 or more; and for each rebalance the recorded length minus the simulated one, in ms.
    """
    # The length of a rebalance grows nearly linearly with the cost, so three steps of the secant method are
    # enough.
    goal = fmean(measured)

    def lengths(revoke_ms: float) -> list[float]:
        """Return the mean length of each rebalance by the model with this cost."""
        given = full_names({**changes, "revoke_ms": f"{revoke_ms:.3f}"})
        return [
            fmean(
                _rebalancing_ms(simulate(with_settings(episode.scenario(strategy, seed, revoke_ms), given)))
                for seed in SEEDS
            )
            for episode in taught
        ]

    low, said = 0.0, lengths(0.0)
    cost = goal - fmean(said)
    # If no cost is left, the model's waiting alone explains the recorded length.
    if cost <= 0:
        return 0.0, [was - model for was, model in zip(measured, said, strict=True)]
    for _ in range(2):
        before, low_mean = low, fmean(said)
        said, low = lengths(cost), cost
        slope = (fmean(said) - low_mean) / (cost - before) if cost != before else 1.0
        # If no member waits for a revoke, the slope is near 0, and the next cost would be far away. So the
        # slope is bounded.
        cost = max(cost + (goal - fmean(said)) / max(slope, 0.5), 0.0)
    return cost, [was - model for was, model in zip(measured, said, strict=True)]


def _rebalancing_ms(result: SimulationResult) -> float:
    """Return the time from the beginning of a run's first rebalance to the end of its last one, in ms."""
    rebalances = result.rebalances
    return rebalances[-1].completed_ms - rebalances[0].started_ms if rebalances else 0.0
