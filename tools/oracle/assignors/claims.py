"""Groups whose members claim partitions that no assignor gave them: stale, duplicate, lapsed, impossible."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools.oracle.assignors.lives import RACKS, styles
from tools.oracle.assignors.worlds import (
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
    from collections.abc import Callable
    from random import Random


def claims(
    rng: Random,
    assignor: str,
    *,
    equal: bool,
    overlap: float = 0.3,
    beyond: float = 0.0,
    names: Callable[[Random], dict[str, Any]] = styles,
) -> list[Json]:
    """Members that say anything about what they own and since when: stale, duplicate and three-way claims.

    Args:
        rng: the random source.
        assignor: whose way of hearing claims.
        equal: whether subscriptions are equal.
        overlap: chance that a claimed partition is left for others to claim too.
        beyond: chance that a topic had more partitions when it was claimed.
        names: how members and topics are called.
    """
    has_racks = rng.random() < 0.25
    world = new_world(
        rng,
        assignor,
        **names(rng),
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


def crowded_claims(rng: Random, assignor: str) -> list[Json]:
    """Claims of partitions that do not exist by members with one hash code: who the JVM asks first counts."""
    names = {"id_style": "crowded", "topic_style": rng.choice(("plain", "crowded"))}
    return claims(rng, assignor, equal=False, overlap=0.1, beyond=0.5, names=lambda _: names)


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
        members.append(_claim_of_any_client(rng, assignor, who, runs(mine), since))
    return {"topics": list(world.topics.values()), "members": members}


def _claim_of_any_client(
    rng: Random, assignor: str, who: Json, owned: list[list[Any]], since: int | None
) -> Json:
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


def tangled_groups(rng: Random, assignor: str) -> list[Json]:
    """Unequal subscriptions, a few members that hoard, previous owners that want it back: many moves.

    Now and then a topic had more partitions, or a member claims something twice.
    """
    has_racks = rng.random() < 0.25
    world = new_world(
        rng,
        assignor,
        **styles(rng),
        equal=False,
        members=rng.randint(3, 9),
        topics=rng.randint(1, 4),
        partitions=rng.choice((8, 20, 40)),
        racks=RACKS[:3] if has_racks else (),
        factor=1,
    )
    pairs = [
        (name, partition) for name, about in world.topics.items() for partition in range(about["partitions"])
    ]
    if rng.random() < 0.2:
        name = rng.choice(list(world.topics))
        pairs += [(name, world.topics[name]["partitions"] + beyond) for beyond in range(rng.randint(1, 4))]
    owned: dict[str, list[tuple[str, int]]] = {name: [] for name in world.members}
    hoarders = rng.sample(list(owned), k=rng.randint(1, 3))
    for pair in pairs:
        subscribers = [name for name, who in world.members.items() if pair[0] in who["topics"]]
        takers = [name for name in hoarders if name in subscribers] or subscribers
        if takers and rng.random() < 0.9:
            owned[rng.choice(takers)].append(pair)
    generation = rng.randint(3, 9)
    members = []
    for name, who in world.members.items():
        since = generation - rng.choice((0, 0, 0, 0, 1, 2))
        if since < generation or rng.random() < 0.1:
            owned[name] += rng.sample(pairs, k=rng.randint(0, min(len(pairs), 12)))
        about = {key: value for key, value in who.items() if key not in {"id", "topics"}}
        members.append(claim(assignor, name, who["topics"], runs(sorted(owned[name])), since, **about))
    first = {"topics": list(world.topics.values()), "members": members, "generation": generation + 1}
    world.seen.update(world.members)
    made = [first]
    for _ in range(rng.randint(1, 3)):
        live_on(world, {})
        made.append(world.step())
    return made


def targets(rng: Random, assignor: str, *, equal: bool, beyond: float = 0.0) -> list[Json]:
    """Any target as the start: unbalanced, with deleted topics and lapsed subscriptions."""
    world = new_world(rng, assignor, **styles(rng), equal=equal)
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


def strided_targets(rng: Random, assignor: str) -> list[Json]:
    """Targets of numbers far apart, such as 5, 69, 133: in a short HashSet they fill one bin."""
    apart = rng.choice((16, 32, 32, 64))
    world = new_world(
        rng,
        assignor,
        **styles(rng),
        equal=rng.random() < 0.7,
        members=rng.randint(apart // 4, apart // 2),
        topics=rng.randint(1, 2),
    )
    for name in world.topics:
        world.topics[name] = {**world.topics[name], "partitions": apart * rng.randint(9, 14)}
    first = world.step()
    owned: dict[str, list[tuple[str, int]]] = {name: [] for name in world.members}
    for name, about in world.topics.items():
        for start in range(apart):
            if rng.random() < 0.9:
                numbers = list(range(start, about["partitions"], apart))
                if rng.random() < 0.3:
                    rng.shuffle(numbers)
                owned[rng.choice(list(owned))] += [(name, number) for number in numbers]
    for who in first["members"]:
        if mine := owned[who["id"]]:
            who["owned"] = runs(sorted(mine, key=lambda pair: pair[0]))
    away: dict[str, Json] = {}
    made = [first]
    for _ in range(rng.randint(2, 3)):
        live_on(world, away, topic_changes=False)
        made.append(world.step())
    return made
