"""Groups that live through rebalances: members carry on what the JVM gave them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools.oracle.assignors.worlds import BROKER, Json, World, live_on, new_world

if TYPE_CHECKING:
    from random import Random

RACKS = ("a", "b", "c", "d")


def styles(rng: Random) -> dict[str, Any]:
    """How members and topics of an ordinary group are called."""
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
    world = new_world(rng, assignor, **{**styles(rng), **settings})
    return _chain(world, rng.randint(2, 5))


def racks(rng: Random, assignor: str, *, equal: bool) -> list[Json]:
    """The same with racks, from one replica to as many as racks (which turns rack mode off)."""
    names = RACKS[: rng.randint(2, 4)]
    return chains(rng, assignor, racks=names, factor=rng.randint(1, len(names)), equal=equal, static=0.2)


def odd_names(rng: Random, assignor: str) -> list[Json]:
    """Ids and topics that collide in a HashMap or sort differently in UTF-16."""
    ordinary = ("plain", "short", "dotted", "colliding")
    styles = {"id_style": rng.choice(("colliding", "odd")), "topic_style": rng.choice(ordinary)}
    world = new_world(rng, assignor, equal=rng.random() < 0.5, static=rng.choice((0, 0.5)), **styles)
    world.shuffle()
    return _chain(world, rng.randint(2, 4))


def crowded_bins(rng: Random, assignor: str) -> list[Json]:
    """So many ids or topics with one hash code that a HashMap makes trees of its bins."""
    ids, topics = rng.choice((("crowded", "plain"), ("plain", "crowded"), ("crowded", "crowded")))
    racks = RACKS[: rng.randint(2, 3)] if rng.random() < 0.2 and assignor not in BROKER else ()
    world = new_world(
        rng,
        assignor,
        members=rng.randint(9, 30),
        topics=rng.randint(9, 30) if topics == "crowded" else rng.randint(2, 5),
        partitions=rng.randint(1, 4),
        id_style=ids,
        topic_style=topics,
        equal=rng.random() < 0.6,
        static=rng.choice((0, 0, 0.4)),
        racks=racks,
    )
    world.shuffle()
    return _chain(world, rng.randint(2, 3))


def copartitioned_topics(rng: Random, assignor: str) -> list[Json]:
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
    world = new_world(rng, assignor, **styles(rng), static=0.7, equal=rng.random() < 0.5)
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
    world = new_world(rng, assignor, **styles(rng), equal=equal)
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
        **styles(rng),
    )
    return _chain(world, 3)


def wide_topics(rng: Random, assignor: str) -> list[Json]:
    """Partition numbers past 16, where a HashSet of them is no longer in ascending order."""
    world = new_world(
        rng, assignor, **styles(rng), members=rng.randint(2, 8), topics=rng.randint(1, 4), partitions=90
    )
    return _chain(world, rng.randint(2, 4))
