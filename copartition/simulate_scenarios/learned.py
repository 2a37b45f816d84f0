"""Learn from a record how long a rebalance takes besides waiting, so that the user need not give it.

A record shows for how long the coordinator named no owner of partitions that moved. The model without costs
shows how much of that is waiting: for heartbeats, for the barrier, for sessions. The rest is the members'
work between learning of a rebalance and joining it: the present batch and the revoke callback. A record does
not separate these two, and does not show at all what comes after the assignment. Only classic groups are
used: under KIP-848 heartbeats decide how long a rebalance takes, however long a revoke takes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import sqrt
from os import PathLike
from statistics import fmean, stdev

from assignors.registry import get_assignor
from copartition.deploys.pace import Pace, full_names
from copartition.groups.snapshot import read_record
from copartition.kit.words import count, duration
from copartition.simulate_scenarios.replay import Episode, episodes, see, whole_bounds
from copartition.simulation import simulate
from copartition.simulation.inputs.file import with_settings

LEAST = 3
"""The fewest rebalances from which a cost is learned; with two, a single one would be half of the result."""
MOST = 12
"""The most rebalances that are used, the last ones, so that a long record takes only seconds."""
SEEDS = range(5)
"""The seeds of each rebalance's runs, whose heartbeats are at other places of their interval."""
HIDDEN = "assign_ms, first_fetch_ms and partition_ms"
"""The costs of what members do after the assignment, which a record does not show."""


def learn_costs(path: str | PathLike[str], pace: Pace) -> tuple[Pace, tuple[str, ...]]:
    """Return the pace with the costs that the record teaches, and a sentence that says from what.

    A cost that the user has given is not learned. `poll_ms` and `network_ms` are not changed: they count as
    waiting, so that only what they do not explain is learned.

    Args:
        path: the record.
        pace: how fast a deploy goes, and the settings and costs that the model of the record also has.

    Raises:
        SourceError: the file is not a record.
        ScenarioError: a setting does not exist, or is impossible.
    """
    if "revoke_ms" in pace.changes:
        return pace, ()
    steps = read_record(path)
    strategies = {step.state.strategy for step in steps} - {None}
    taught = [(episode, bounds) for episode in episodes(see(steps)) if (bounds := whole_bounds(episode))][
        -MOST:
    ]
    why = None
    strategy = str(strategies.pop()) if len(strategies) == 1 else ""
    if not strategy:
        why = "the record does not name one assignor"
    # In such a group the next owner learns at its own heartbeat, every 5 s, whether a revoke took 1 s or 4.
    elif not get_assignor(strategy).protocols:
        why = "in a group of the consumer protocol the next heartbeat hides what a revoke takes"
    elif len(taught) < LEAST:
        why = f"the record shows {count(len(taught), 'rebalance')} whose length it bounds"
    if why is not None:
        return pace, (f"{why}, so what a rebalance takes is not learned from it (--set revoke_ms=500)",)
    measured = [(bounds.least + (bounds.most or 0.0)) / 2 for _, bounds in taught]
    learned_ms, errors = _fit([episode for episode, _ in taught], strategy, pace.changes, measured)
    # A cost within twice the standard error of the mean may be chance. Also, looks that are a second apart
    # bound each rebalance only to a second, within which the mean may be wrong in one direction.
    looks_ms = fmean((bounds.most or 0.0) - bounds.least for _, bounds in taught) / 2
    doubt_ms = max(2 * stdev(errors) / sqrt(len(errors)), looks_ms)
    of = f"learned from {count(len(taught), 'rebalance')} of the record, within {duration(doubt_ms)}"
    after = f"{HIDDEN} are not shown by a record"
    if learned_ms <= doubt_ms:
        return pace, (f"the batch in hand and the revoke callback take no time that shows, {of}; {after}",)
    revoke_ms = round(learned_ms, -1)
    text = f"the batch in hand and the revoke callback take {duration(revoke_ms)} together, {of}; {after}"
    return replace(pace, changes={"revoke_ms": f"{revoke_ms:.0f}", **pace.changes}), (text,)


def _fit(
    taught: Sequence[Episode], strategy: str, changes: Mapping[str, str], measured: Sequence[float]
) -> tuple[float, list[float]]:
    """Return the cost at which the model takes as long as the record on average, and each rebalance's error.

    Both are milliseconds; the cost is at least 0. Three runs of the model are enough, because its length
    grows nearly linearly with the cost.
    """
    goal = fmean(measured)

    def lengths(revoke_ms: float) -> list[float]:
        """Return the mean length of each rebalance by the model with this cost."""
        given = full_names({**changes, "revoke_ms": f"{revoke_ms:.3f}"})
        return [
            fmean(
                episode.unnamed_ms(simulate(with_settings(episode.scenario(strategy, seed), given)))
                for seed in SEEDS
            )
            for episode in taught
        ]

    low, said = 0.0, lengths(0.0)
    cost = goal - fmean(said)
    # The waiting alone takes as long as the record.
    if cost <= 0:
        return 0.0, [was - model for was, model in zip(measured, said, strict=True)]
    for _ in range(2):
        before, low_mean = low, fmean(said)
        said, low = lengths(cost), cost
        slope = (fmean(said) - low_mean) / (cost - before) if cost != before else 1.0
        # With a slope near 0 the next cost would be far away; that happens if no member waits for the revoke.
        cost = max(cost + (goal - fmean(said)) / max(slope, 0.5), 0.0)
    return cost, [was - model for was, model in zip(measured, said, strict=True)]
