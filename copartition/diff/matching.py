"""Which member before is which member after; without it every restart reads as if everything had moved."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from partitioning.errors import DiffError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from assignors.state import MemberIdentity

_FIELDS = {"instance-id": "instance_id", "client-id": "client_id", "member-id": "id", "host": "host"}
"""What names a member, the best name first."""

MATCH_RULES = ("auto", *_FIELDS, "overlap")

RENAME_PCT = 50
"""Members that have at least this much in common are taken for one (as git does with files)."""


@dataclass(frozen=True, slots=True)
class Rename:
    """Two members taken for one because they have the same partitions.

    Attributes:
        before: member id before.
        after: member id after.
        score: partitions of both in percent of the larger list.
    """

    before: str
    after: str
    score: int


@dataclass(frozen=True, slots=True)
class Matching:
    """Pairs of members, by index.

    Attributes:
        rule: the rules that made a pair, such as "client-id" or "client-id, overlap"; the one asked for where
            no pair was made.
        after_of: index after of every member before, -1 for one that left.
        rule_of: the rule that matched each member before, None for one that left.
        renames: pairs found by overlap.
    """

    rule: str
    after_of: tuple[int, ...]
    rule_of: tuple[str | None, ...]
    renames: tuple[Rename, ...]


def match_members(
    before: Sequence[MemberIdentity],
    after: Sequence[MemberIdentity],
    owner_before: NDArray[np.int32],
    owner_after: NDArray[np.int32],
    rule: str = "auto",
) -> Matching:
    """Pair the members of two states.

    Args:
        before: members before.
        after: members after.
        owner_before: index of the owner before of each partition that both sides know, -1 for none.
        owner_after: the same after.
        rule: one of `MATCH_RULES`. "auto" matches by instance id, client id, member id and host, each where
            it is unique on both sides, then by overlap.

    Raises:
        DiffError: an unknown rule, or one whose ids are missing or not unique.
    """
    if rule not in MATCH_RULES:
        raise DiffError(f"unknown match rule {rule!r}; choose one of {', '.join(MATCH_RULES)}")
    after_of = [-1] * len(before)
    rule_of: list[str | None] = [None] * len(before)
    paired: set[int] = set()
    if rule in _FIELDS:
        for side, members in (("before", before), ("after", after)):
            _check_unique(rule, side, members)
    for each, field in _FIELDS.items():
        if rule in {"auto", each}:
            for one, other in _pairs_by_field(field, before, after):
                if after_of[one] < 0 and other not in paired:
                    after_of[one], rule_of[one] = other, each
                    paired.add(other)
    renames = []
    if rule in {"auto", "overlap"}:
        free = np.array([number < 0 for number in after_of], np.bool_)
        spare = np.array([number not in paired for number in range(len(after))], np.bool_)
        for one, other, score in _pairs_by_overlap(owner_before, owner_after, free, spare):
            after_of[one], rule_of[one] = other, "overlap"
            renames.append(Rename(before[one].id, after[other].id, score))
    used = [each for each in MATCH_RULES if each in rule_of]
    return Matching(", ".join(used) or rule, tuple(after_of), tuple(rule_of), tuple(renames))


def _check_unique(rule: str, side: str, members: Sequence[MemberIdentity]) -> None:
    values = [getattr(member, _FIELDS[rule]) for member in members]
    if None in values:
        member = members[values.index(None)].id
        raise DiffError(f"cannot match by {rule}: member {member!r} {side} has none; try --match auto")
    for value, times in Counter(values).items():
        if times > 1:
            raise DiffError(
                f"cannot match by {rule}: {times} members {side} have {value!r}; try --match auto"
            )


def _pairs_by_field(
    field: str, before: Sequence[MemberIdentity], after: Sequence[MemberIdentity]
) -> list[tuple[int, int]]:
    """Pairs whose value of a field is the same and unique on both sides."""
    olds, news = ([getattr(member, field) for member in side] for side in (before, after))
    old_times, new_times = Counter(olds), Counter(news)
    number = {value: index for index, value in enumerate(news)}
    return [
        (index, number[value])
        for index, value in enumerate(olds)
        if value is not None and old_times[value] == 1 and new_times[value] == 1
    ]


def _pairs_by_overlap(
    owner_before: NDArray[np.int32],
    owner_after: NDArray[np.int32],
    free: NDArray[np.bool_],
    spare: NDArray[np.bool_],
) -> list[tuple[int, int, int]]:
    """Unmatched members that share most of their partitions, the largest overlap first."""
    if not (free.any() and spare.any()):
        return []
    owned = (owner_before >= 0) & (owner_after >= 0)
    olds, news = owner_before[owned], owner_after[owned]
    wanted = free[olds] & spare[news]
    pairs, shared = np.unique(olds[wanted].astype(np.int64) * len(spare) + news[wanted], return_counts=True)
    sizes = (
        np.bincount(owner_before[owner_before >= 0], minlength=len(free)),
        np.bincount(owner_after[owner_after >= 0], minlength=len(spare)),
    )
    one, other = np.divmod(pairs, len(spare))
    score = 100 * shared // np.maximum(sizes[0][one], sizes[1][other])
    overlaps: list[tuple[int, int, int]] = []
    lost_one, lost_other = set[int](), set[int]()
    for row in np.lexsort((pairs, -shared, -score)).tolist():
        old, new = int(one[row]), int(other[row])
        if score[row] >= RENAME_PCT and old not in lost_one and new not in lost_other:
            overlaps.append((old, new, int(score[row])))
            lost_one.add(old)
            lost_other.add(new)
    return overlaps
