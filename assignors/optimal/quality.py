"""How good an assignment is, against the best there is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assignors.errors import InvalidGroupError
from assignors.optimal.deciding import decide
from assignors.optimal.grouping import sums
from assignors.optimal.memory import owned_or_remembered
from assignors.optimal.reading import read_group
from assignors.partition_list import PartitionList

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assignors.assignment import Assignment
    from assignors.group import Group
    from assignors.optimal.reading import Reading


@dataclass(frozen=True, slots=True)
class AssignmentQuality:
    """An assignment against the best one for the same group; what is held back counts as given.

    Attributes:
        loads: how many partitions members have, most first.
        best_loads: the same where the greatest is least, then the second, and so on.
        moves: partitions whose owner is still there, still subscribes and loses them.
        fewest_moves: of all assignments with the best loads the fewest such moves.
        topic_excess: how many partitions of one topic a member has above that topic's fair share, at worst;
            the share is its partitions over its subscribers, rounded up.
        far: partitions whose owner has a rack without a replica of theirs; None where no owner with a rack
            has a partition with known racks.
        unassigned: partitions that somebody subscribes to and nobody who does gets.
    """

    loads: tuple[int, ...]
    best_loads: tuple[int, ...]
    moves: int
    fewest_moves: int
    topic_excess: int
    far: int | None
    unassigned: int

    @property
    def avoidable_moves(self) -> int:
        """How many moves less would do for the best loads; negative where worse loads saved some."""
        return self.moves - self.fewest_moves


def quality(group: Group, assignment: Assignment) -> AssignmentQuality:
    """How good an assignment is.

    What members had is what they say they own, or where none of them owns anything what "sticky" user data
    remembers.

    Args:
        group: the group it was made for.
        assignment: who gets what.

    Raises:
        InvalidGroupError: the assignment gives a partition twice, or one that nobody can have.
    """
    reading = read_group(group, owned_or_remembered(group.members))
    owner = _owners(group, reading, assignment)
    best = decide(reading)
    return AssignmentQuality(
        loads=_loads(owner, len(group.members)),
        best_loads=_loads(best, len(group.members)),
        moves=_moves(reading, owner),
        fewest_moves=_moves(reading, best),
        topic_excess=_topic_excess(reading, owner),
        far=_far(group, reading, owner),
        unassigned=int(np.count_nonzero(owner < 0)),
    )


def _owners(group: Group, reading: Reading, assignment: Assignment) -> NDArray[np.intp]:
    """The member that gets each partition of a reading, -1 where nobody does."""
    place = {group.members[row].id: number for number, row in enumerate(reading.members.tolist())}
    topics = {name: row for row, name in enumerate(reading.topics)}
    owner = np.full(len(reading.topic_of), -1, np.intp)
    held = [(receiver, [partition]) for partition, receiver in assignment.transferring.items()]
    for member, partitions in [*assignment.items(), *held]:
        number = place.get(member)
        if number is None:
            raise InvalidGroupError(
                f"member {member!r} is in the assignment but not in the group; "
                "pass the assignment made for this group"
            )
        listed = PartitionList.of(partitions)
        topic = np.array([topics.get(name, -1) for name in listed.names], np.intp)[listed.topics]
        fits = (topic >= 0) & (listed.partitions >= 0)
        fits[fits] = listed.partitions[fits] < reading.counts[topic[fits]]
        row = reading.starts[topic] + listed.partitions
        fits[fits] = owner[row[fits]] < 0
        if not fits.all():
            raise InvalidGroupError(
                f"member {member!r} cannot have {listed[int(np.argmin(fits))]}: nobody subscribes to it, "
                "the partition does not exist, or another list has it too"
            )
        owner[row] = number
    given = np.flatnonzero(owner >= 0)
    kind = reading.readers.of_member[owner[given]]
    owner[given[~reading.readers.has(kind, reading.topic_of[given])]] = -1
    return owner


def _loads(owner: NDArray[np.intp], members: int) -> tuple[int, ...]:
    return tuple(sorted(np.bincount(owner[owner >= 0], minlength=members).tolist(), reverse=True))


def _moves(reading: Reading, owner: NDArray[np.intp]) -> int:
    return int(np.count_nonzero((reading.holder >= 0) & (owner != reading.holder)))


def _topic_excess(reading: Reading, owner: NDArray[np.intp]) -> int:
    topics = len(reading.topics)
    given = owner >= 0
    pairs, amount = np.unique(owner[given] * topics + reading.topic_of[given], return_counts=True)
    subscribers = sums(reading.readers.topic, reading.readers.members[reading.readers.kind], topics)
    share = -(-reading.counts // subscribers)
    return int((amount - share[pairs % topics]).max(initial=0)) if topics else 0


def _far(group: Group, reading: Reading, owner: NDArray[np.intp]) -> int | None:
    racks = [group.members[row].rack for row in reading.members.tolist()]
    row = {name: number for number, name in enumerate(reading.topics)}
    known = far = 0
    for topic in group.topics:
        if topic.racks is None or topic.name not in row:
            continue
        start = int(reading.starts[row[topic.name]])
        owners = owner[start : start + topic.partitions].tolist()
        for replicas, member in zip(topic.racks, owners, strict=True):
            if replicas and member >= 0 and racks[member]:
                known += 1
                far += racks[member] not in replicas
    return far if known else None
