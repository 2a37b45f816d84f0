"""Lives of share groups, whose members share partitions: their targets may overlap."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from tools.oracle.assignors.lives import chains, crowded_bins, odd_names
from tools.oracle.assignors.worlds import live_on, new_world, runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tools.oracle.assignors.worlds import Json


def share_scenarios(seed: object, count: int) -> Iterator[Json]:
    """Groups of "simple", each decided by its number and the seed alone."""
    for number in range(count):
        rng = Random(f"simple/{seed}/{number}")
        name, kind = rng.choice(_kinds())
        settings = {"equal": rng.random() < 0.6} if kind is chains else {}
        steps = kind(rng, "uniform", **settings)  # topics have ids, as for the broker's other strategies
        yield {"name": f"{name}-{seed}-{number}", "assignor": "simple", "steps": steps}


def _kinds() -> tuple[tuple[str, Callable[..., list[Json]]], ...]:
    """Return the kinds of groups, each with the name that its cases have in the golden file."""
    few, targets = ("few_partitions", _few_partitions), ("targets", _targets)
    return few, few, targets, targets, ("chains", chains), ("odd_names", odd_names), ("crowded", crowded_bins)


def _few_partitions(rng: Random, assignor: str) -> list[Json]:
    """More members than partitions, so that partitions are shared."""
    world = new_world(
        rng,
        assignor,
        id_style=rng.choice(("plain", "real", "colliding")),
        members=rng.randint(2, 25),
        topics=rng.randint(1, 4),
        partitions=rng.randint(1, 5),
        equal=rng.random() < 0.5,
    )
    away: dict[str, Json] = {}
    made = [world.step()]
    for _ in range(rng.randint(2, 6)):
        live_on(world, away)
        made.append(world.step())
    return made


def _targets(rng: Random, assignor: str) -> list[Json]:
    """Any targets as the start: too many members for a partition, too many partitions for a member."""
    world = new_world(rng, assignor, id_style=rng.choice(("plain", "real")), equal=rng.random() < 0.6)
    pairs = [(name, number) for name, about in world.topics.items() for number in range(about["partitions"])]
    first = world.step()
    greed = [rng.choice((0, 0.1, 0.5, 0.9)) for _ in first["members"]]
    for who, share in zip(first["members"], greed, strict=True):
        mine = [pair for pair in pairs if rng.random() < share]
        rng.shuffle(mine)
        if mine:
            who["owned"] = runs(sorted(mine, key=lambda pair: pair[0]))
    away: dict[str, Json] = {}
    made = [first]
    for _ in range(rng.randint(1, 3)):
        live_on(world, away)
        made.append(world.step())
    return made
