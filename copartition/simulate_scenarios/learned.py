"""Learn from a record what a rebalance takes besides waiting, so that nobody has to type it.

A record shows for how long the coordinator named no owner of partitions that moved. The model without costs
says how much of that is waiting: for heartbeats, for the barrier, for sessions. What is left is the work of
the members between hearing of a rebalance and joining it: the batch in hand and the revoke callback. Looks
do not tell these two apart, and what comes after the assignment they do not show at all. Only classic groups
teach: under KIP-848 the length of a rebalance is decided by heartbeats, whatever a revoke takes.
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
"""The fewest rebalances that a cost is learned from: of two, one alone may be half of the answer."""
MOST = 12
"""The most rebalances that are looked at, the last ones, so that a long record takes seconds."""
SEEDS = range(5)
"""The runs of each rebalance, whose heartbeats are at other places of their interval."""
HIDDEN = "assign_ms, first_fetch_ms and partition_ms"
"""The costs of what members do after the assignment, of which a look shows nothing."""


def learn_costs(path: str | PathLike[str], pace: Pace) -> tuple[Pace, tuple[str, ...]]:
    """Return the pace with what the record teaches, and a sentence on what that stands on.

    A cost that the user has given is not learned. `poll_ms` and `network_ms` stay as they are: they count as
    waiting, so that what is learned is what they leave.

    Args:
        path: the record.
        pace: how fast a deploy goes, and settings and costs, which the model of the record has, too.

    Raises:
        SourceError: the file is no record.
        ScenarioError: a setting that does not exist, or cannot be.
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
    # In such a group the next owner hears at its own heartbeat, every 5 s, whether a revoke took 1 s or 4.
    elif not get_assignor(strategy).protocols:
        why = "in a group of the consumer protocol the next heartbeat hides what a revoke takes"
    elif len(taught) < LEAST:
        why = f"the record shows {count(len(taught), 'rebalance')} whose length it bounds"
    if why is not None:
        return pace, (f"{why}, so what a rebalance takes is not learned from it (--set revoke_ms=500)",)
    measured = [(bounds.least + (bounds.most or 0.0)) / 2 for _, bounds in taught]
    learned_ms, errors = _fit([episode for episode, _ in taught], strategy, pace.changes, measured)
    # What lies within twice the standard error of the mean may be chance; and looks that are a second apart
    # bound each rebalance to a second, in which their mean may err to one side.
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
    """Return the cost at which the model is as long as the record on average, and what is left of each.

    Both are milliseconds; the cost is at least 0. Three looks at the model are enough: its length grows
    nearly in step with the cost.
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
    # The waiting alone is as long as what was recorded.
    if cost <= 0:
        return 0.0, [was - model for was, model in zip(measured, said, strict=True)]
    for _ in range(2):
        before, low_mean = low, fmean(said)
        said, low = lengths(cost), cost
        slope = (fmean(said) - low_mean) / (cost - before) if cost != before else 1.0
        # A slope near 0 would throw the next look far away; a revoke that others do not wait for has one.
        cost = max(cost + (goal - fmean(said)) / max(slope, 0.5), 0.0)
    return cost, [was - model for was, model in zip(measured, said, strict=True)]
