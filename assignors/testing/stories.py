"""Groups as an assignor meets them, one rebalance after the other.

What happens is drawn at random, but from a seed: a story that fails once fails always. Groups are small,
because faults show in small groups and can be read there.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from assignors.assignment import Assignment
from assignors.group import Group, Member, StickyUserData, Topic
from assignors.partition_list import PartitionList

RACKS = ("east", "west", None)
FORMS = ("as it was given", "none", "empty", "of another strategy")
"""The forms of user data: another strategy's is what a member sends that comes from another client."""


class Story:
    """Tells what happens to one group; the same seed gives the same story to assignors that answer alike.

    Attributes:
        _random: the source of everything that happens; an event draws the same numbers for equal groups.
        _ever: how many members ever joined; ids are never used twice, as a coordinator never does.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - test data
        self._ever = 0

    # Topics may have no partitions at all, which a strategy must bear.
    def first(self) -> tuple[str, Group]:
        """Return what the group is called at its beginning, and the group."""
        topics = [
            self._topic(f"topic-{number}", self._random.randint(0, 7))
            for number in range(self._random.randint(1, 4))
        ]
        members = [self._joiner(topics) for _ in range(self._random.randint(1, 6))]
        return "a new group", _fresh(Group(topics, members))

    def next(self, group: Group, assignment: Assignment) -> tuple[str, Group]:
        """Return what happens, and the group at the rebalance that follows."""
        happens: Callable[[Group, Assignment], tuple[str, Group]] = self._random.choice(
            [self._join, self._leave, self._restart, self._grow, self._delete, self._subscribe, self._forget]
        )
        what, changed = happens(group, assignment)
        return what, _fresh(changed)

    def _topic(self, name: str, partitions: int) -> Topic:
        """Return a topic, half of the time with two of three racks for each partition."""
        racks = None
        if self._random.random() < 0.5:
            racks = [self._random.sample(["east", "west", "north"], 2) for _ in range(partitions)]
        return Topic(name, partitions, racks)

    def _joiner(self, topics: Sequence[Topic], instance_id: str | None = None) -> Member:
        """Return a new member; one in three is static, unless it takes over an instance id."""
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
        """Return all topics, or some of them, maybe with one that does not exist."""
        names = [topic.name for topic in topics]
        if self._random.random() < 0.5:
            return names
        # Never none at all: Java's sticky assignors let a member without topics keep what it has.
        return self._random.sample([*names, "a topic that is not there"], self._random.randint(1, len(names)))

    def _join(self, group: Group, assignment: Assignment) -> tuple[str, Group]:
        """Let one or two members join."""
        joins = [self._joiner(group.topics) for _ in range(self._random.randint(1, 2))]
        return "a member joins", group.next(assignment, join=joins)

    def _leave(self, group: Group, assignment: Assignment) -> tuple[str, Group]:
        """Let some members leave, but not all."""
        # At least one stays: an empty group has no leader to ask.
        count = self._random.randint(0, len(group.members) - 1)
        gone = [member.id for member in self._random.sample(list(group.members), count)]
        return "members leave", group.next(assignment, leave=gone)

    def _restart(self, group: Group, assignment: Assignment) -> tuple[str, Group]:
        """Let a member leave and come back under a new id, as a static one under the same instance id."""
        gone = self._random.choice(group.members)
        back = self._joiner(group.topics, gone.instance_id)
        return "a member restarts", group.next(assignment, leave=[gone.id], join=[back])

    def _grow(self, group: Group, assignment: Assignment) -> tuple[str, Group]:
        """Let topics grow by up to four partitions, racks drawn anew."""
        grown = [
            self._topic(topic.name, topic.partitions + self._random.randint(0, 4)) for topic in group.topics
        ]
        return "topics grow", group.next(assignment, topics=grown)

    def _delete(self, group: Group, assignment: Assignment) -> tuple[str, Group]:
        """Delete some topics; if all would go, none does."""
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
        """Let all members send user data of another form."""
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
    """Return the same group in lists of its own, which a strategy could change if it dared."""
    return replace(
        group,
        topics=list(group.topics),
        members=[
            replace(member, topics=list(member.topics), owned=list(PartitionList.of(member.owned)))
            for member in group.members
        ],
    )
