"""How many consumers changing rates need, and what moves, beside bin packing.

`python -m benchmarks.autoscaling` writes `benchmarks/autoscaling.md`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rich.progress import track

from benchmarks.autoscaling.policies import (
    by_count,
    consumer_loads,
    fewest_consumers,
    slow_to_shrink,
)
from benchmarks.competitors.fit_with_memory import (
    Owners,
    best_fit_decreasing,
    best_fit_with_memory,
    worst_fit_with_memory,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Policy = Callable[[Sequence[float], Owners, float], Owners]

SAVED = Path(__file__).parents[1] / "autoscaling.md"
PARTITIONS = 32
CAPACITY = 100.0
HOTTEST = 99.0
"""The highest rate of a partition: `cooperative-weighted` moves nothing for less than 1 % of the peak."""
CHANGES = (5, 10, 15, 20, 25)
STEPS, TRACES = 200, 3

POLICIES: dict[str, Policy] = {
    "best fit decreasing": best_fit_decreasing,
    "worst fit with memory": worst_fit_with_memory,
    "best fit with memory": best_fit_with_memory,
    "ours, fewest consumers": fewest_consumers,
    "ours, slow to shrink": slow_to_shrink,
}


class Figures(NamedTuple):
    """Means over the steps of a trace.

    Attributes:
        consumers: how many there are.
        rebalanced: the rate of the partitions that another consumer has than before, in capacities of one
            consumer (the paper's R-score).
        beyond: what part of the records comes to a consumer beyond its capacity.
    """

    consumers: float
    rebalanced: float
    beyond: float


def trace(change: int, seed: int, steps: int) -> list[list[float]]:
    """Rates of each partition, step by step, as in the paper.

    They begin anywhere between nothing and the highest rate, and change at each step by at most `change`
    percent of that, up or down alike.
    """
    random = np.random.default_rng([change, seed])
    rates = [random.uniform(0, HOTTEST, PARTITIONS)]
    for _ in range(1, steps):
        moved = rates[-1] + random.uniform(-change, change, PARTITIONS) * HOTTEST / 100
        rates.append(np.clip(moved, 0, HOTTEST))
    return [step.tolist() for step in rates]


def walk(policy: Policy, rates: Sequence[Sequence[float]]) -> list[Owners]:
    """Who reads what at each step; the policy starts with no consumer."""
    owners: list[Owners] = [[None] * PARTITIONS]
    for step in rates:
        owners.append(policy(step, owners[-1], CAPACITY))
    return owners[1:]


def figures(rates: Sequence[Sequence[float]], owners: Sequence[Owners]) -> Figures:
    """What these owners come to at these rates."""
    loads = [consumer_loads(step, now) for step, now in zip(rates, owners, strict=True)]
    beyond = [sum(max(load - CAPACITY, 0.0) for load in of.values()) / sum(of.values()) for of in loads]
    moved = [
        sum(rate for rate, old, new in zip(step, before, after, strict=True) if old != new) / CAPACITY
        for step, before, after in zip(rates[1:], owners, owners[1:], strict=False)
    ]
    return Figures(float(np.mean([*map(len, loads)])), float(np.mean(moved)), float(np.mean(beyond)))


def run_policies(change: int, seed: int, steps: int) -> dict[str, Figures]:
    """What each policy comes to, and Kafka's with as many consumers as "worst fit with memory" has."""
    rates = trace(change, seed, steps)
    walks = {name: walk(policy, rates) for name, policy in POLICIES.items()}
    by_counts: list[Owners] = [[None] * PARTITIONS]
    for owners in walks["worst fit with memory"]:
        by_counts.append(by_count(len(set(owners)), by_counts[-1]))
    walks["cooperative-sticky"] = by_counts[1:]
    return {name: figures(rates, owners) for name, owners in walks.items()}


def mean(runs: Sequence[Figures]) -> Figures:
    """The mean of each figure."""
    return Figures(*np.mean(runs, axis=0).tolist())


def page(rows: dict[int, dict[str, Figures]], steps: int, traces: int) -> str:
    """The page, in Markdown; rows by how much rates change at a step."""
    lines = [
        f"| {change} % | {name} | {of.consumers:.2f} | {of.rebalanced:.2f} | {100 * of.beyond:.1f} % |"
        for change, policies in rows.items()
        for name, of in policies.items()
    ]
    return f"""# Consumers for changing rates, beside bin packing

Made by `python -m benchmarks.autoscaling`. {PARTITIONS} partitions, whose rates begin anywhere between 0
and {HOTTEST:.0f}, and change at each of {steps} steps by at most that percentage of this range, up or down. A
consumer can process {CAPACITY:.0f}. It is the setting of [arXiv 2206.11170](https://arxiv.org/abs/2206.11170),
with {traces} traces of our own for each row. All policies get the same rates, and the present ones exactly.
"Worst fit with memory" and "best fit with memory" are heuristics of our own: consumers keep what still fits,
and the rest goes to the emptiest or to the fullest consumer with room. The paper's algorithms were not run.

- **ours, fewest consumers**: the fewest with which `cooperative-weighted` gives none more than its capacity,
  and the least `max_moves` that suffices.
- **ours, slow to shrink**: as many as there are, while they suffice and two fewer do not.
- **cooperative-sticky**: Kafka's, which counts partitions, with as many consumers as "worst fit with
  memory" has at that step.

The figures are means over all steps: how many consumers there are; the rate of the partitions that change
hands, in capacities of one consumer (the paper's R-score: what is not read meanwhile); and what part of the
records comes to a consumer beyond its capacity, so that it falls behind.

| change | policy | consumers | rebalanced | beyond capacity |
|---|---|---|---|---|
{chr(10).join(lines)}

{_conclusion(rows)}
"""


def _conclusion(rows: dict[int, dict[str, Figures]]) -> str:
    lines = []
    for ours in ("ours, slow to shrink", "ours, fewest consumers"):
        for theirs in ("worst fit with memory", "best fit with memory"):
            pairs = [(policies[ours], policies[theirs]) for policies in rows.values()]
            fewer = sum(our.consumers <= their.consumers for our, their in pairs)
            calmer = sum(our.rebalanced <= their.rebalanced for our, their in pairs)
            lines.append(
                f'- "{ours}" beside "{theirs}": no more consumers in {fewer} of {len(pairs)} settings, '
                f"no more rebalanced in {calmer}."
            )
    return "\n".join(lines)


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.autoscaling", description=__doc__)
    options.add_argument("--steps", type=int, default=STEPS, help="fewer are not saved but printed")
    steps = options.parse_args().steps
    rows = {}
    for change in track(CHANGES, "settings"):
        runs = [run_policies(change, seed, steps) for seed in range(TRACES)]
        rows[change] = {name: mean([run[name] for run in runs]) for name in runs[0]}
    written = page(rows, steps, TRACES)
    if steps == STEPS:
        SAVED.write_text(written)
    else:
        print(written)


if __name__ == "__main__":
    main()
