"""The groups of the draft's own benchmark, and what happens to them.

Members, topics, partitions a member, equal subscriptions or five buckets that have no topic in common, and
equal or mixed sizes of topics are those of `ServerSideAssignorBenchmark` in the draft's branch, as far as
they have up to 20,000 pairs of a member and a topic. "overlapping" is ours, and is where the orders differ:
a bucket reads the topics of the next one, too, so that the first one's have fewer subscribers than others.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from assignors import Group, Member, Topic, get_assignor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assignors import Assignment

BUCKETS = 5
PARTITIONS_A_MEMBER = 10
SUBSCRIPTIONS = ("equal", "buckets", "overlapping")
EVENTS = ("new group", "join", "leave", "growth", "from uniform")


class Shape(NamedTuple):
    """A group at its beginning."""

    members: int
    topics: int
    subscriptions: str
    sizes: str

    @property
    def name(self) -> str:
        return f"{self.members:,} members, {self.topics} topics, {self.subscriptions}, {self.sizes} sizes"

    def group(self) -> Group:
        """The group before its first assignment."""
        topics = [Topic(f"topic{row:03}", size) for row, size in enumerate(self._sizes())]
        return Group(topics, [self.member(row) for row in range(self.members)])

    def member(self, row: int) -> Member:
        """The member with this number."""
        bucket, many = row * BUCKETS // self.members, self.topics // BUCKETS
        fifths = {"equal": BUCKETS, "buckets": 1, "overlapping": 2}[self.subscriptions]
        first = 0 if self.subscriptions == "equal" else bucket * many
        names = [f"topic{number:03}" for number in range(first, min(first + fifths * many, self.topics))]
        return Member(f"member{row:05}", names)

    def _sizes(self) -> list[int]:
        """The partitions of each topic; mixed: four of five have one, and the others are 1:2:3:4."""
        total = self.members * PARTITIONS_A_MEMBER
        if self.sizes == "equal":
            return [total // self.topics] * self.topics
        weight = [1 + number // 5 % 4 if number % 5 == 4 else 0 for number in range(self.topics)]
        left = total - self.topics
        sizes = [1 + left * share // sum(weight) for share in weight]
        sizes[self.topics - 1 - self.topics % 5] += total - sum(sizes)
        return sizes


SHAPES = [
    Shape(members, topics, subscriptions, sizes)
    for (members, topics), subscriptions, sizes in product(
        [(100, 10), (100, 100), (500, 10), (1000, 10)], SUBSCRIPTIONS, ["equal", "mixed"]
    )
]


def changed_groups(group: Group, before: Assignment) -> Iterator[tuple[str, Group]]:
    """The group after each event; what members have is from `before`, or from Kafka's `uniform`."""
    last = group.members[-1]
    yield "join", group.next(before, join=[replace(last, id="newcomer")])
    yield "leave", group.next(before, leave=[group.members[len(group.members) // 2].id])
    grown = replace(group.topics[0], partitions=group.topics[0].partitions + len(group.members) // 2)
    yield "growth", group.next(before, topics=[grown, *group.topics[1:]])
    yield "from uniform", group.next(get_assignor("uniform").assign(group))
