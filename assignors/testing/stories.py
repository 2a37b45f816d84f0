"""Random stories of groups, for tests of assignors: events, each followed by a rebalance.

Events are drawn at random from a seed, so a story that fails once always fails. Groups are small, because
small groups are enough to show faults and are easy to read.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from assignors.assignment import Assignment
from assignors.group import Group, Member, StickyUserData, Topic
from assignors.partition_list import PartitionList

RACKS = ("east", "west", None)
FORMS = ("as it was given", "none", "empty", "of another strategy")
"""The forms of user data. A member that runs another client may send user data of another strategy."""


class Story:
    """The events of one group. With the same seed, assignors that give equal answers get the same story.

    Attributes:
        _random: the source of random numbers; an event draws the same numbers for equal groups.
        _ever: how many members have ever joined. As with a coordinator, no member id is used twice.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - test data
        self._ever = 0

    # A topic may have no partitions, and a strategy must handle that.
    def first(self) -> tuple[str, Group]:
        """Return a name for the first event, and the group at its first rebalance."""
        topics = [
            self._topic(f"topic-{number}", self._random.randint(0, 7))
            for number in range(self._random.randint(1, 4))
        ]
        members = [self._joiner(topics) for _ in range(self._random.randint(1, 6))]
        return "a new group", _fresh(Group(topics, members))

    def next(self, group: Group, assignment: Assignment) -> tuple[str, Group]:
        """Return the name of the next event, and the group at the rebalance that follows it.

        Args:
            group: the group at the rebalance before.
            assignment: the answer to that rebalance.
        """
        happens: Callable[[Group, Assignment], tuple[str, Group]] = self._random.choice(
            [self._join, self._leave, self._restart, self._grow, self._delete, self._subscribe, self._forget]
        )
        what, changed = happens(group, assignment)
        return what, _fresh(changed)

    def _topic(self, name: str, partitions: int) -> Topic:
        """Return a topic; in half of the cases each partition has replicas in two of three racks."""
        racks = None
        if self._random.random() < 0.5:
            racks = [self._random.sample(["east", "west", "north"], 2) for _ in range(partitions)]
        return Topic(name, partitions, racks)

    def _joiner(self, topics: Sequence[Topic], instance_id: str | None = None) -> Member:
        """Return a new member. Without an `instance_id`, it becomes static with a probability of 0.3."""
        self._ever += 1
        if instance_id is None and self._random.random() < 0.3:
            instance_id = f"instance-{self._ever}"
        return Member(
            f"member-{self._ever}",
            self._subscription(topics),
            instance_id=instance_id,
            rack=self._random.choice(RACKS),
        )

    def _subscription(self, topics: Sequence[Topic]) -> list[str]:
        """Return all topic names, or some of them, perhaps with a topic that does not exist."""
        names = [topic.name for topic in topics]
        if self._random.random() < 0.5:
            return names
        # A subscription is never empty: Java's sticky assignors let a member without topics keep its
        # partitions.
        return self._random.sample([*names, "a topic that is not there"], self._random.randint(1, len(names)))

    def _join(self, group: Group, assignment: Assignment) -> tuple[str, Group]:
        """Let one or two members join."""
        joins = [self._joiner(group.topics) for _ in range(self._random.randint(1, 2))]
        return "a member joins", group.next(assignment, join=joins)

    def _leave(self, group: Group, assignment: Assignment) -> tuple[str, Group]:
        """Let some members leave; at least one stays, because an empty group has no leader."""
        count = self._random.randint(0, len(group.members) - 1)
        gone = [member.id for member in self._random.sample(list(group.members), count)]
        return "members leave", group.next(assignment, leave=gone)

    def _restart(self, group: Group, assignment: Assignment) -> tuple[str, Group]:
        """Let a member leave and return with a new member id; a static member keeps its instance id."""
        gone = self._random.choice(group.members)
        back = self._joiner(group.topics, gone.instance_id)
        return "a member restarts", group.next(assignment, leave=[gone.id], join=[back])

    def _grow(self, group: Group, assignment: Assignment) -> tuple[str, Group]:
        """Let topics grow by up to four partitions, with new random racks."""
        grown = [
            self._topic(topic.name, topic.partitions + self._random.randint(0, 4)) for topic in group.topics
        ]
        return "topics grow", group.next(assignment, topics=grown)

    def _delete(self, group: Group, assignment: Assignment) -> tuple[str, Group]:
        """Delete some topics; if that would delete all, delete none."""
        left = [topic for topic in group.topics if self._random.random() < 0.6]
        return "a topic is deleted", group.next(assignment, topics=left or group.topics)

    def _subscribe(self, group: Group, assignment: Assignment) -> tuple[str, Group]:
        """Let one member subscribe to other topics."""
        after = group.next(assignment)
        number = self._random.randrange(len(after.members))
        members = list(after.members)
        members[number] = replace(members[number], topics=self._subscription(group.topics))
        return "a member subscribes to other topics", replace(after, members=members)

    def _forget(self, group: Group, assignment: Assignment) -> tuple[str, Group]:
        """Let all members send user data of a random form, perhaps the one that they would send anyway."""
        form = self._random.choice(FORMS)
        data: dict[str, bytes | StickyUserData | None] = {
            "none": None,
            "empty": b"",
            "of another strategy": self._random.randbytes(self._random.randint(1, 40)),
        }
        after = group.next(assignment)
        if form in data:
            members = [replace(member, user_data=data[form]) for member in after.members]
            after = replace(after, members=members)
        return f"members send user data {form}", after


def _fresh(group: Group) -> Group:
    """Return an equal group with its own lists, so that a strategy that changes them can be detected."""
    return replace(
        group,
        topics=list(group.topics),
        members=[
            replace(member, topics=list(member.topics), owned=list(PartitionList.of(member.owned)))
            for member in group.members
        ],
    )
