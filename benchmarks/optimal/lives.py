"""Groups that a seed invents, and what happens to them, the same whoever assigns."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from assignors import Group, Member, Topic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assignors import Assignment

RACKS = ("east", "west", "north")
SHAPES = ("equal", "unequal", "equal, racks", "unequal, racks")
EVENTS = ("new group", "join", "leave", "growth", "new topic", "changed subscription", "rolling restart")
EVENTS_OF_A_LIFE = 5
RESTARTED = 3
"""The most members that one rolling restart is followed through."""
MOST_MEMBERS, MOST_TOPICS, MOST_PARTITIONS = 40, 12, 60
"""Sizes are drawn evenly on a logarithmic scale, so that small groups are as frequent as they are."""


class Back(NamedTuple):
    """A member that comes back: its id now, and the one under which it left."""

    now: str
    left: str


@dataclass(frozen=True)
class Step:
    """What happens between two rebalances.

    Attributes:
        event: what it is part of.
        leave: ids of members that are gone.
        join: members that are new, or back under an id of their own.
        topics: the topics from now on.
        subscribe: what members read from now on that read something else before.
        back: who of them comes back and can be known by its instance id or its client id.
    """

    event: str
    leave: tuple[str, ...] = ()
    join: tuple[Member, ...] = ()
    topics: tuple[Topic, ...] = ()
    subscribe: dict[str, tuple[str, ...]] = field(default_factory=dict)
    back: Back | None = None

    def after(self, group: Group, assignment: Assignment) -> Group:
        """The group at its next rebalance."""
        later = group.next(assignment, leave=self.leave, join=self.join, topics=self.topics)
        if not self.subscribe:
            return later
        members = [
            replace(member, topics=self.subscribe.get(member.id, member.topics)) for member in later.members
        ]
        return replace(later, members=members)


def shape_of(seed: int) -> str:
    """What a group's members have in common."""
    return SHAPES[seed % len(SHAPES)]


def life(seed: int) -> Iterator[Step]:
    """All that happens to one group; the first step is its beginning."""
    return _Life(Random(seed), shape_of(seed)).steps()


def drawn_id(rng: Random) -> uuid.UUID:
    """What a broker or a consumer adds to a client id to make a member id of it."""
    return uuid.UUID(int=rng.getrandbits(128), version=4)


def client_of(member: str) -> str:
    """The client id that a member id begins with."""
    return member.rsplit("-", 5)[0]


class _Life:
    """A group's members and topics over time, whoever owns what."""

    def __init__(self, rng: Random, shape: str) -> None:
        self._rng = rng
        self._equal = shape.startswith("equal")
        self._racks = shape.endswith("racks")
        self._identity = rng.choice(["instance", "client", "none"])
        self._topics = [self._topic(number) for number in range(self._size(MOST_TOPICS))]
        self._subscriptions = [self._subscription() for _ in range(1 if self._equal else rng.randint(2, 8))]
        self._names = 0
        self._members = [self._newcomer() for _ in range(1 + self._size(MOST_MEMBERS - 1))]

    def steps(self) -> Iterator[Step]:
        yield Step("new group", join=tuple(self._members), topics=tuple(self._topics))
        for event in self._rng.choices(EVENTS[1:], k=EVENTS_OF_A_LIFE):
            if event == "rolling restart":
                yield from self._rolling_restart()
            else:
                yield getattr(self, "_" + event.replace(" ", "_"))(event)

    def _join(self, event: str) -> Step:
        return self._step(event, join=[self._newcomer() for _ in range(self._rng.choice([1, 1, 2, 3]))])

    def _leave(self, event: str) -> Step:
        many = min(self._rng.choice([1, 1, 2]), len(self._members) - 1)
        return self._step(event, leave=self._rng.sample(self._members, many))

    def _growth(self, event: str) -> Step:
        number = self._rng.randrange(len(self._topics))
        topic = self._topics[number]
        more = self._partitions(self._size(MOST_PARTITIONS))
        racks = None if topic.racks is None or more.racks is None else [*topic.racks, *more.racks]
        grown = replace(topic, partitions=topic.partitions + more.partitions, racks=racks)
        self._topics[number] = grown
        return self._step(event)

    def _new_topic(self, event: str) -> Step:
        """A topic that all read, as those do that subscribe by a pattern; or that some subscriptions have."""
        topic = self._topic(len(self._topics))
        self._topics.append(topic)
        old = self._subscriptions
        chosen = old if self._equal else self._rng.sample(old, self._rng.randint(1, len(old)))
        return self._subscribe(event, {subscription: (*subscription, topic.name) for subscription in chosen})

    def _changed_subscription(self, event: str) -> Step:
        """One member reads something else; where all read the same, all do."""
        if self._equal:
            return self._subscribe(
                event, {subscription: self._subscription() for subscription in self._subscriptions}
            )
        member = self._rng.choice(self._members)
        chosen = self._rng.choice([*self._subscriptions, self._subscription()])
        return self._step(event, subscribe={member.id: chosen})

    def _rolling_restart(self) -> Iterator[Step]:
        """Members leave and come back one by one, under new ids, as they do without a session that lasts."""
        for member in self._rng.sample(self._members, min(RESTARTED, len(self._members) - 1)):
            yield self._step("rolling restart", leave=[member])
            again = replace(member, id=self._id(client_of(member.id)))
            known = self._identity != "none"
            yield self._step(
                "rolling restart", join=[again], back=Back(again.id, member.id) if known else None
            )

    def _subscribe(self, event: str, changed: dict[tuple[str, ...], tuple[str, ...]]) -> Step:
        self._subscriptions = [
            changed.get(subscription, subscription) for subscription in self._subscriptions
        ]
        told = {
            member.id: changed[tuple(member.topics)]
            for member in self._members
            if tuple(member.topics) in changed
        }
        return self._step(event, subscribe=told)

    def _step(
        self,
        event: str,
        *,
        leave: Sequence[Member] = (),
        join: Sequence[Member] = (),
        subscribe: dict[str, tuple[str, ...]] | None = None,
        back: Back | None = None,
    ) -> Step:
        told = subscribe or {}
        gone = tuple(member.id for member in leave)
        stay = [member for member in self._members if member.id not in gone]
        self._members = [
            *(replace(member, topics=told.get(member.id, member.topics)) for member in stay),
            *join,
        ]
        return Step(event, gone, tuple(join), tuple(self._topics), told, back)

    def _newcomer(self) -> Member:
        self._names += 1
        named = f"worker-{self._names}"
        return Member(
            self._id(named if self._identity == "client" else "app"),
            self._rng.choice(self._subscriptions),
            instance_id=named if self._identity == "instance" else None,
            rack=self._rng.choice(RACKS) if self._racks else None,
        )

    def _id(self, client: str) -> str:
        return f"{client}-{drawn_id(self._rng)}"

    def _topic(self, number: int) -> Topic:
        return replace(self._partitions(self._size(MOST_PARTITIONS)), name=f"topic-{number}")

    def _partitions(self, count: int) -> Topic:
        racks = [self._rng.sample(RACKS, 2) for _ in range(count)] if self._racks else None
        return Topic("", count, racks=racks)

    def _subscription(self) -> tuple[str, ...]:
        names = [topic.name for topic in self._topics]
        fewest = (len(names) + 1) // 2 if self._equal else 1
        return tuple(self._rng.sample(names, self._rng.randint(fewest, len(names))))

    def _size(self, most: int) -> int:
        return round(most ** self._rng.random())
