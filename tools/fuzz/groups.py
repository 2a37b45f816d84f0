"""Groups that claim what they cannot have, through every assignor, with the reasons it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignors.explanation import Explainer, settle
from assignors.group import Group, Member, StickyUserData, Topic
from assignors.partition_list import PartitionList
from assignors.protocol import encode_cooperative_user_data, encode_sticky_user_data
from assignors.registry import get_assignor
from tools.fuzz.mutation import mutate

if TYPE_CHECKING:
    from random import Random

ASSIGNORS = [
    *(
        "range",
        "roundrobin",
        "sticky",
        "cooperative-sticky",
        "broker-range",
        "uniform",
        "optimal",
        "weighted",
    ),
    *("cooperative-optimal", "cooperative-weighted", "librdkafka-cooperative-sticky", "aiokafka-sticky"),
    *("kafka-python-sticky", "kafka-python-cooperative-sticky", "kafka-python-range", "aiokafka-range"),
]
TOPICS = ["t", "u", "Aa", "BB", "ä", "\ud800", "", "x" * 249, "x" * 250]
COUNTS = [0, 1, 1, 2, 3, 5, 8, -1, 2**24 + 1, 2**31 - 1, 2**31]
NUMBERS = [0, 1, 2, 3, 7, -1, -(2**31), 2**31 - 1, 2**31, 2**64]
GENERATIONS = [None, -1, 0, 1, 5, 5, 5, 2**31 - 1, -(2**31)]
RACKS = [None, None, "", "a", "b"]


def make(rng: Random) -> tuple[str, dict[str, Any]]:
    names = rng.sample(TOPICS[:-1], rng.randrange(1, 4)) if rng.random() < 0.98 else TOPICS
    odd = rng.random() < 0.05
    counts = [rng.choice(COUNTS if odd else COUNTS[:7]) for _ in names]
    members = [_member(rng, number, [*names, "gone"], odd=odd) for number in range(rng.randrange(6))]
    if members and rng.random() < 0.02:
        members.append(members[0])
    racks = rng.random() < 0.3
    topics = [
        {"name": name, "partitions": count, "racks": _racks(rng, count) if racks and 0 <= count < 9 else None}
        for name, count in zip(names, counts, strict=True)
    ]
    group = {"topics": topics, "members": members, "generation": rng.choice([0, 5, 2**31 - 1])}
    return rng.choice(ASSIGNORS), group


def check(case: tuple[str, dict[str, Any]]) -> None:
    assignor, made = case
    group = Group(
        [Topic(**topic) for topic in made["topics"]],
        [Member(**_with_claims(member)) for member in made["members"]],
        generation=made["generation"],
    )
    strategy = get_assignor(assignor)
    _, assignment = settle(strategy.assign, group, 4)
    explainer = Explainer(group, assignment, assignor=assignor, follow_ups=4)
    for topic in group.topics:
        for number in range(min(topic.partitions, 4)):
            str(explainer.explain((topic.name, number)))
    get_assignor(assignor).assign(group.next(assignment))


def _member(rng: Random, number: int, names: list[str], *, odd: bool) -> dict[str, Any]:
    numbers = NUMBERS if odd else NUMBERS[:8]

    def claims() -> list[tuple[str, int]]:
        return [(rng.choice(names), rng.choice(numbers)) for _ in range(rng.randrange(5))]

    topics = rng.choices(names, k=rng.randrange(4)) if rng.random() < 0.3 else names[:-1]
    remembered: Any = rng.choice(["none", "decoded", "sticky", "cooperative", "mutated"])
    generation = rng.choice(GENERATIONS)
    return {
        "id": rng.choice(["m", "\ud800", "ä", ""]) + str(number),
        "topics": topics,
        "instance_id": rng.choice([None, None, "i", f"i-{9 - number}"]),
        "rack": rng.choice(RACKS),
        "owned": claims(),
        "generation": generation,
        "user_data": (remembered, claims(), generation, rng.randrange(2**32)),
    }


def _with_claims(member: dict[str, Any]) -> dict[str, Any]:
    kind, claims, generation, seed = member["user_data"]
    if kind == "none":
        data: Any = None
    elif kind == "decoded":
        data = StickyUserData(PartitionList.of(claims), generation)
    elif kind == "cooperative":
        data = encode_cooperative_user_data(-1 if generation is None else generation)
    else:
        data = encode_sticky_user_data(claims, generation)
        if kind == "mutated":
            from random import Random

            data = mutate(Random(seed), data)
    return {**member, "user_data": data}


def _racks(rng: Random, count: int) -> list[list[str]]:
    return [rng.sample(["a", "b", "c"], rng.randrange(3)) for _ in range(count)]


TARGETS = {"groups": (make, check)}
