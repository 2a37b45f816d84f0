"""What members are called in pictures, neighbours taken together where they are many; what they exchange."""

from __future__ import annotations

import re
from enum import IntEnum
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from copartition.diff import Action, Presence
from copartition.reports.diff.verdict import presence
from copartition.reports.names import shared_start
from copartition.reports.visible import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from copartition.diff import AssignmentDiff, MemberChange

FEW = 30
"""The most members that a picture shows one by one."""

_ROOM = 24
"""The most letters of a name; so many leave room for a picture on a phone."""
_FIRST = 14
"""The most letters of the first name of several."""
_LEAST = 12
"""Letters that a name has left beside a word about its member."""


class Kind(IntEnum):
    """Why a partition can have another owner, as far as the members tell; `label` is how a page says it."""

    KEPT = 0
    LEFT = 1
    JOINED = 2
    BETWEEN = 3
    FREE = 4
    CONFLICT = 5

    @property
    def style(self) -> str:
        """The class in the style sheet."""
        return self.name.lower()

    @property
    def label(self) -> str:
        """What it is."""
        return (
            "kept",
            "from a member that left",
            "to a member that joined",
            "between members",
            "from or to nobody",
            "with two owners",
        )[self]


class Groups(NamedTuple):
    """Ranges of members, and nobody.

    Attributes:
        names: what each is called; nobody comes last.
        shared: the beginning of all names that "…" stands for; empty where they are whole.
        size: members of the largest.
        of: the group of each member, and that of nobody, which index -1 finds; 0 for those in none.
    """

    names: tuple[str, ...]
    shared: str
    size: int
    of: NDArray[np.int64]


def groups(diff: AssignmentDiff, which: NDArray[np.integer], most: int) -> Groups:
    """At most so many groups of these members, of the same size but for the last."""
    size = max(1, ceil(len(which) / max(1, most)))
    names = [visible(diff.members[index].name) for index in which.tolist()]
    room = _ROOM if size == 1 else _FIRST
    shared = _beginning(names) if any(len(name) > room for name in names[::size]) else ""
    ends = [f"…{name[len(shared) :]}" for name in names] if shared else names
    if size > 1:
        labels = [_range(ends[at : at + size]) for at in range(0, len(ends), size)]
    else:
        members = (diff.members[index] for index in which.tolist())
        labels = [_label(name, member) for name, member in zip(ends, members, strict=True)]
    of = np.zeros(len(diff.members) + 1, np.int64)
    of[which] = np.arange(len(which)) // size
    of[-1] = len(labels)
    return Groups((*labels, "nobody"), shared, size, of)


def _label(name: str, member: MemberChange) -> str:
    status = presence(member)
    return f"{_cut(name, max(_LEAST, _ROOM - len(status)))} ({status})" if status else _cut(name, _ROOM)


def _range(names: Sequence[str]) -> str:
    """The first and the last of several names, what both begin with said once."""
    first, last = names[0], names[-1]
    if len(names) == 1:
        return _cut(first, _ROOM)
    return f"{_cut(first, _FIRST)} to {_cut(last[len(_beginning([first, last])) :], _ROOM - _FIRST)}"


def _beginning(names: Sequence[str]) -> str:
    """What all names begin with, up to a sign that parts words."""
    if len(names) < 2:
        return ""
    found = re.match(r".*[^A-Za-z0-9]", shared_start(names))
    return found[0] if found else ""


def _cut(name: str, room: int) -> str:
    """A name without its middle where it is longer than this."""
    tail = room // 2
    return name if len(name) <= room else f"{name[: room - tail - 1]}…{name[-tail:]}"


def exchanged(diff: AssignmentDiff, of: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many partitions each group has of each other, by kind: an array [kind, before, after].

    Partitions that nobody has on either side are left out.
    """
    left, joined = (
        np.array([*(member.presence is there for member in diff.members), False], np.bool_)
        for there in (Presence.LEFT, Presence.JOINED)
    )
    source, target = diff.source, diff.target
    kind = np.select(
        [
            diff.action == Action.CONFLICT,
            source == target,
            (source < 0) | (target < 0),
            left[source],
            joined[target],
        ],
        [Kind.CONFLICT, Kind.KEPT, Kind.FREE, Kind.LEFT, Kind.JOINED],
        Kind.BETWEEN,
    )
    number = int(of[-1]) + 1
    owned = (source >= 0) | (target >= 0)
    place = ((kind * number + of[source]) * number + of[target])[owned]
    return np.bincount(place, minlength=len(Kind) * number**2).reshape(len(Kind), number, number)
