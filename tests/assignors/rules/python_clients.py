"""What the installed kafka-python and aiokafka answer for invented groups, to which their rules are held.

The packages keep partitions in sets, whose order differs from process to process. Here these sets iterate in
the order that our rules take, so that both sides must give the same answer: lists, order and failures.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.coordinator.assignors.range import RangePartitionAssignor as AiokafkaRange
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor as AiokafkaRoundRobin
from aiokafka.coordinator.assignors.sticky import partition_movements as aiokafka_movements
from aiokafka.coordinator.assignors.sticky import sticky_assignor as aiokafka_sticky
from aiokafka.coordinator.protocol import ConsumerProtocolMemberMetadata
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky import partition_movements, sticky_assignor
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

from assignors import Group, Member, Topic, get_assignor
from assignors.answers import numbers_by_topic
from assignors.assignment import Assignment
from assignors.group import StickyUserData
from assignors.partition_list import PartitionList
from partitioning.errors import AssignorError
from partitioning.java.hash_map import HashSet
from partitioning.topic_partition import TopicPartition
from tests.support.agreement import Difference, differing
from tests.support.tiers import sample

Lists = dict[str, list[TopicPartition]]

THEIRS = {
    "kafka-python-range": RangePartitionAssignor,
    "kafka-python-roundrobin": RoundRobinPartitionAssignor,
    "kafka-python-sticky": sticky_assignor.StickyPartitionAssignor,
    "kafka-python-cooperative-sticky": CooperativeStickyAssignor,
    "aiokafka-range": AiokafkaRange,
    "aiokafka-roundrobin": AiokafkaRoundRobin,
    "aiokafka-sticky": aiokafka_sticky.StickyPartitionAssignor,
}
STICKY = [name for name in THEIRS if name.endswith("sticky")]
SEEDS = sample(range(800), 80, before_ci=8)
NOTHING_TO_LOSE = 686, 1283, 2986
"""Seeds of groups in which what one owns alone, and another one claims that takes no part, does not move."""
BOTH_UNDONE = 347
"""The seed of a group in which two partitions that moved before go back where they were."""


class _Listed(dict[Any, None]):
    """A set that gives back last what came last."""

    def __init__(self, elements: Iterable[Any] = ()) -> None:
        super().__init__(dict.fromkeys(elements))

    def add(self, element: Any) -> None:
        self[element] = None

    def remove(self, element: Any) -> None:
        del self[element]

    def intersection(self, others: Iterable[Any]) -> list[Any]:
        return [other for other in others if other in self]


class _Hashed(HashSet[TopicPartition]):
    """A set of theirs in Java's order, which ours is in."""

    def add(self, value: tuple[str, int]) -> None:
        super().add(TopicPartition(*value))


@contextmanager
def _sets_in_our_order() -> Iterator[None]:
    """Within it, the sets of both packages iterate in the order that our rules take."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (sticky_assignor, aiokafka_sticky):
            patch.setattr(module, "set", _Listed, raising=False)
        for module in (partition_movements, aiokafka_movements):
            patch.setattr(module, "set", _Hashed, raising=False)
        yield


class _Cluster:
    """As much of the packages' metadata as assignors ask for: the topics that the group reads."""

    def __init__(self, group: Group) -> None:
        read = {topic for member in group.members for topic in member.topics}
        self._counts = {topic.name: topic.partitions for topic in group.topics if topic.name in read}

    def topics(self) -> set[str]:
        return set(self._counts)

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return set(range(self._counts[topic])) if topic in self._counts else None


def _member_of_kafka_python(name: str, member: Member) -> SimpleNamespace:
    """A member as JoinGroup's answer brings it to a leader of kafka-python."""
    sent: dict[str, Any] = {"version": 0, "topics": [*member.topics], "user_data": b""}
    if name == "kafka-python-sticky" and isinstance(member.user_data, StickyUserData):
        had = numbers_by_topic(member.user_data.partitions)
        sent["user_data"] = sticky_assignor.StickyAssignorUserData(had, member.user_data.generation).encode()
    elif name == "kafka-python-sticky":
        sent["user_data"] = member.user_data or b""
    elif name == "kafka-python-cooperative-sticky":
        kind = ConsumerProtocolSubscription.TopicPartition
        owned = numbers_by_topic(PartitionList.of(member.owned))
        sent |= {
            "version": 1,
            "owned_partitions": [kind(topic=topic, partitions=mine) for topic, mine in owned],
        }
        if member.generation is not None:
            sent |= {"version": 2, "generation_id": member.generation}
    metadata = ConsumerProtocolSubscription.decode(ConsumerProtocolSubscription(**sent).encode())
    return SimpleNamespace(member_id=member.id, group_instance_id=member.instance_id, metadata=metadata)


def _member_of_aiokafka(member: Member) -> ConsumerProtocolMemberMetadata:
    """A member as JoinGroup's answer brings it to a leader of aiokafka, whose members send no generation."""
    data = member.user_data or b""
    if isinstance(data, StickyUserData):
        data = aiokafka_sticky.StickyAssignorUserDataV1(numbers_by_topic(data.partitions), -1).encode()
    return ConsumerProtocolMemberMetadata(0, [*member.topics], data)


def theirs(name: str, group: Group) -> Lists | None:
    """What the package answers; None where it raises."""
    members: Any = [_member_of_kafka_python(name, member) for member in group.members]
    if name.startswith("aiokafka"):
        members = {member.id: _member_of_aiokafka(member) for member in group.members}
    try:
        with _sets_in_our_order():
            answer = THEIRS[name]().assign(_Cluster(group), members)
    except (KeyError, TypeError):
        return None
    return {
        member: [TopicPartition(*partition) for partition in assigned.partitions()]
        for member, assigned in answer.items()
    }


def ours(name: str, group: Group) -> Lists | None:
    """What ours answers; None where it raises."""
    try:
        answer = get_assignor(name).assign(group)
    except AssignorError:
        return None
    assert not set(answer.transferring) & {partition for mine in answer.values() for partition in mine}
    return {member: [*mine] for member, mine in answer.items()}


def draw_group(random: Random) -> Group:
    """A new group: alike or not, static or not, of topics named in any order."""
    topics = [
        Topic(name, random.randint(1, 7))
        for name in random.sample("tuvw\ue000\U0001f600", random.randint(1, 4))
    ]
    names = [topic.name for topic in topics]
    alike, kinds = random.random() < 0.5, random.choice([(False,), (True,), (False, False, True)])
    return Group(
        topics,
        [
            _member(random, letter, names, alike, kinds)
            for letter in random.sample("abcdefg", random.randint(1, 7))
        ],
    )


def _member(random: Random, name: str, topics: list[str], alike: bool, kinds: tuple[bool, ...]) -> Member:
    some = random.sample(topics, random.choice([0, *[random.randint(1, len(topics))] * 9]))
    instance_id = f"{random.choice('xyz')}-{name}" if random.choice(kinds) else None
    return Member(name, topics if alike else some, instance_id=instance_id)


def next_group(random: Random, group: Group, lists: Lists) -> Group:
    """The group's next rebalance: members leave and join, topics grow, claims go astray."""
    members = [member.id for member in group.members]
    leave = random.sample(members, random.choice([0, 0, random.randint(0, len(members) - 1)]))
    fresh = [name for name in "hijk" if name not in members]
    names = [topic.name for topic in group.topics]
    alike = len({tuple(member.topics) for member in group.members}) == 1
    join = [_member(random, name, names, alike, (False,)) for name in fresh[: random.choice([0, 0, 1, 2])]]
    topics = [Topic(topic.name, topic.partitions + random.choice([0, 0, 0, 2])) for topic in group.topics]
    after = group.next(Assignment.for_group(group, lists), join=join, leave=leave, topics=topics)
    if random.random() < 0.6:
        return after
    return Group(
        after.topics,
        [_astray(random, member, after) for member in after.members],
        generation=after.generation,
    )


def _astray(random: Random, member: Member, group: Group) -> Member:
    """A member that claims what others have, what it does not read or what is not there, since any time."""
    every = [
        TopicPartition(topic.name, number) for topic in group.topics for number in range(topic.partitions + 1)
    ]
    owned = [*member.owned, *random.sample(every, random.choice([0, 0, 2]))]
    generation = random.choice([group.generation, group.generation, 1, 2, None])
    return _claiming(member.id, member.topics, owned, generation, member.instance_id)


def skewed_group(random: Random) -> Group:
    """A group in which a few members claim most partitions, some that they do not read, so that many move."""
    topics = [
        Topic(f"t{turn}", random.randint(1, random.choice([3, 12]))) for turn in range(random.randint(2, 9))
    ]
    names = [topic.name for topic in topics]
    every = [TopicPartition(topic.name, number) for topic in topics for number in range(topic.partitions)]
    random.shuffle(every)
    members = {
        f"m{turn:02}": random.sample(names, random.randint(1, len(names)))
        for turn in range(random.randint(3, 14))
    }
    greedy = [name for name in members for _ in range(random.choice([0, 1, 5]))] or [*members]
    owner = {partition: random.choice(greedy) for partition in every}
    owned = {
        name: [
            partition
            for partition in every
            if owner[partition] == name and (partition.topic in read or random.random() < 0.1)
        ]
        for name, read in members.items()
    }
    return Group(
        topics,
        [
            _claiming(name, sorted(read), owned[name], random.choice([1, 1, 1, 2]))
            for name, read in members.items()
        ],
        generation=2,
    )


def on_other_clients(group: Group) -> Group:
    """The group, with members on clients that send what they remember as Java does."""
    members = [
        replace(member, user_data=bytes(member.user_data)) if member.user_data is not None else member
        for member in group.members
    ]
    return Group(group.topics, members, generation=group.generation)


def _claiming(
    name: str,
    topics: Sequence[str],
    owned: Sequence[TopicPartition],
    generation: int | None,
    instance_id: str | None = None,
) -> Member:
    """A member that owns this, and remembers it in user data."""
    data = StickyUserData(PartitionList.of(owned), -1 if generation is None else generation)
    return Member(name, topics, instance_id=instance_id, owned=owned, generation=generation, user_data=data)


def rebalances_that_differ(name: str, seeds: Iterable[int]) -> Iterator[Difference | None]:
    """The first differing rebalance of each invented group; None for a group that agrees."""
    for seed in seeds:
        random = Random(f"{name.removeprefix('kafka-python-')} {seed}")
        group = draw_group(random)
        for step in range(4 if name in STICKY else 1):
            expected = theirs(name, group)
            found = difference(name, f"seed {seed}", group, expected, step)
            if found or expected is None:
                yield found
                break
            group = next_group(random, group, expected)
            if seed % 2:
                group = on_other_clients(group)
        else:
            yield None


def moves_that_differ(name: str, seeds: Iterable[int]) -> Iterator[Difference | None]:
    """How groups in which many partitions have to move are answered differently; None for one that agrees."""
    for seed in seeds:
        for group in (skewed_group(Random(seed)), on_other_clients(skewed_group(Random(seed)))):
            yield difference(name, f"skewed seed {seed}", group, theirs(name, group))


def difference(
    name: str, called: str, group: Group, expected: Lists | None, step: int = 0
) -> Difference | None:
    """How our answer for a group differs from the package's; None if it does not."""
    answers = differing(_as_answer(expected), _as_answer(ours(name, group)))
    told = [*map(str, group.topics), *map(str, group.members)]
    return Difference(f"{name}, {called}", step, told, answers) if answers else None


def _as_answer(lists: Lists | None) -> dict[str, Any]:
    return {"raises": "an exception"} if lists is None else {**lists}
