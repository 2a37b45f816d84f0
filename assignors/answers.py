"""Checks the answers of assignors that are not built in, before they are used.

Built-in assignors are covered by tests. Without a check of other assignors, a partition with two owners or
with none would be noticed only when its records are processed twice or never. The checks work on columns, so
they cost little compared with the assignment itself.
"""

from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from assignors.assignment import Assignment
from assignors.group import Group
from assignors.interface import Assignor, RebalanceProtocol, RememberingAssignor
from assignors.optimal.reading import rightful_members
from assignors.partition_list import NOTHING, PartitionColumns, PartitionList, as_lists, join_lists
from assignors.registry import is_built_in
from partitioning.errors import AssignmentError, AssignorError, BrokenPluginError
from partitioning.kit.columns import bounds
from partitioning.plug_ins import call_plug_in


def ask(assignor: Assignor, group: Group) -> Assignment:
    """Return the assignor's answer, checked unless the assignor is built in.

    Args:
        assignor: a built-in assignor or any other.
        group: the group to assign; it is not changed.

    Raises:
        AssignorError: the assignor fails, or its answer breaks a rule. The message names the strategy, and
            the member and partition if there are any.
        BrokenPluginError: the assignor ends the process (`sys.exit`).
    """
    # A subclass of a built-in assignor is checked, too: `is_built_in` compares the type itself.
    if is_built_in(assignor):
        return assignor.assign(group)
    try:
        # The assignor gets a copy: if it changed the group itself, the check would compare with a wrong
        # group.
        assignment = call_plug_in(f"assignor {assignor.name!r}", assignor.assign, deepcopy(group))
    except (AssignmentError, BrokenPluginError):
        raise
    except Exception as error:
        raise AssignorError(f"{assignor.name!r} cannot assign this group: {error!r}") from error
    check_answer(group, assignment, assignor)
    return assignment


def checked_user_data(assignor: RememberingAssignor, owned: PartitionList, generation: int) -> bytes | None:
    """Return the user data that a member sends for an assignor; None for none.

    Raises BrokenPluginError if `user_data` of the assignor fails or returns anything but bytes or None.
    """
    try:
        data: object = assignor.user_data(owned, generation)
    except (Exception, SystemExit) as error:
        raise BrokenPluginError(f"`user_data` of {assignor!r} raises {error!r}") from error
    if data is not None and not isinstance(data, bytes):
        raise BrokenPluginError(f"`user_data` of {assignor!r} gives {data!r:.60}; give bytes, or None")
    return data


def check_answer(group: Group, assignment: object, assignor: Assignor) -> None:
    """Raise AssignorError if an answer gives a partition to two members, to a wrong member, or to no member.

    A cooperative assignor may hold partitions back (`Assignment.transferring`), and must not give a partition
    to a member while another member still owns it (KIP-429).

    Args:
        group: the group that the assignor was asked to assign.
        assignment: the answer, which may be of any type.
        assignor: the assignor, for its name and its protocols.
    """
    if not isinstance(assignment, Assignment):
        kind = type(assignment).__name__
        raise AssignorError(
            f"the answer of {assignor.name!r} is wrong: it is a {kind}; make it with Assignment.for_group"
        )
    _Check(group, assignment, assignor).run()


class _Check:
    """Checks one answer to one group; the first fault raises AssignorError.

    A flat index counts the partitions of all topics of the group: partition p of topic t is `_base[t] + p`.
    A topic of -1 stands for a topic that is not in the group.

    Attributes:
        _member: the member of each row of the answer, an index into `_members`.
        _topic: the topic of each row, an index into `_names`; -1 if it is not in the group.
        _partition: the partition number of each row.
        _names: the names of the group's topics.
        _counts: the partitions of each topic of the group. If topics can be -1, a 0 is appended before the
            counts are looked up.
        _told_topics: the topic names in the answer, for messages.
    """

    def __init__(self, group: Group, assignment: Assignment, assignor: Assignor) -> None:
        self._says = f"the answer of {assignor.name!r} is wrong"
        self._cooperative = RebalanceProtocol.COOPERATIVE in assignor.protocols
        self._group = group
        self._assignment = assignment
        members, names, self._member, topic, self._partition = assignment.to_arrays()
        if not {topic.dtype.kind, self._partition.dtype.kind} <= {"i", "u"}:
            raise AssignorError(
                f"{self._says}: its columns are of {topic.dtype} and {self._partition.dtype}; give int32"
            )
        self._members = members
        self._names = tuple(topic.name for topic in group.topics)
        self._counts = np.array([topic.partitions for topic in group.topics], np.int64)
        self._base = bounds(self._counts)
        self._topic = self._rows(names)[topic]
        self._told_topics = names

    def run(self) -> None:
        """Make all checks, in an order in which each check can rely on the ones before it."""
        self._check_members()
        self._check_existence()
        self._check_subscriptions()
        # With one number for each partition of any topic, a single NumPy call can count or mark all rows.
        flat = self._base[self._topic] + self._partition
        self._check_once(flat)
        self._check_nothing_left(flat)
        if self._cooperative:
            self._check_handed_over(flat)

    def _check_members(self) -> None:
        """Check that exactly the members of the group are in the answer."""
        expected, actual = {member.id for member in self._group.members}, set(self._members)
        if missing := expected - actual:
            raise AssignorError(f"{self._says}: member {min(missing)!r} is not in it")
        if strange := actual - expected:
            raise AssignorError(f"{self._says}: member {min(strange)!r} is not in the group")

    def _check_existence(self) -> None:
        """Check that every assigned partition exists. Otherwise two partitions could have one flat index."""
        # Numbers in the answer can still be anything: negative, or greater than every count.
        counts = np.append(self._counts, 0)[self._topic]  # -1 selects the appended 0
        wrong = np.flatnonzero((self._partition < 0) | (self._partition >= counts))
        if len(wrong):
            row = int(wrong[0])
            topic = self._told_topics[int(self._assignment.to_arrays().topic[row])]
            fault = f"has {counts[row]} partitions" if self._topic[row] >= 0 else "is not in the group"
            raise AssignorError(
                f"{self._says}: member {self._owner(row)!r} gets {topic}-{self._partition[row]}, "
                f"but {topic!r} {fault}"
            )

    def _check_subscriptions(self) -> None:
        """Check that members get only topics that they subscribe to.

        Each pair of a subscription and a topic is checked once, however many partitions it has.
        """
        kind, subscriptions = self._kinds
        # `_check_existence` has passed, so every row has a topic of the group.
        pair = kind[self._member] * len(self._names) + self._topic
        for code, row in zip(*(part.tolist() for part in np.unique(pair, return_index=True)), strict=True):
            subscription, topic = divmod(code, len(self._names))
            if self._names[topic] not in subscriptions[subscription]:
                raise AssignorError(
                    f"{self._says}: member {self._owner(row)!r} gets "
                    f"{self._names[topic]}-{self._partition[row]}, but does not subscribe to that topic"
                )

    def _check_once(self, flat: NDArray[np.int64]) -> None:
        """Check that no partition is given to two members."""
        twice = np.flatnonzero(np.bincount(flat, minlength=int(self._base[-1])) > 1)
        if len(twice):
            both = [repr(self._owner(row)) for row in np.flatnonzero(flat == twice[0]).tolist()]
            raise AssignorError(
                f"{self._says}: {self._partition_name(twice[0])} is given to {' and to '.join(both)}"
            )

    def _check_nothing_left(self, flat: NDArray[np.int64]) -> None:
        """Check that every partition of a subscribed topic is assigned or, if cooperative, held back."""
        read = frozenset().union(*self._kinds[1])
        left = np.repeat(np.array([name in read for name in self._names], np.bool_), self._counts)
        # Partitions of topics without a subscriber need no owner.
        left[flat] = False
        if self._cooperative:
            left[self._held_back(left)] = False
        if left.any():
            nobody = np.flatnonzero(left)
            raise AssignorError(
                f"{self._says}: {self._partition_name(nobody[0])} is given to nobody, though it "
                "has subscribers" + (f" ({len(nobody):,} partitions in all)" if len(nobody) > 1 else "")
            )

    def _held_back(self, left: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the flat indices of the partitions that are held back.

        Raises AssignorError if such a partition does not exist, is assigned, too, or has a receiver that does
        not subscribe to its topic.

        Args:
            left: True for each partition of a subscribed topic that is not assigned, by flat index.
        """
        held = self._assignment.transferring
        flat, real = self._places(PartitionList.of(held))
        for partition in compress(held, (~real).tolist()):
            raise AssignorError(f"{self._says}: {partition} is held back, but does not exist")
        for partition in compress(held, (~left[flat]).tolist()):
            raise AssignorError(f"{self._says}: {partition} is held back, but it is given or not read at all")
        topics = {member.id: member.topics for member in self._group.members}
        for partition, member in held.items():
            if partition.topic not in topics[member]:
                raise AssignorError(
                    f"{self._says}: {partition} is held back for {member!r}, which does not subscribe to it"
                )
        return flat

    def _check_handed_over(self, flat: NDArray[np.int64]) -> None:
        """Check that no partition goes to a member while another member still owns it (KIP-429)."""
        owned, sizes = join_lists(as_lists(member.owned for member in self._group.members))
        claimed, real = self._places(owned)
        claimant = np.repeat(np.arange(len(sizes)), sizes)[real]
        generation = np.array([-1 if m.generation is None else m.generation for m in self._group.members])
        # If several members claim a partition, the claim of the latest generation counts.
        holder = rightful_members(claimant, claimed[real], generation[claimant], int(self._base[-1]))
        place = {member.id: number for number, member in enumerate(self._group.members)}
        # The answer may list members in another order than the group.
        owner = np.array([place[member] for member in self._members], np.int64)[self._member]
        wrong = np.flatnonzero((holder[flat] >= 0) & (holder[flat] != owner))
        if len(wrong):
            row = int(wrong[0])
            before = self._group.members[int(holder[flat[row]])].id
            raise AssignorError(
                f"{self._says}: {self._partition_name(flat[row])} is given to {self._owner(row)!r} while "
                f"{before!r} still owns it; hold it back for a round (Assignment.transferring, KIP-429)"
            )

    @cached_property
    def _kinds(self) -> tuple[NDArray[np.int64], list[frozenset[str]]]:
        """The subscription of each member of the answer (an index), and the distinct subscriptions."""
        index: dict[frozenset[str], int] = {}
        topics = {member.id: member.topics for member in self._group.members}
        kind = [index.setdefault(frozenset(topics[member]), len(index)) for member in self._members]
        return np.array(kind, np.int64), list(index)

    def _places(
        self, partitions: PartitionColumns | PartitionList
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the flat index of each of these partitions, and whether it exists.

        The flat index of a partition that does not exist means nothing.
        """
        row = self._rows(partitions.names)[partitions.topics]
        counts = np.append(self._counts, 0)[row]  # -1 selects the appended 0
        real = (partitions.partitions >= 0) & (partitions.partitions < counts)
        return self._base[row] + partitions.partitions, real

    def _rows(self, names: tuple[str, ...]) -> NDArray[np.int64]:
        """Return the index of each of these topics in the group; -1 for a topic that is not in it."""
        row = {name: number for number, name in enumerate(self._names)}
        return np.array([row.get(name, -1) for name in names], np.int64)

    def _owner(self, row: int) -> str:
        """Return the id of the member in this row of the answer."""
        return self._members[int(self._member[row])]

    def _partition_name(self, flat: int) -> str:
        """Return the partition with this flat index, as TOPIC-NUMBER."""
        topic = int(np.searchsorted(self._base, flat, side="right")) - 1
        return f"{self._names[topic]}-{int(flat) - int(self._base[topic])}"


@dataclass
class Memory:
    """Remembers the last assignment of one consumer, whichever assignor made it.

    Attributes:
        owned: the partitions of that assignment.
        generation: the generation of that assignment; -1 before the first assignment.
    """

    owned: PartitionList = field(default_factory=lambda: NOTHING)
    generation: int = -1

    def user_data(self, assignor: Assignor) -> bytes | None:
        """Return the user data that this consumer sends for an assignor; None if the assignor needs none."""
        if not isinstance(assignor, RememberingAssignor):
            return None
        return checked_user_data(assignor, self.owned, self.generation)


def is_cooperative(assignor: Assignor) -> bool:
    """Return whether members of a group with this assignor keep their partitions while they join."""
    return RebalanceProtocol.COOPERATIVE in assignor.protocols


def numbers_by_topic(partitions: PartitionList) -> list[tuple[str, list[int]]]:
    """Return the partitions grouped by topic, topics in the order of their first partition."""
    groups: dict[str, list[int]] = {}
    for topic, partition in partitions:
        groups.setdefault(topic, []).append(partition)
    return list(groups.items())
