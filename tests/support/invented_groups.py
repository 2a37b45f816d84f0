"""Groups that a random source invents, and what may happen to them from one rebalance to the next."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

from assignors import Group, Member, Topic
from assignors.group import StickyUserData
from assignors.partition_list import PartitionList
from partitioning.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from assignors import Assignment

RACKS = ("east", "west", "north")


@dataclass(frozen=True)
class Names:
    """What the names in a group are made of.

    Attributes:
        topics: names of topics.
        absent: names that members subscribe to, though no topic has them.
        members: what ids of members and of their instances begin with.
        topic_ids: ids of topics.
    """

    topics: Sequence[str]
    absent: Sequence[str]
    members: Sequence[str]
    topic_ids: Sequence[uuid.UUID]


PLAIN = Names(
    topics=[f"topic-{number}" for number in range(6)],
    absent=[],
    members=["member-"],
    topic_ids=[uuid.uuid5(uuid.NAMESPACE_DNS, f"topic-{number}") for number in range(6)],
)
# Aa and BB have one hash in Java; U+1F600 comes before U+FF5E in UTF-16, after it by code point. The hash
# of a topic id is that of its four words xored.
TRAPS = Names(
    topics=["Aa", "BB", "AaAa", "BBBB", "\U0001f600", "\uff5e"],
    absent=["AaBB", "missing"],
    members=["member-", "Aa", "BB", "\U0001f600", "\uff5e"],
    topic_ids=[uuid.UUID(int=one << word) for one, word in product((1, 2), (0, 32, 64, 96))],
)


@dataclass(frozen=True)
class Inventor:
    """Invents the rebalances of a group.

    Attributes:
        rng: the random source.
        names: what names are made of; with `TRAPS`, topics may be without partitions.
        size: about how many members there are, and how many partitions a topic has.
    """

    rng: Random
    names: Names
    size: int

    def new_group(self) -> Group:
        """A group in which nobody owns anything yet."""
        rng = self.rng
        names = rng.sample(self.names.topics, rng.randint(1, len(self.names.topics)))
        fewest = 0 if self.names.absent else 1
        topics = [Topic(name, rng.randint(fewest, 2 * self.size)) for name in names]
        if rng.random() < 0.5:
            topics = [replace(topic, racks=self._racks(topic.partitions)) for topic in topics]
        if rng.random() < 0.5:
            ids = rng.sample(self.names.topic_ids, len(names))
            topics = [replace(topic, id=topic_id) for topic, topic_id in zip(topics, ids, strict=True)]
        empty = Group(topics, [])
        return replace(empty, members=self._new_members(empty))

    def next_group(self, group: Group, assignment: Assignment) -> Group:
        """The group at its next rebalance: members come and go, topics grow and go, one subscribes anew."""
        rng = self.rng
        ids = [member.id for member in group.members]
        later = group.next(
            assignment,
            leave=rng.sample(ids, rng.choice([0, 0, 1, 2]) % len(ids)),
            join=self._new_members(group) if rng.random() < 0.4 else (),
            topics=[topic for old in group.topics for topic in self._later(old)],
        )
        if rng.random() < 0.8:
            return later
        member = rng.choice(later.members)
        return _exchanged(later, member, replace(member, topics=rng.choice(self._subscriptions(later))))

    def tampered(self, group: Group) -> Group:
        """The group with a member that says what no coordinator lets it say.

        It names topics twice or none; or it claims partitions of others, or such as do not exist, or one
        twice, and from any generation. Its user data may be bytes.
        """
        rng = self.rng
        member = rng.choice(group.members)
        if rng.random() < 0.3:
            names = [*self.names.topics, *self.names.absent]
            return _exchanged(group, member, replace(member, topics=rng.choices(names, k=rng.randint(0, 4))))
        claimed = [partition for owner in group.members for partition in owner.owned]
        claimed.append(TopicPartition(rng.choice(self.names.topics), rng.randint(-1, 3 * self.size)))
        owned = PartitionList.of([*member.owned, *rng.choices(claimed, k=rng.randint(0, 3))])
        generation = rng.choice([None, *range(-1, group.generation + 2)])
        data = StickyUserData(owned, generation)
        told = replace(member, owned=owned, generation=generation, user_data=rng.choice([data, bytes(data)]))
        return _exchanged(group, member, told)

    def _new_members(self, group: Group) -> list[Member]:
        """Members that own nothing yet."""
        rng, prefixes = self.rng, self.names.members
        subscriptions = self._subscriptions(group)[: rng.randint(1, 4)]
        taken = {member.id for member in group.members}
        numbers = rng.sample(range(100), rng.randint(1, self.size))
        ids = {f"{rng.choice(prefixes)}{number}": number for number in numbers}
        return [
            Member(
                member,
                rng.choice(subscriptions),
                instance_id=f"{rng.choice(prefixes)}{number}" if rng.random() < 0.3 else None,
                rack=rng.choice([None, *RACKS]),
            )
            for member, number in ids.items()
            if member not in taken
        ]

    def _subscriptions(self, group: Group) -> list[list[str]]:
        """What members may subscribe to: what others do already, the same in another order, or anything."""
        rng = self.rng
        names = [*(topic.name for topic in group.topics), *self.names.absent] or list(self.names.topics)
        known = [list(topics) for topics in dict.fromkeys(tuple(member.topics) for member in group.members)]
        anything = [rng.sample(names, rng.randint(1, len(names))) for _ in range(2)]
        some = known or anything[:1]
        return [*some, rng.sample(some[0], len(some[0])), *anything]

    def _later(self, topic: Topic) -> list[Topic]:
        """The topic after a while, when it may have grown or be gone."""
        more = self.rng.choice([0, 0, 0, 0, 0, 1, self.size, None])
        if more is None:
            return []
        grown = None if topic.racks is None else [*topic.racks, *self._racks(more)]
        return [replace(topic, partitions=topic.partitions + more, racks=grown)]

    def _racks(self, partitions: int) -> list[list[str]]:
        """The racks of some partitions' replicas."""
        return [self.rng.sample(RACKS, self.rng.randint(0, 2)) for _ in range(partitions)]


def _exchanged(group: Group, old: Member, new: Member) -> Group:
    return replace(group, members=[new if member is old else member for member in group.members])
