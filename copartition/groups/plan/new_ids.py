"""Member ids that nobody knows yet, and whether a plan rests on what they will be.

A classic coordinator makes the id of a member of its instance id, or of its client id if it has none, and a
random UUID. Under the consumer protocol (KIP-848) the whole id is random.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Sequence

    from copartition.groups.plan.members import Seat

_BY_ID = {"sticky", "cooperative-sticky", "librdkafka-cooperative-sticky"}
"""Strategies that go by the order of ids, Java's among members that own something by that of a HashMap."""

_BY_INSTANCE = {"range", "roundrobin", "broker-range"}
"""Strategies that put static members first, by instance id, then the others by id."""


def placeholder(prefix: str, taken: Collection[str | None]) -> str:
    """An id for a member whose id will begin like this; it sorts between the digits and letters of UUIDs."""
    return next(name for number in count() if (name := f"{prefix}?{number or ''}") not in taken)


def unknown_places(seats: Sequence[Seat], strategy: str, *, random_ids: bool) -> list[Seat]:
    """New members whose place among the others is not known, where the strategy goes by that place.

    Args:
        seats: the members.
        strategy: the assignor's name; how one that is not Kafka's own goes by ids is not known.
        random_ids: whether ids are wholly random, as under the consumer protocol.
    """
    if strategy in _BY_INSTANCE:
        seats = [seat for seat in seats if seat.identity.instance_id is None]
    new = [seat for seat in seats if seat.prefix is not None]
    if strategy not in _BY_INSTANCE | _BY_ID or (strategy in _BY_ID and any(map(_restarted, new))):
        return new
    prefixes = ["" if random_ids else seat.prefix or "" for seat in new]
    ids = [seat.member.id for seat in seats if seat.prefix is None]
    kinds = {*zip(prefixes, map(_kind, new), strict=True)}
    return [
        seat
        for seat, prefix in zip(new, prefixes, strict=True)
        if any(_may_pass(prefix, name) for name in ids)
        or any(
            kind != _kind(seat) and (other == prefix or _may_pass(prefix, other) or _may_pass(other, prefix))
            for other, kind in kinds
        )
    ]


def _may_pass(prefix: str, other: str) -> bool:
    """Whether a UUID decides if an id that begins like this comes before the other one."""
    return not prefix or (other.startswith(prefix) and "0" <= other[len(prefix) : len(prefix) + 1] <= "f")


def _kind(seat: Seat) -> Hashable:
    """Joining members of one kind may change places without anybody seeing it; a restarted one is its own."""
    return seat.identity.id if _restarted(seat) else seat.identity._replace(id="")


def _restarted(seat: Seat) -> bool:
    """Whether a new member is an old one, which has had partitions under its new id since."""
    return seat.identity.id != seat.member.id
