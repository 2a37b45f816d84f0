"""The members of two sides, and what they are called."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from assignors.state import MemberIdentity


Identity: TypeAlias = tuple[int, int]
"""The index of a member before and after, -1 on the side where it is not."""


class Presence(StrEnum):
    """On which sides a member is."""

    STAYED = "stayed"
    """On both."""
    JOINED = "joined"
    """Only after."""
    LEFT = "left"
    """Only before."""
    UNKNOWN_BEFORE = "not known before"
    """Seen only after; not all members before are known, so it may have been there without partitions."""
    UNKNOWN_AFTER = "not known after"
    """Seen only before; not all members after are known, so it may still be there without partitions."""


@dataclass(frozen=True, slots=True)
class MemberChange:
    """One member over both sides.

    Attributes:
        name: what the diff calls it: its instance id, else its client id where unique, else its member id.
        before_id: member id before, None for one that was not seen then.
        after_id: member id after, None for one that was not seen then.
        rule: the rule by which both ids are one member.
        before: number of partitions before.
        after: number of partitions after.
        kept: partitions it had before and after.
        presence: on which sides it is.
    """

    name: str
    before_id: str | None
    after_id: str | None
    rule: str | None
    before: int
    after: int
    kept: int
    presence: Presence


def order_members(
    after_of: tuple[int, ...], before: tuple[MemberIdentity, ...], after: tuple[MemberIdentity, ...]
) -> tuple[list[str], list[Identity]]:
    """Both sides' members in natural order: names and identities; `after_of` is -1 for one that left."""
    joined = sorted({*range(len(after))}.difference(after_of))
    identities: list[Identity] = [*enumerate(after_of), *((-1, index) for index in joined)]
    names = _names(identities, before, after)
    order = sorted(range(len(names)), key=lambda index: natural(names[index]))
    return [names[index] for index in order], [identities[index] for index in order]


def _names(
    identities: list[Identity], before: tuple[MemberIdentity, ...], after: tuple[MemberIdentity, ...]
) -> list[str]:
    """What each member is called: short where that is unique, never the same for two."""
    clients = [Counter(member.client_id for member in side) for side in (before, after)]

    def short(one: int, other: int) -> str:
        member, times = (after[other], clients[1]) if other >= 0 else (before[one], clients[0])
        if member.instance_id:
            return member.instance_id
        return member.client_id if member.client_id and times[member.client_id] == 1 else member.id

    names = [short(*identity) for identity in identities]
    times = Counter(names)
    for index, (one, other) in enumerate(identities):
        if times[names[index]] > 1:
            names[index] = after[other].id if other >= 0 else before[one].id
    times = Counter(names)
    return [
        f"{name} ({'before' if other < 0 else 'after'})" if times[name] > 1 else name
        for name, (_, other) in zip(names, identities, strict=True)
    ]


def natural(name: str) -> list[tuple[int, str]]:
    """worker-9 before worker-10: of two numbers the longer one is the greater, whatever their length."""
    parts = re.split(r"([0-9]+)", name)
    parts[1::2] = [number.lstrip("0") for number in parts[1::2]]
    return [(len(part) if place % 2 else -1, part) for place, part in enumerate(parts)]
