"""Every answer to a group is checked before anybody acts on it, whichever assignor gave it.

Tests hold our own assignors. The answer of any other assignor is checked here: without the check, a partition
with two owners or with none would show only when its records are processed twice or never. The checks are on
columns, so that they cost little beside the assignment itself.
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
    """Return the assignor's answer, checked unless the assignor is ours.

    AssignorError, which names strategy, member and partition, where the assignor fails or its answer breaks a
    rule; BrokenPluginError if the assignor ends the process (`sys.exit`).

    Args:
        assignor: ours or a stranger's.
        group: the group to assign; it is not changed.
    """
    # Ours, and no subclass of ours: `is_built_in` compares the type itself.
    if is_built_in(assignor):
        return assignor.assign(group)
    try:
        # A strategy that changes the group must not hide that: it is given a copy.
        assignment = call_plug_in(f"assignor {assignor.name!r}", assignor.assign, deepcopy(group))
    except (AssignmentError, BrokenPluginError):
        raise
    except Exception as error:
        raise AssignorError(f"{assignor.name!r} cannot assign this group: {error!r}") from error
    check_answer(group, assignment, assignor)
    return assignment


def checked_user_data(assignor: RememberingAssignor, owned: PartitionList, generation: int) -> bytes | None:
    """Return what a member sends along for an assignor.

    BrokenPluginError if that fails or is not bytes.
    """
    try:
        data: object = assignor.user_data(owned, generation)
    except (Exception, SystemExit) as error:
        raise BrokenPluginError(f"`user_data` of {assignor!r} raises {error!r}") from error
    if data is not None and not isinstance(data, bytes):
        raise BrokenPluginError(f"`user_data` of {assignor!r} gives {data!r:.60}; give bytes, or None")
    return data


def check_answer(group: Group, assignment: object, assignor: Assignor) -> None:
    """Raise AssignorError if an answer has a partition read twice, by the wrong member, or by nobody.

    A cooperative assignor may hold partitions back (`Assignment.transferring`), and gives none away that
    another member still owns (KIP-429).

    Args:
        group: the group as the assignor was asked about it.
        assignment: the answer, of whatever type.
        assignor: for its name, and for whether it is cooperative.
    """
    if not isinstance(assignment, Assignment):
        kind = type(assignment).__name__
        raise AssignorError(
            f"the answer of {assignor.name!r} is wrong: it is a {kind}; make it with Assignment.for_group"
        )
    _Check(group, assignment, assignor).run()


class _Check:
    """Checks one answer to one group; the first fault that is found raises AssignorError.

    A flat index counts the partitions of all topics of the group: partition p of topic t is `_base[t] + p`.
    Row -1 stands for a topic that the group does not know.

    Attributes:
        _member: the member of each row of the answer, an index into `_members`.
        _topic: the topic of each row, an index into `_names`, the group's topics; -1 for an unknown one.
        _partition: the partition number of each row.
        _counts: partitions of each topic, followed by 0 where it is indexed, so that row -1 has none.
        _told_topics: topic names as the answer has them, for messages.
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
        """Check everything, in an order in which each check may rely on those before it."""
        self._check_members()
        self._check_existence()
        self._check_subscriptions()
        # One number for a partition of any topic, so that counting and marking are single NumPy calls.
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
        """Check that every partition given exists: only then is a flat index the partition's own."""
        # Here the answer is not yet known to be sane: numbers may be negative, or beyond every count.
        counts = np.append(self._counts, 0)[self._topic]  # row -1 is a topic that the group does not know
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
        """Check that members get topics that they subscribe to only.

        Each pair of a subscription and a topic is looked at once, however many partitions it has.
        """
        kind, subscriptions = self._kinds
        # Every row has a topic of the group here, as `_check_existence` has passed.
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
        """Check that every partition of a subscribed topic is given.

        A cooperative assignor may hold it back instead.
        """
        read = frozenset().union(*self._kinds[1])
        left = np.repeat(np.array([name in read for name in self._names], np.bool_), self._counts)
        # No member may read a topic without a subscriber, so its partitions may stay without an owner.
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
        """Return the flat indices of what is held back; each is one that is left over, for a subscriber."""
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
        """Check that no partition goes to a member while another one still owns it (KIP-429)."""
        owned, sizes = join_lists(as_lists(member.owned for member in self._group.members))
        claimed, real = self._places(owned)
        claimant = np.repeat(np.arange(len(sizes)), sizes)[real]
        generation = np.array([-1 if m.generation is None else m.generation for m in self._group.members])
        # Of several claims of one partition, the one of the latest generation counts.
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
        """The subscription of each member of the answer, as an index into the distinct ones, and these."""
        index: dict[frozenset[str], int] = {}
        topics = {member.id: member.topics for member in self._group.members}
        kind = [index.setdefault(frozenset(topics[member]), len(index)) for member in self._members]
        return np.array(kind, np.int64), list(index)

    def _places(
        self, partitions: PartitionColumns | PartitionList
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return where each of these partitions stands in a column of all, and whether it exists."""
        row = self._rows(partitions.names)[partitions.topics]
        counts = np.append(self._counts, 0)[row]  # row -1 is a topic that the group does not know
        real = (partitions.partitions >= 0) & (partitions.partitions < counts)
        return self._base[row] + partitions.partitions, real

    def _rows(self, names: tuple[str, ...]) -> NDArray[np.int64]:
        """Return the row in the group of each of these topics, -1 for one that it does not know."""
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
    """Remembers what one consumer was assigned last, by whichever assignor; generation -1 if nothing was."""

    owned: PartitionList = field(default_factory=lambda: NOTHING)
    generation: int = -1

    def user_data(self, assignor: Assignor) -> bytes | None:
        """Return what this consumer sends along for an assignor; None if the assignor wants nothing."""
        if not isinstance(assignor, RememberingAssignor):
            return None
        return checked_user_data(assignor, self.owned, self.generation)


def is_cooperative(assignor: Assignor) -> bool:
    """Return whether members keep what they have while they join."""
    return RebalanceProtocol.COOPERATIVE in assignor.protocols


def by_topic(partitions: PartitionList) -> list[tuple[str, list[int]]]:
    """Return the partitions as a wire format groups them, topics in order of their first one."""
    groups: dict[str, list[int]] = {}
    for topic, partition in partitions:
        groups.setdefault(topic, []).append(partition)
    return list(groups.items())
