"""How many consumers, and who reads what, by `cooperative-weighted`."""

from __future__ import annotations

from itertools import count
from math import ceil
from typing import TYPE_CHECKING

from assignors import Group, Member, Topic, get_assignor
from assignors.weighted.assignor import CooperativeWeightedAssignor

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from assignors import Assignor
    from benchmarks.competitors.fit_with_memory import Owners

_MOVES = (0, 1, 2, 3, 4, 6, 8, 12, 16, None)
"""How many moves are allowed, one after the other, until no consumer has more than it can process."""


def fewest_consumers(rates: Sequence[float], owners: Owners, capacity: float) -> Owners:
    """The fewest consumers that can process everything, then few moves."""
    for number in range(ceil(sum(rates) / capacity), len(rates) + 1):
        answer = _owners(rates, owners, capacity, number)
        if answer is not None:
            return answer
    raise ValueError(f"a partition's rate of {max(rates)} is too near to a consumer's capacity, {capacity}")


def slow_to_shrink(rates: Sequence[float], owners: Owners, capacity: float) -> Owners:
    """As many consumers as there are while they can process everything and two fewer cannot; few moves."""
    now = len(set(owners) - {None})
    least = ceil(sum(rates) / capacity)
    if now >= least and (now - 2 < least or _owners(rates, owners, capacity, now - 2) is None):
        answer = _owners(rates, owners, capacity, now)
        if answer is not None:
            return answer
    return fewest_consumers(rates, owners, capacity)


def consumer_loads(rates: Sequence[float], owners: Sequence[int | None]) -> dict[int, float]:
    """What each consumer has to process; partitions without a consumer count for none."""
    loads: dict[int, float] = {}
    for owner, rate in zip(owners, rates, strict=True):
        if owner is not None:
            loads[owner] = loads.get(owner, 0.0) + rate
    return loads


def _owners(rates: Sequence[float], owners: Owners, capacity: float, consumers: int) -> Owners | None:
    """The owners with the fewest moves for so many consumers; None where one gets more than it can process.

    Where consumers have to go, those with the least load do.
    """
    loads = consumer_loads(rates, owners)
    names = sorted(loads, key=lambda name: -loads[name])[:consumers]
    free = (number for number in count() if number not in loads)
    names += [next(free) for _ in range(consumers - len(names))]
    group = _group(owners, names)
    for moves in _MOVES:
        assignor = CooperativeWeightedAssignor(weights={"t": list(rates)}, max_moves=moves)
        answer = _owners_at_rest(assignor, group)
        if max(consumer_loads(rates, answer).values()) <= capacity:
            return answer
    return None


def _group(owners: Owners, consumers: Iterable[int]) -> Group:
    has: dict[int, list[tuple[str, int]]] = {consumer: [] for consumer in consumers}
    for partition, owner in enumerate(owners):
        if owner in has:
            has[owner].append(("t", partition))
    members = [Member(f"{consumer:06}", ["t"], owned=owned) for consumer, owned in has.items()]
    return Group([Topic("t", len(owners))], members)


def _owners_at_rest(assignor: Assignor, group: Group) -> Owners:
    """The owners when partitions that wait a round for their new owner have it."""
    assignment = assignor.assign(group)
    owners = dict(assignment.transferring)
    for member, partitions in assignment.items():
        owners.update(dict.fromkeys(partitions, member))
    return [int(owners[partition]) for partition in sorted(owners)]


def by_count(consumers: int, owners: Owners) -> Owners:
    """What "cooperative-sticky", which weighs nothing, comes to with so many consumers."""
    return _owners_at_rest(get_assignor("cooperative-sticky"), _group(owners, range(consumers)))
