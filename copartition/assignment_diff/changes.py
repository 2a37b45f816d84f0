"""Pair and name the members of two states, and define the change of one member and of one partition.

If members were not paired, every restart would look as if all partitions of the member had moved.
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
"""The least percentage of common partitions at which two members are taken for one.

Git recognises renamed files in the same way.
"""


@dataclass(frozen=True, slots=True)
class Rename:
    """Two member ids that count as one member, because they have mostly the same partitions.

    Attributes:
        before: the id of the member before.
        after: the id of the member after.
        score: common partitions of the two members in percent of the longer of their two lists.
    """

    before: str
    after: str
    score: int


@dataclass(frozen=True, slots=True)
class Matching:
    """Pairs of a member before and a member after, by their indices.

    Attributes:
        rule: the rules that made pairs, such as "client-id" or "client-id, overlap"; if no pair was made, the
            rule that was asked for.
        after_of: for each member before, its index after; -1 if it has no pair.
        rule_of: for each member before, the rule that paired it; None if it has no pair.
        renames: the pairs that were made by overlap.
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
        owner_before: for each row of the diff, the index of the owner before; -1 if it has none.
        owner_after: for each row of the diff, the index of the owner after; -1 if it has none.
        rule: one of `MATCH_RULES`. "auto" pairs members by instance id, client id, member id and host, as far
            as a value is unique on both sides, and then by overlap.

    Raises:
        DiffError: there is no such rule, or the rule is a field that a member lacks or that two members of
            one side share.
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
        # Only members that no field has paired are compared, so that overlap does not separate a pair.
        free = np.array([number < 0 for number in after_of], np.bool_)
        spare = np.array([number not in paired for number in range(len(after))], np.bool_)
        for one, other, score in _pairs_by_overlap(owner_before, owner_after, free, spare):
            after_of[one], rule_of[one] = other, "overlap"
            renames.append(Rename(before[one].id, after[other].id, score))
    # The rules are in the order of `MATCH_RULES`, so that the order of members does not matter.
    used = [match_rule for match_rule in MATCH_RULES if match_rule in rule_of]
    return Matching(", ".join(used) or rule, tuple(after_of), tuple(rule_of), tuple(renames))


def _check_unique(rule: str, side: str, members: Sequence[MemberIdentity]) -> None:
    """Refuse a rule under which a member of this side has no value, or two members have the same value.

    Raises:
        DiffError: there is such a member; the message names the member or the value, and `side`.
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
    # If two members have the same value, only the last one is in `number`; such a value makes no pair below.
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
    # The score is a percentage of the larger of both lists. Otherwise a member with few partitions would be
    # taken for a member that has these among many others.
    score = 100 * shared // np.maximum(sizes[0][one], sizes[1][other])
    overlaps: list[tuple[int, int, int]] = []
    lost_one, lost_other = set[int](), set[int]()
    # The best score comes first; among equal scores, the most common partitions. The numbers of the pair
    # decide last, so that equal inputs give equal diffs.
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
    """The member is on both sides."""
    JOINED = "joined"
    """The member is only on the side after."""
    LEFT = "left"
    """The member is only on the side before."""
    UNKNOWN_BEFORE = "not known before"
    """Seen only after; not all members before are known, so it may have been there without partitions."""
    UNKNOWN_AFTER = "not known after"
    """Seen only before; not all members after are known, so it may still be there without partitions."""


@dataclass(frozen=True, slots=True)
class MemberChange:
    """One member over both sides.

    Attributes:
        name: the member's name in the diff: its instance id, else its client id if no other member of that
            side has it, else its member id.
        before_id: the member id before; None if the member is only on the side after.
        after_id: the member id after; None if the member is only on the side before.
        rule: the rule that showed that both ids are the same member, such as "client-id"; None if the member
            is only on one side.
        before: the number of its partitions before.
        after: the number of its partitions after.
        kept: the number of partitions that it has both before and after.
        presence: the sides on which the member is.
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
    """Return the names of the members of both sides, in natural order, and the identity of each member.

    Args:
        after_of: for each member before, its number after; -1 for a member that left.
        before: the members before.
        after: the members after.
    """
    # Members that left have -1 in `after_of`, which is no member's number and so removes none.
    joined = sorted({*range(len(after))}.difference(after_of))
    identities: list[Identity] = [*enumerate(after_of), *((-1, index) for index in joined)]
    names = _names(identities, before, after)
    order = sorted(range(len(names)), key=lambda index: natural(names[index]))
    return [names[index] for index in order], [identities[index] for index in order]


def _names(
    identities: list[Identity], before: tuple[MemberIdentity, ...], after: tuple[MemberIdentity, ...]
) -> list[str]:
    """Return the name of each member, all different.

    A name is the instance id, else the client id if no other member of that side has it, else the member id.
    Members that would have the same name get their member ids instead, followed by the side if these are
    equal, too.

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
    """The partition has the same owner on both sides, or no owner on both."""
    MOVE = 1
    """The partition has another owner after."""
    ASSIGN = 2
    """The partition had no owner before, and has one after."""
    UNASSIGN = 3
    """The partition had an owner before, and has none after."""
    ADDED = 4
    """The topic has grown by this partition."""
    REMOVED = 5
    """The topic no longer has this partition."""
    CONFLICT = 6
    """The partition has two owners on one side: a zombie, or a capture taken during a rebalance."""

    @property
    def label(self) -> str:
        """The name of the action in reports."""
        return self.name.lower()


class Change(NamedTuple):
    """One partition and its owners on both sides; members have the names that the diff gives them.

    Attributes:
        topic: the topic's name.
        partition: the partition's number.
        action: what happened to the partition.
        source: the owner before; None if it had none.
        target: the owner after; None if it has none.
        lag: records that wait in the partition; None if unknown.
        reason: why the partition moves or stays; None if the side after is not a plan.
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
    """A partition that has two owners on one side.

    Attributes:
        topic: the topic's name.
        partition: the partition's number.
        before: the names of its owners before.
        after: the names of its owners after.
    """

    topic: str
    partition: int
    before: tuple[str, ...]
    after: tuple[str, ...]


class Flow(NamedTuple):
    """The partitions that went from one owner to another; members have the names that the diff gives them.

    Attributes:
        source: the owner before; None if they had none.
        target: the owner after; None if they have none.
        partitions: the partitions, sorted by topic and number.
        reason: why the plan moves them; None if the flows are not split by reason, or if it is unknown.
    """

    source: str | None
    target: str | None
    partitions: PartitionList
    reason: Reason | None = None
