"""Building blocks of scenarios: names, racks, claims, and a group that lives through rebalances.

A scenario is plain data, ready for JSON: see `tests/golden/assignors/README.md`. Nothing here knows an
answer: a member with `carry` takes what it owns from the JVM's own answer to the step before.
"""

from __future__ import annotations

import struct
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from random import Random

Json = dict[str, Any]
Runs = list[list[Any]]

STICKY = ("sticky", "cooperative-sticky")
BROKER = ("uniform", "broker-range")


def topic(
    name: str,
    partitions: int,
    racks: Sequence[Sequence[str]] | None = None,
    topic_id: uuid.UUID | None = None,
) -> Json:
    """A topic; racks are those of each partition's replicas."""
    made: Json = {"name": name, "partitions": partitions}
    if racks is not None:
        made["racks"] = [list(replicas) for replicas in racks]
    if topic_id is not None:
        made["id"] = str(topic_id)
    return made


def member(member_id: str, topics: Iterable[str], **more: Any) -> Json:
    """A member; what is None is left out."""
    return {
        "id": member_id,
        "topics": list(topics),
        **{key: value for key, value in more.items() if value is not None},
    }


def sticky_user_data(owned: Runs, generation: int | None) -> str:
    """What a sticky consumer remembers, in hex; without a generation in the form from before KIP-341."""
    by_topic: dict[str, list[int]] = {}
    for name, *partitions in owned:
        by_topic.setdefault(name, []).extend(partitions)
    data = struct.pack(">i", len(by_topic))
    for name, partitions in by_topic.items():
        encoded = name.encode()
        data += struct.pack(
            f">h{len(encoded)}si{len(partitions)}i", len(encoded), encoded, len(partitions), *partitions
        )
    if generation is not None:
        data += struct.pack(">i", generation)
    return data.hex()


def claim(
    assignor: str, member_id: str, topics: Iterable[str], owned: Runs, generation: int | None, **more: Any
) -> Json:
    """A member that says it owns partitions since a generation, the way this assignor hears it."""
    if assignor == "sticky":
        more.setdefault("user_data", sticky_user_data(owned, generation))
    else:
        more.setdefault("owned", owned)
    return member(member_id, topics, generation=generation, **more)


def runs(pairs: Iterable[tuple[str, int]]) -> Runs:
    """An ordered list of partitions as runs: a topic name followed by partition numbers."""
    made: Runs = []
    for name, partition in pairs:
        if not made or made[-1][0] != name:
            made.append([name])
        made[-1].append(partition)
    return made


def partitions(text: str) -> Runs:
    """Partitions as a person writes them, "a-0 a-1 b-0", as runs."""
    pairs = (word.rsplit("-", 1) for word in text.split())
    return runs((name, int(number)) for name, number in pairs)


def scenario(assignor: str, name: str, *steps: Json) -> Json:
    """A scenario with a name of its own."""
    return {"name": name, "assignor": assignor, "steps": list(steps)}


def step(topics: dict[str, int] | Sequence[Json], members: Sequence[Json], **expect: Any) -> Json:
    """A rebalance; `expect` says what the JVM must do here, or the golden files are not written.

    Args:
        topics: partition counts by name, or topics.
        members: in JoinGroup order.
        expect: `lists` (member: partitions as text, in any order), `exception`, `endless` or `transferring`
            (partition as text: member).
    """
    made = (
        [topic(name, count) for name, count in topics.items()] if isinstance(topics, dict) else list(topics)
    )
    return {"topics": made, "members": list(members), "expect": expect}


def replicas(partitions: int, racks: Sequence[str], factor: int, offset: int = 0) -> list[list[str]]:
    """Replica racks as Kafka's own tests lay them out: replica j of partition i on node (i + j + offset)."""
    return [[racks[(i + j + offset) % len(racks)] for j in range(factor)] for i in range(partitions)]


# Names that are traps: Aa and BB collide in Java, U+1F600 sorts before U+FF5E in UTF-16.
COLLIDING = [
    "".join(parts) for parts in ((a, b, c) for a in ("Aa", "BB") for b in ("Aa", "BB") for c in ("Aa", "BB"))
]
ODD = [
    "\U0001f600",
    "\uff5e",
    "é",
    "e\u0301",
    "Z",
    "a",
    "ab",
    "aB",
    "10",
    "9",
    "~",
    " ",
    "ß",
    "\U0001f601\uff5e",
    "消费者",
    "_",
]


def _plain(rng: Random, number: int) -> str:
    return f"consumer{number}"


def _pad(rng: Random, number: int) -> str:
    return f"c-{number:03d}"


def _real(rng: Random, number: int) -> str:
    return f"consumer-orders-{number + 1}-{uuid.UUID(int=rng.getrandbits(128), version=4)}"


def _colliding_id(rng: Random, number: int) -> str:
    return COLLIDING[number % len(COLLIDING)] + (str(number) if number >= len(COLLIDING) else "")


def _odd(rng: Random, number: int) -> str:
    return ODD[number % len(ODD)] + (chr(0x1F600 + number) if number >= len(ODD) else "")


def _crowd(number: int) -> str:
    """Names that all have one hash code, up to 256 of them."""
    return "".join(("Aa", "BB")[number * 37 >> bit & 1] for bit in range(8))


ID_STYLES: dict[str, Callable[[Random, int], str]] = {
    "plain": _plain,
    "padded": _pad,
    "real": _real,
    "colliding": _colliding_id,
    "odd": _odd,
    "crowded": lambda _, number: _crowd(number),
}
TOPIC_STYLES: dict[str, Callable[[int], str]] = {
    "plain": lambda number: f"topic{number}",
    "short": lambda number: f"t{number}",
    "dotted": lambda number: (
        ("orders", "clicks", "users.v1", "a-b", "A_b", "z")[number % 6] + "." * (number // 6)
    ),
    "colliding": lambda number: COLLIDING[number % 8] + "x" * (number // 8),
    "crowded": _crowd,
}


@dataclass(slots=True)
class World:
    """A group and its cluster between rebalances; `step` writes down the next one.

    Attributes:
        racks: rack names of the cluster's nodes; empty: no racks.
        factor: replicas of each partition.
        equal: whether all members subscribe to the same topics.
        static: share of members with a group.instance.id.
        seen: members that took part in a step.
        lost: members that come back and have forgotten their generation, not what they owned.
    """

    rng: Random
    assignor: str
    id_style: str = "plain"
    topic_style: str = "plain"
    racks: Sequence[str] = ()
    factor: int = 2
    equal: bool = True
    static: float = 0.0
    topics: dict[str, Json] = field(default_factory=dict)
    members: dict[str, Json] = field(default_factory=dict)
    joined: int = 0
    created: int = 0
    seen: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)

    def create_topic(self, partitions: int) -> str:
        """A new topic in the cluster."""
        name = TOPIC_STYLES[self.topic_style](self.created)
        self.created += 1
        topic_id = uuid.UUID(int=self.rng.getrandbits(128), version=4) if self.assignor in BROKER else None
        self.topics[name] = topic(name, partitions, self._replicas(partitions), topic_id)
        return name

    def grow(self, name: str, more: int) -> None:
        """More partitions for a topic; those it has stay where they are."""
        grown = self.topics[name]
        grown["partitions"] += more
        if "racks" in grown:
            grown["racks"] = grown["racks"] + (self._replicas(more) or [])

    def _replicas(self, partitions: int) -> list[list[str]] | None:
        if not self.racks:
            return None
        factor = min(self.factor, len(self.racks))
        if self.rng.random() < 0.5:
            return replicas(partitions, self.racks, factor, self.rng.randrange(len(self.racks)))
        return [self.rng.sample(list(self.racks), factor) for _ in range(partitions)]

    def subscription(self) -> list[str]:
        """What the next member subscribes to, in no particular order."""
        names = list(self.topics)
        self.rng.shuffle(names)
        if self.equal:
            return names
        return names[: self.rng.randint(1, len(names))] if names else []

    def join(self, topics: Iterable[str] | None = None) -> str:
        """A new member at the end of the JoinGroup response."""
        member_id = ID_STYLES[self.id_style](self.rng, self.joined)
        instance = (
            f"instance{self.rng.randrange(1000)}-{self.joined}" if self.rng.random() < self.static else None
        )
        rack = self.rng.choice([*self.racks, *self.racks, "elsewhere", None]) if self.racks else None
        self.joined += 1
        subscribed = self.subscription() if topics is None else topics
        self.members[member_id] = member(member_id, subscribed, instance_id=instance, rack=rack)
        return member_id

    def leave(self) -> Json | None:
        """Some member goes; it can come back with `members[member_id] = ...`."""
        if len(self.members) < 2:
            return None
        gone: Json = self.members.pop(self.rng.choice(list(self.members)))
        if self.assignor in BROKER:
            self.seen.discard(gone["id"])  # the coordinator forgets its target
        return gone

    def shuffle(self) -> None:
        """Another JoinGroup order."""
        ids = list(self.members)
        self.rng.shuffle(ids)
        self.members = {member_id: self.members[member_id] for member_id in ids}

    def step(self) -> Json:
        """The next rebalance: members that were there before carry on with what they remember."""
        members = []
        for member_id, who in self.members.items():
            past: Json = {"carry": True} if member_id in self.seen else {}
            if member_id in self.lost:
                past["generation"] = -1
            members.append({**who, "topics": list(who["topics"]), **past})
        self.seen.update(self.members)
        self.lost.clear()
        return {"topics": [dict(about) for about in self.topics.values()], "members": members}


def new_world(rng: Random, assignor: str, **settings: Any) -> World:
    """A moderate group: 2 to 30 members, 1 to 12 topics, 1 to 20 partitions each."""
    members = settings.pop("members", None) or rng.choice(
        (rng.randint(2, 6), rng.randint(2, 12), rng.randint(5, 30))
    )
    topics = settings.pop("topics", None) or rng.choice((rng.randint(1, 3), rng.randint(1, 12)))
    partitions = settings.pop("partitions", None) or rng.choice((4, 8, 20))
    world = World(rng, assignor, **settings)
    same = rng.random() < 0.3
    for _ in range(topics):
        world.create_topic(partitions if same else rng.randint(1, partitions))
    for _ in range(members):
        world.join()
    return world


def live_on(world: World, away: dict[str, Json], *, topic_changes: bool = True) -> None:
    """Something happens between two rebalances; who leaves may come back later with stale memories."""
    rng = world.rng
    event = rng.choice(
        ("nothing", "join", "join", "leave", "leave", "both", "return", "cluster", "resubscribe", "order")
    )
    if event in ("join", "both"):
        for _ in range(rng.choice((1, 1, 2, 3))):
            world.join()
    if event in ("leave", "both"):
        for _ in range(rng.choice((1, 1, 2, 3))):
            if (gone := world.leave()) is not None:
                away[gone["id"]] = gone
    if event == "return" and away:
        come_back(world, away)
    if event == "order":
        world.shuffle()
    if event == "resubscribe" and not world.equal:
        member_id = rng.choice(list(world.members))
        world.members[member_id] = {**world.members[member_id], "topics": world.subscription()}
    if event == "cluster" and topic_changes:
        change_topics(world)


def come_back(world: World, away: dict[str, Json]) -> None:
    """A member that missed rebalances joins again, with or without the generation it knew."""
    member_id = world.rng.choice(list(away))
    world.members[member_id] = away.pop(member_id)
    if world.assignor in STICKY and world.rng.random() < 0.5:
        world.lost.add(member_id)


def change_topics(world: World) -> None:
    """A topic grows, appears (and everybody of an equal group subscribes) or is deleted."""
    rng = world.rng
    change = rng.choice(("grow", "grow", "create", "delete"))
    if change == "create":
        name = world.create_topic(rng.randint(1, 8))
        for member_id, who in world.members.items():
            if world.equal or rng.random() < 0.5:
                world.members[member_id] = {**who, "topics": [*who["topics"], name]}
    elif world.topics:
        name = rng.choice(list(world.topics))
        if change == "grow":
            world.topics[name] = dict(world.topics[name])
            world.grow(name, rng.randint(1, 4))
        elif len(world.topics) > 1:
            # Its subscribers do not notice yet: a topic without metadata.
            del world.topics[name]
