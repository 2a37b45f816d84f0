"""Pair and name the members of two states, and define the change of one member and of one partition.

Without pairs of members, every restart reads as if everything had moved.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assignors.interface import Reason
from assignors.partition_list import PartitionList
from assignors.state import MemberIdentity
from copartition.kit.words import natural
from partitioning.errors import DiffError

_FIELDS = {"instance-id": "instance_id", "client-id": "client_id", "member-id": "id", "host": "host"}
"""The fields by which members are recognised, the best first: match rule -> attribute of `MemberIdentity`."""

MATCH_RULES = ("auto", *_FIELDS, "overlap")
"""The values of --match."""

RENAME_PCT = 50
"""Percent of common partitions from which on two members are taken for one, as git takes renamed files."""


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
        owner_before: owner before, by index, of each partition that both sides know; -1 for none.
        owner_after: the same after.
        rule: one of `MATCH_RULES`. "auto" matches by instance id, client id, member id and host, each where
            it is unique on both sides, then by overlap. Unknown rules and ids that are missing or not unique
            raise `DiffError`.
    """
    if rule not in MATCH_RULES:
        raise DiffError(f"unknown match rule {rule!r}; choose one of {', '.join(MATCH_RULES)}")
    after_of = [-1] * len(before)
    rule_of: list[str | None] = [None] * len(before)
    paired: set[int] = set()
    if rule in _FIELDS:
        for side, members in (("before", before), ("after", after)):
            _check_unique(rule, side, members)
    for name, field in _FIELDS.items():
        if rule in {"auto", name}:
            for one, other in _pairs_by_field(field, before, after):
                if after_of[one] < 0 and other not in paired:
                    after_of[one], rule_of[one] = other, name
                    # A member is paired by the best field that it has; later fields find the rest.
                    paired.add(other)
    renames = []
    if rule in {"auto", "overlap"}:
        # Only members that no field has paired: overlap parts no pair again.
        free = np.array([number < 0 for number in after_of], np.bool_)
        spare = np.array([number not in paired for number in range(len(after))], np.bool_)
        for one, other, score in _pairs_by_overlap(owner_before, owner_after, free, spare):
            after_of[one], rule_of[one] = other, "overlap"
            renames.append(Rename(before[one].id, after[other].id, score))
    # In the order of the rules, whichever member comes first.
    used = [match_rule for match_rule in MATCH_RULES if match_rule in rule_of]
    return Matching(", ".join(used) or rule, tuple(after_of), tuple(rule_of), tuple(renames))


def _check_unique(rule: str, side: str, members: Sequence[MemberIdentity]) -> None:
    """Refuse a rule under which a member of this side has no value, or two members have the same.

    Raises:
        DiffError: there is such a member; the message names it and `side`.
    """
    values = [getattr(member, _FIELDS[rule]) for member in members]
    if None in values:
        member = members[values.index(None)].id
        raise DiffError(f"cannot match by {rule}: member {member!r} {side} has none; try `match` auto")
    for value, times in Counter(values).items():
        if times > 1:
            raise DiffError(
                f"cannot match by {rule}: {times} members {side} have {value!r}; try `match` auto"
            )


def _pairs_by_field(
    field: str, before: Sequence[MemberIdentity], after: Sequence[MemberIdentity]
) -> list[tuple[int, int]]:
    """Return (number before, number after) of members whose value of a field is the same on both sides.

    The value must be unique on each side.
    """
    olds, news = ([getattr(member, field) for member in side] for side in (before, after))
    old_times, new_times = Counter(olds), Counter(news)
    # Of a value that comes twice the last one stays, but such a value makes no pair below.
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
    """Return unmatched members that share most of their partitions, the largest overlap first.

    Args:
        owner_before: number of the owner before of each partition, -1 for none.
        owner_after: the same after.
        free: True for each member before that has no pair yet.
        spare: True for each member after that has no pair yet.

    Returns:
        (number before, number after, score in percent); each number at most once.
    """
    if not (free.any() and spare.any()):
        return []
    # Only partitions with an owner on both sides can show that two members are one.
    owned = (owner_before >= 0) & (owner_after >= 0)
    olds, news = owner_before[owned], owner_after[owned]
    wanted = free[olds] & spare[news]
    pairs, shared = np.unique(olds[wanted].astype(np.int64) * len(spare) + news[wanted], return_counts=True)
    sizes = (
        np.bincount(owner_before[owner_before >= 0], minlength=len(free)),
        np.bincount(owner_after[owner_after >= 0], minlength=len(spare)),
    )
    one, other = np.divmod(pairs, len(spare))
    # Of the larger list, so that a member with few partitions is not taken for one that has them among many.
    score = 100 * shared // np.maximum(sizes[0][one], sizes[1][other])
    overlaps: list[tuple[int, int, int]] = []
    lost_one, lost_other = set[int](), set[int]()
    # The best score first; of equal scores the most partitions. The pair itself decides last, so that equal
    # inputs give equal diffs.
    for row in np.lexsort((pairs, -shared, -score)).tolist():
        old, new = int(one[row]), int(other[row])
        if score[row] >= RENAME_PCT and old not in lost_one and new not in lost_other:
            overlaps.append((old, new, int(score[row])))
            lost_one.add(old)
            lost_other.add(new)
    return overlaps


Identity: TypeAlias = tuple[int, int]
"""The index of a member before and after, -1 on the side where it is not."""


class Presence(StrEnum):
    """The sides on which a member is."""

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
    """Return the names of both sides' members in natural order, and the identity of each.

    Args:
        after_of: for each member before its number after, -1 for one that left.
        before: the members before.
        after: the members after.
    """
    # The -1 of those that left is no member's number, and takes none away.
    joined = sorted({*range(len(after))}.difference(after_of))
    identities: list[Identity] = [*enumerate(after_of), *((-1, index) for index in joined)]
    names = _names(identities, before, after)
    order = sorted(range(len(names)), key=lambda index: natural(names[index]))
    return [names[index] for index in order], [identities[index] for index in order]


def _names(
    identities: list[Identity], before: tuple[MemberIdentity, ...], after: tuple[MemberIdentity, ...]
) -> list[str]:
    """Return the name of each member, all different.

    It is the instance id, else the client id if no other member of that side has it, else the member id. If
    two members would still have the same name, they get their member ids, and the side if these are equal.

    Args:
        identities: (number before, number after) of each member; -1 on a side where it is not.
        before: the members before.
        after: the members after.
    """
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
            # Two members with one short name get their member ids, which are unique on their side.
            names[index] = after[other].id if other >= 0 else before[one].id
    times = Counter(names)
    return [
        f"{name} ({'before' if other < 0 else 'after'})" if times[name] > 1 else name
        for name, (_, other) in zip(names, identities, strict=True)
    ]


class Action(IntEnum):
    """The change of one partition; its number is also the order of reports."""

    KEEP = 0
    """Same owner, or nobody on both sides."""
    MOVE = 1
    """Another owner."""
    ASSIGN = 2
    """Gained an owner."""
    UNASSIGN = 3
    """Lost its owner."""
    ADDED = 4
    """The topic has grown by it."""
    REMOVED = 5
    """The topic no longer has it."""
    CONFLICT = 6
    """Two owners at once on one side: a zombie, or a capture taken during a rebalance."""

    @property
    def label(self) -> str:
        """The word in JSON and CSV."""
        return self.name.lower()


class Change(NamedTuple):
    """One partition; members by the name the diff gives them.

    Attributes:
        topic: its topic.
        partition: its number.
        action: what happened to it.
        source: its owner before, None for nobody.
        target: its owner after, None for nobody.
        lag: records waiting, None if unknown.
        reason: what set it in motion, or why it stays; None if the side after was not planned.
    """

    topic: str
    partition: int
    action: Action
    source: str | None
    target: str | None
    lag: int | None
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Conflict:
    """A partition with more than one owner on a side.

    Attributes:
        topic: its topic.
        partition: its number.
        before: its owners before.
        after: its owners after.
    """

    topic: str
    partition: int
    before: tuple[str, ...]
    after: tuple[str, ...]


class Flow(NamedTuple):
    """The partitions that went from one member to another, sorted; None stands for nobody.

    Attributes:
        source: their owner before.
        target: their owner after.
        partitions: which.
        reason: what set them in motion; None if flows are not told apart by it, or it is unknown.
    """

    source: str | None
    target: str | None
    partitions: PartitionList
    reason: Reason | None = None
