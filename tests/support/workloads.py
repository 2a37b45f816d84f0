"""The groups that the oracle's `time` operation makes, on our side, and the digest both give of an answer.

The grid is that of Kafka's own benchmark: topics "topic0".. with members * ratio / topics partitions each,
members "member0"..; unequal subscriptions are five blocks of topics and members.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from assignors.assignment import Assignment
from assignors.group import Group, Member, Topic
from partitioning.topic_partition import TopicPartition

if TYPE_CHECKING:
    from assignors.interface import Assignor

BLOCKS = 5


@dataclass(frozen=True, slots=True)
class Workload:
    """One cell of the grid.

    Attributes:
        members: how many members.
        ratio: partitions per member.
        topics: how many topics.
        event: "full": nobody owns anything; "join": "newMember" takes the last member's place in a group that
            carries on; "leave": "member0" leaves such a group.
        subscriptions: "equal", or "unequal" in five blocks.
        racks: number of racks, with two replicas of each partition; 0: none.
        claims: members of a group that carries on, each with the topic and the number of a partition that it
            believes it got too.
    """

    members: int
    ratio: int
    topics: int
    event: Literal["full", "join", "leave"] = "full"
    subscriptions: Literal["equal", "unequal"] = "equal"
    racks: int = 0
    claims: tuple[tuple[str, str, int], ...] = ()

    @property
    def request(self) -> dict[str, Any]:
        """What to tell the oracle's `time` operation."""
        return {name: getattr(self, name) for name in self.__slots__}

    def before(self) -> Group:
        """The group in which nobody owns anything yet."""
        members = [self._member(number) for number in range(self.members)]
        return Group(self._topics(), members[:-1] if self.event == "join" else members)

    def after(self, group: Group, assignment: Assignment) -> Group:
        """The group to assign, given what `before` was assigned."""
        for member, *partition in self.claims:
            more = {**assignment, member: [*assignment[member], TopicPartition(*partition)]}
            assignment = Assignment.of(more)
        if self.event == "join":
            last = self._member(self.members - 1)
            return group.next(assignment, join=[Member("newMember", last.topics, rack=last.rack)])
        return group.next(assignment, leave=["member0"])

    def group(self, assignor: Assignor) -> Group:
        """The group to assign."""
        before = self.before()
        return before if self.event == "full" else self.after(before, assignor.assign(before))

    def _topics(self) -> list[Topic]:
        count = self.members * self.ratio // self.topics
        racks = None
        if self.racks:
            racks = [(f"rack{p % self.racks}", f"rack{(p + 1) % self.racks}") for p in range(count)]
        return [Topic(f"topic{t}", count, racks) for t in range(self.topics)]

    def _member(self, number: int) -> Member:
        block, blocks = 0, 1
        if self.subscriptions == "unequal":
            block, blocks = number // -(-self.members // BLOCKS), BLOCKS
        rack = f"rack{number % self.racks}" if self.racks else None
        return Member(f"member{number}", _block_of_topics(self.topics, block, blocks), rack=rack)


@cache
def _block_of_topics(topics: int, block: int, blocks: int) -> list[str]:
    """Shared by the members of a block; sorted, as topics travel, so that is how a leader sees them."""
    width = -(-topics // blocks)
    return sorted(f"topic{t}" for t in range(block * width, min(topics, (block + 1) * width)))


def digest(group: Group, assignment: Assignment) -> str:
    """SHA-256 over members in join order: count, then topic index and partition of each, big-endian int32."""
    index = {topic.name: row for row, topic in enumerate(group.topics)}
    sha = hashlib.sha256()
    for member in group.members:
        partitions = assignment[member.id]
        rows = np.array([index[name] for name in partitions.names], np.int32)[partitions.topics]
        pairs = np.stack([rows, partitions.partitions], axis=1).astype(">i4")
        sha.update(len(partitions).to_bytes(4, "big") + pairs.tobytes())
    return sha.hexdigest()
