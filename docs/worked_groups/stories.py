"""The groups, and what happens to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from assignors import Assignment, Explainer, Explanation, Group, Member, Topic, get_assignor
from partitioning import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence


class Rebalance(NamedTuple):
    """One rebalance of a story.

    Attributes:
        event: what led to it.
        group: the group.
        assignment: what the assignor decided.
        why: the explanation of each partition.
    """

    event: str
    group: Group
    assignment: Assignment
    why: dict[TopicPartition, Explanation]


class Story:
    """A group and one leader, rebalance after rebalance.

    Args:
        assignor: name of the assignor.
        topics: the topics.
        members: who is there at first.
        settings: settings of the assignor.
    """

    def __init__(
        self, assignor: str, topics: Sequence[Topic], members: Sequence[Member], **settings: object
    ) -> None:
        self.assignor = assignor
        self.rebalances: list[Rebalance] = []
        self._leader = get_assignor(assignor, **settings)
        names = [member.id for member in members]
        self._decide(f"{', '.join(names[:-1])} and {names[-1]}", Group(topics, members))

    def then(
        self,
        event: str,
        *,
        join: Sequence[Member] = (),
        leave: Collection[str] = (),
        topics: Sequence[Topic] | None = None,
    ) -> Story:
        """The story, one rebalance longer; who stays remembers what it got."""
        before = self.rebalances[-1]
        self._decide(event, before.group.next(before.assignment, join=join, leave=leave, topics=topics))
        return self

    def member(self, name: str) -> Member:
        """A member with what it remembers now."""
        now = self.rebalances[-1]
        return next(member for member in now.group.next(now.assignment).members if member.id == name)

    def _decide(self, event: str, group: Group) -> None:
        assignment = self._leader.assign(group)
        explainer = Explainer(group, assignment, assignor=self._leader)
        why = {
            TopicPartition(topic.name, number): explainer.explain((topic.name, number))
            for topic in group.topics
            for number in range(topic.partitions)
        }
        self.rebalances.append(Rebalance(event, group, assignment, why))


ORDERS, CLICKS = ["orders"], ["clicks"]
BOTH = [*ORDERS, *CLICKS]


def seven(assignor: str) -> Story:
    """Two members share seven partitions, and a third one joins."""
    members = [Member("a", ORDERS), Member("b", ORDERS)]
    return Story(assignor, [Topic("orders", 7)], members).then("c joins", join=[Member("c", ORDERS)])


def member_back() -> Story:
    """A member is away for one rebalance, and comes back with what it remembers."""
    members = [Member("a", ORDERS), Member("b", BOTH), Member("c", ORDERS)]
    story = Story("sticky", [Topic("orders", 6), Topic("clicks", 1)], members)
    c = story.member("c")
    return story.then("c times out", leave=["c"]).then("c is back", join=[c])


def two_topics(assignor: str) -> Story:
    """Two members read two topics, and a third one joins."""
    topics = [Topic("orders", 4), Topic("clicks", 4)]
    members = [Member("a", BOTH), Member("b", BOTH)]
    return Story(assignor, topics, members).then("c joins", join=[Member("c", BOTH)])


def circle() -> Story:
    """A member that reads only one of two topics joins the circle."""
    topics = [Topic("orders", 4), Topic("clicks", 3)]
    members = [Member("a", BOTH), Member("b", BOTH)]
    return Story("roundrobin", topics, members).then("c joins", join=[Member("c", ORDERS)])


def overlap(assignor: str) -> Story:
    """Members that read different topics, and one that reads both joins."""
    topics = [Topic("orders", 5), Topic("clicks", 2)]
    members = [Member("a", ORDERS), Member("b", CLICKS)]
    return Story(assignor, topics, members).then("c joins", join=[Member("c", BOTH)])


def weighed_story(assignor: str) -> Story:
    """Two members share partitions that weigh differently, and a third one joins."""
    members = [Member("a", ORDERS), Member("b", ORDERS)]
    weights = {"orders": [8, 1, 2, 4, 1, 3, 5]}
    story = Story(assignor, [Topic("orders", 7)], members, weights=weights)
    return story.then("c joins", join=[Member("c", ORDERS)])


def growth() -> Story:
    """A topic gets more partitions."""
    members = [Member("a", BOTH), Member("b", BOTH), Member("c", BOTH)]
    story = Story("broker-range", [Topic("orders", 3), Topic("clicks", 2)], members)
    return story.then("orders grows", topics=[Topic("orders", 5), Topic("clicks", 2)])


STORIES: dict[str, Callable[[], Story]] = {
    "range": lambda: two_topics("range"),
    "roundrobin": circle,
    "sticky": lambda: seven("sticky"),
    "sticky-different-topics": member_back,
    "cooperative-sticky": lambda: seven("cooperative-sticky").then("a and b rejoin"),
    "librdkafka-cooperative-sticky": lambda: seven("librdkafka-cooperative-sticky").then("a and b rejoin"),
    "uniform": lambda: seven("uniform"),
    "uniform-different-topics": lambda: overlap("uniform"),
    "broker-range": growth,
    "optimal": lambda: overlap("optimal"),
    "cooperative-optimal": lambda: seven("cooperative-optimal").then("a and b rejoin"),
    "weighted": lambda: weighed_story("weighted"),
    "cooperative-weighted": lambda: weighed_story("cooperative-weighted").then("a and b rejoin"),
}
"""What tells every story, by its name."""


def stories() -> dict[str, Story]:
    """Every story by its name."""
    return {name: tell() for name, tell in STORIES.items()}
