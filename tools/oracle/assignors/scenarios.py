"""The scenarios whose answers the golden files hold, by assignor and family.

Everything is seeded by names: the same scenario comes out everywhere, and a new family changes no other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from tools.oracle.assignors.claims import claims, crowded_claims, strided_targets, tangled_groups, targets
from tools.oracle.assignors.lives import (
    chains,
    copartitioned_topics,
    crowded_bins,
    large,
    odd_names,
    racks,
    settles,
    static_members,
    wide_topics,
)
from tools.oracle.assignors.quirks.broker import broker_range_quirks, uniform_quirks
from tools.oracle.assignors.quirks.client import range_quirks, round_robin_quirks
from tools.oracle.assignors.quirks.sticky import sticky_quirks
from tools.oracle.assignors.quirks.sticky_memory import memory_quirks
from tools.oracle.assignors.quirks.sticky_racks import rack_quirks
from tools.oracle.assignors.worlds import BROKER, STICKY, Json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ASSIGNORS = ("range", "roundrobin", *STICKY, *BROKER)


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of scenario.

    Attributes:
        name: what it is about.
        make: the steps of one scenario, from a random source and an assignor.
        count: how many scenarios the golden file holds.
    """

    name: str
    make: Callable[[Random, str], list[Json]]
    count: int


def _pair(name: str, make: Callable[..., list[Json]], count: int, **settings: float) -> list[Family]:
    """A family with equal and one with unequal subscriptions."""
    return [
        Family(f"{name}_equal", partial(make, equal=True, **settings), count),
        Family(f"{name}_unequal", partial(make, equal=False, **settings), count),
    ]


_ALL = [
    *_pair("chains", chains, 110),
    Family("odd_names", odd_names, 80),
    Family("crowded", crowded_bins, 25),
    Family("large", large, 6),
]
_CLIENT = [*_ALL, *_pair("racks", racks, 80)]
_STICKY = [
    *_CLIENT,
    *_pair("settles", settles, 60),
    *_pair("claims", claims, 150),
    *_pair("shrunk", claims, 60, overlap=0.1, beyond=0.3),
    Family("tangled", tangled_groups, 150),
    Family("crowded_claims", crowded_claims, 40),
]
_STATIC = Family("static_members", static_members, 60)
_BROKER = [
    *_ALL,
    *_pair("targets", targets, 100),
    *_pair("settles", settles, 40),
    *_pair("shrunk", targets, 40, beyond=0.3),
    Family("wide_topics", wide_topics, 40),
    Family("strided", strided_targets, 30),
    _STATIC,
]
FAMILIES: dict[str, list[Family]] = {
    "range": [*_CLIENT, Family("copartitioned", copartitioned_topics, 100), _STATIC],
    "roundrobin": [*_CLIENT, _STATIC],
    "sticky": _STICKY,
    "cooperative-sticky": _STICKY,
    "uniform": _BROKER,
    "broker-range": _BROKER,
}


def _quirks(assignor: str) -> Iterator[Json]:
    if assignor in STICKY:
        for named in (sticky_quirks, rack_quirks, memory_quirks):
            yield from named(assignor)
        return
    named = {
        "range": range_quirks,
        "roundrobin": round_robin_quirks,
        "uniform": uniform_quirks,
        "broker-range": broker_range_quirks,
    }
    yield from named[assignor]()


def families(assignor: str) -> list[str]:
    """Names of the families of an assignor; "quirks" are the scenarios with a name of their own."""
    return ["quirks", *(family.name for family in FAMILIES[assignor])]


def scenarios(assignor: str, family: str) -> Iterator[Json]:
    """The scenarios of a family; those of "quirks" may say what they expect."""
    if family == "quirks":
        yield from _quirks(assignor)
        return
    kind = next(kind for kind in FAMILIES[assignor] if kind.name == family)
    for number in range(kind.count):
        yield random_scenario(assignor, kind, number)


def random_scenario(assignor: str, family: Family, seed: object) -> Json:
    """One scenario of a family, decided by its seed alone."""
    rng = Random(f"{assignor}/{family.name}/{seed}")
    return {"name": f"{family.name}-{seed}", "assignor": assignor, "steps": family.make(rng, assignor)}
