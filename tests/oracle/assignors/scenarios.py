"""The scenarios whose answers the golden files hold, by assignor and family.

Everything is seeded by names: the same scenario comes out everywhere, and a new family changes no other.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from tests.oracle.assignors.quirks.broker import broker_range_quirks, uniform_quirks
from tests.oracle.assignors.quirks.client import range_quirks, round_robin_quirks
from tests.oracle.assignors.quirks.sticky import sticky_quirks
from tests.oracle.assignors.quirks.sticky_memory import memory_quirks
from tests.oracle.assignors.quirks.sticky_racks import rack_quirks
from tests.oracle.assignors.worlds import (
    BROKER,
    STICKY,
    TOPIC_STYLES,
    Json,
    World,
    claim,
    live_on,
    member,
    new_world,
    runs,
    sticky_user_data,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ASSIGNORS = ("range", "roundrobin", *STICKY, *BROKER)
RACKS = ("a", "b", "c", "d")


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of scenario.

    Attributes:
        name: what it is about.
        make: the steps of one scenario, from a random source and an assignor.
        count: how many scenarios the golden file holds.
    """

    name: str
    make: Callable[[Random, str], list[Json]]
    count: int


def _styles(rng: Random) -> dict[str, Any]:
    return {
        "id_style": rng.choice(("plain", "plain", "padded", "real")),
        "topic_style": rng.choice(("plain", "short", "dotted")),
    }


def _chain(world: World, steps: int, *, topic_changes: bool = True) -> list[Json]:
    """A first rebalance and what happens afterwards."""
    away: dict[str, Json] = {}
    made = [world.step()]
    for _ in range(steps - 1):
        live_on(world, away, topic_changes=topic_changes)
        made.append(world.step())
    return made


def chains(rng: Random, assignor: str, **settings: Any) -> list[Json]:
    """Joins, leaves, returns, changed topics and subscriptions; members carry on what they got."""
    world = new_world(rng, assignor, **{**_styles(rng), **settings})
    return _chain(world, rng.randint(2, 5))


def racks(rng: Random, assignor: str, *, equal: bool) -> list[Json]:
    """The same with racks, from one replica to as many as racks (which turns rack mode off)."""
    names = RACKS[: rng.randint(2, 4)]
    return chains(rng, assignor, racks=names, factor=rng.randint(1, len(names)), equal=equal, static=0.2)


def odd_names(rng: Random, assignor: str) -> list[Json]:
    """Ids and topics that collide in a HashMap or sort differently in UTF-16."""
    styles = {"id_style": rng.choice(("colliding", "odd")), "topic_style": rng.choice(tuple(TOPIC_STYLES))}
    world = new_world(rng, assignor, equal=rng.random() < 0.5, static=rng.choice((0, 0.5)), **styles)
    world.shuffle()
    return _chain(world, rng.randint(2, 4))


def copartitioned(rng: Random, assignor: str) -> list[Json]:
    """Several topics with one partition count, racks, and subscriptions in a few blocks."""
    names = RACKS[: rng.randint(2, 3)]
    world = World(rng, assignor, racks=names, factor=rng.randint(1, 2), equal=False, static=0.2)
    for partitions in rng.choices((3, 4, 6, 8), k=3):
        for _ in range(rng.randint(1, 3)):
            world.create_topic(partitions)
    topics = list(world.topics)
    blocks = [topics, topics[: len(topics) // 2 + 1], topics[len(topics) // 2 :]]
    for _ in range(rng.randint(2, 9)):
        world.join(rng.choice(blocks[: rng.randint(1, 3)]))
    return _chain(world, 2, topic_changes=False)


def static_members(rng: Random, assignor: str) -> list[Json]:
    """Static members restart under new member ids; dynamic ones come and go."""
    world = new_world(rng, assignor, **_styles(rng), static=0.7, equal=rng.random() < 0.5)
    made = [world.step()]
    for _ in range(rng.randint(1, 3)):
        renamed = {}
        for old, who in world.members.items():
            if "instance_id" in who and rng.random() < 0.5:
                new = f"{old}-restarted"
                renamed[new] = {**who, "id": new}
                if assignor in BROKER:
                    renamed[new]["carry"] = old  # the coordinator hands the old member's target on
            else:
                renamed[old] = who
        world.members = renamed
        world.shuffle()
        made.append(world.step())
    return made


def settles(rng: Random, assignor: str, *, equal: bool) -> list[Json]:
    """One change, then rebalances in which nothing else happens until nothing should move."""
    world = new_world(rng, assignor, **_styles(rng), equal=equal)
    made = [world.step()]
    live_on(world, {})
    made.extend(world.step() for _ in range(4))
    return made


def large(rng: Random, assignor: str) -> list[Json]:
    """Some bigger groups."""
    world = new_world(
        rng,
        assignor,
        members=rng.randint(60, 150),
        topics=rng.randint(5, 20),
        partitions=60,
        equal=rng.random() < 0.6,
        **_styles(rng),
    )
    return _chain(world, 3)


def claims(
    rng: Random, assignor: str, *, equal: bool, overlap: float = 0.3, beyond: float = 0.0
) -> list[Json]:
    """Members that say anything about what they own and since when: stale, duplicate and three-way claims.

    Args:
        rng: the random source.
        assignor: whose way of hearing claims.
        equal: whether subscriptions are equal.
        overlap: chance that a claimed partition is left for others to claim too.
        beyond: chance that a topic had more partitions when it was claimed.
    """
    has_racks = rng.random() < 0.25
    world = new_world(
        rng,
        assignor,
        **_styles(rng),
        equal=equal,
        racks=RACKS[: rng.randint(2, 4)] if has_racks else (),
        factor=rng.randint(1, 2),
    )
    made = []
    generation = rng.randint(1, 20)
    for _ in range(rng.randint(1, 3)):
        made.append(_claims_step(world, generation, overlap, beyond))
        generation += rng.choice((-3, -1, 1, 1, 2))
    return made


def _claims_step(world: World, generation: int, overlap: float, beyond: float) -> Json:
    rng, assignor = world.rng, world.assignor
    free = [
        (name, partition)
        for name, about in world.topics.items()
        for partition in range(about["partitions"] + (rng.randint(1, 3) if rng.random() < beyond else 0))
    ]
    if rng.random() < 0.2:
        free += [("deleted", partition) for partition in range(3)]
    rng.shuffle(free)
    share = len(free) // max(len(world.members), 1) + 1
    stale = rng.choice((0.0, 0.2, 0.6))
    members = []
    for who in world.members.values():
        mine, rest = [], []
        wanted = rng.choice((0, share, share, share + 2, 2 * share))
        for pair in free:
            if len(mine) < wanted and (pair[0] in who["topics"] or rng.random() < 0.1):
                mine.append(pair)
                if rng.random() < overlap:
                    rest.append(pair)
            else:
                rest.append(pair)
        free = rest
        rng.shuffle(free)
        since: int | None = generation
        if rng.random() < stale:
            since = rng.choice((generation - 1, generation - 2, generation + 1, -1, None))
        members.append(_heard(rng, assignor, who, runs(mine), since))
    return {"topics": list(world.topics.values()), "members": members}


def _heard(rng: Random, assignor: str, who: Json, owned: list[list[Any]], since: int | None) -> Json:
    """A claim as sent by all sorts of clients: without userData, with old userData, with garbage."""
    about = {key: value for key, value in who.items() if key not in {"id", "topics"}}
    odd = rng.random()
    if assignor == "sticky":
        data = sticky_user_data(owned, since)
        if odd < 0.05:
            data = None
        elif odd < 0.1:
            data = ""
        elif odd < 0.2:
            data = sticky_user_data(owned, None)
        elif odd < 0.25:
            data = data[: 2 * rng.randrange(len(data) // 2)]
        # The field of subscription v2 need not agree with the generation in the userData.
        field = since if rng.random() < 0.7 else rng.choice((None, -1, (since or 0) + 1))
        return member(who["id"], who["topics"], user_data=data, generation=field, **about)
    data = None
    if odd < 0.3:
        data = (since if since is not None else -1).to_bytes(4, "big", signed=True).hex()
    elif odd < 0.35:
        data = "0000"
    if odd < 0.15:
        since = None
    return claim(assignor, who["id"], who["topics"], owned, since, user_data=data, **about)


def targets(rng: Random, assignor: str, *, equal: bool, beyond: float = 0.0) -> list[Json]:
    """Any target as the start: unbalanced, with deleted topics and lapsed subscriptions."""
    world = new_world(rng, assignor, **_styles(rng), equal=equal)
    pairs = [
        (name, partition)
        for name, about in world.topics.items()
        for partition in range(about["partitions"] + (rng.randint(1, 3) if rng.random() < beyond else 0))
    ]
    if rng.random() < 0.3:
        pairs += [("deleted", partition) for partition in range(4)]
    ids = list(world.members)
    weights = [rng.choice((0, 1, 1, 2, 4)) for _ in ids]
    if not any(weights):
        weights[0] = 1
    owned: dict[str, list[tuple[str, int]]] = {name: [] for name in ids}
    for pair in pairs:
        if rng.random() < 0.85:
            owned[rng.choices(ids, weights)[0]].append(pair)
    first = world.step()
    for who in first["members"]:
        mine = owned[who["id"]]
        rng.shuffle(mine)
        if mine:
            who["owned"] = runs(sorted(mine, key=lambda pair: pair[0]))
    away: dict[str, Json] = {}
    made = [first]
    for _ in range(rng.randint(1, 3)):
        live_on(world, away)
        made.append(world.step())
    return made


def wide_topics(rng: Random, assignor: str) -> list[Json]:
    """Partition numbers past 16, where a HashSet of them is no longer in ascending order."""
    world = new_world(
        rng, assignor, **_styles(rng), members=rng.randint(2, 8), topics=rng.randint(1, 4), partitions=90
    )
    return _chain(world, rng.randint(2, 4))


def _general() -> list[Family]:
    return [
        Family("chains_equal", lambda rng, assignor: chains(rng, assignor, equal=True), 110),
        Family("chains_unequal", lambda rng, assignor: chains(rng, assignor, equal=False), 110),
        Family("odd_names", odd_names, 80),
        Family("large", large, 6),
    ]


def _client() -> list[Family]:
    return [
        *_general(),
        Family("racks_equal", lambda rng, assignor: racks(rng, assignor, equal=True), 80),
        Family("racks_unequal", lambda rng, assignor: racks(rng, assignor, equal=False), 80),
    ]


def _sticky() -> list[Family]:
    return [
        *_client(),
        Family("settles_equal", lambda rng, assignor: settles(rng, assignor, equal=True), 60),
        Family("settles_unequal", lambda rng, assignor: settles(rng, assignor, equal=False), 60),
        Family("claims_equal", lambda rng, assignor: claims(rng, assignor, equal=True), 150),
        Family("claims_unequal", lambda rng, assignor: claims(rng, assignor, equal=False), 150),
        Family(
            "shrunk_equal",
            lambda rng, assignor: claims(rng, assignor, equal=True, overlap=0.1, beyond=0.3),
            60,
        ),
        Family(
            "shrunk_unequal",
            lambda rng, assignor: claims(rng, assignor, equal=False, overlap=0.1, beyond=0.3),
            60,
        ),
    ]


def _broker() -> list[Family]:
    return [
        *_general(),
        Family("targets_equal", lambda rng, assignor: targets(rng, assignor, equal=True), 100),
        Family("targets_unequal", lambda rng, assignor: targets(rng, assignor, equal=False), 100),
        Family("settles_equal", lambda rng, assignor: settles(rng, assignor, equal=True), 40),
        Family("settles_unequal", lambda rng, assignor: settles(rng, assignor, equal=False), 40),
        Family("wide_topics", wide_topics, 40),
        Family("shrunk_equal", lambda rng, assignor: targets(rng, assignor, equal=True, beyond=0.3), 40),
        Family("shrunk_unequal", lambda rng, assignor: targets(rng, assignor, equal=False, beyond=0.3), 40),
    ]


_STATIC = Family("static_members", static_members, 60)
FAMILIES: dict[str, list[Family]] = {
    "range": [*_client(), Family("copartitioned", copartitioned, 100), _STATIC],
    "roundrobin": [*_client(), _STATIC],
    "sticky": _sticky(),
    "cooperative-sticky": _sticky(),
    "uniform": [*_broker(), _STATIC],
    "broker-range": [*_broker(), _STATIC],
}


def _quirks(assignor: str) -> Iterator[Json]:
    if assignor in STICKY:
        for named in (sticky_quirks, rack_quirks, memory_quirks):
            yield from named(assignor)
        return
    named = {
        "range": range_quirks,
        "roundrobin": round_robin_quirks,
        "uniform": uniform_quirks,
        "broker-range": broker_range_quirks,
    }
    yield from named[assignor]()


def families(assignor: str) -> list[str]:
    """Names of the families of an assignor; "quirks" are the scenarios with a name of their own."""
    return ["quirks", *(family.name for family in FAMILIES[assignor])]


def scenarios(assignor: str, family: str) -> Iterator[Json]:
    """The scenarios of a family; those of "quirks" may say what they expect."""
    if family == "quirks":
        yield from _quirks(assignor)
        return
    kind = next(kind for kind in FAMILIES[assignor] if kind.name == family)
    for number in range(kind.count):
        yield random_scenario(assignor, kind, number)


def random_scenario(assignor: str, family: Family, seed: object) -> Json:
    """One scenario of a family, decided by its seed alone."""
    rng = Random(f"{assignor}/{family.name}/{seed}")
    return {"name": f"{family.name}-{seed}", "assignor": assignor, "steps": family.make(rng, assignor)}
