"""Make cases of a strategy: seeded groups or keys, each with its exact answer, and their JSON Schema.

A case is plain JSON values. Its key "answer" has the exact answer; all other keys are the question. The same
strategy, seed and count always give the same cases, in the same order.
"""

import json
import random
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from assignors.answers import ask, checked_user_data
from assignors.assignment import Assignment
from assignors.group import Group, Member, StickyUserData
from assignors.interface import Assignor, RememberingAssignor
from assignors.partition_list import PartitionList
from assignors.registry import get_assignor
from assignors.share import SimpleAssignor
from assignors.testing.stories import Story
from copartition.vectors.tasks import CONNECT, STREAMS, Json, connect_cases, read_runs, streams_cases
from partitioning.errors import AssignorError
from partitioning.kit.packages import read_data
from partitioning.placement import partition_for_key
from partitioning.profiles import PROFILES

FORMAT_VERSION = "1.0"
SCHEMA: Json = json.loads(read_data(__package__, "schema.json"))
"""The JSON Schema of the document that `copartition vectors STRATEGY` prints."""
_REBALANCES = 6
"""The number of rebalances of one group; the next group starts with a leader that remembers nothing."""
_KEYS = ("", "a", "order-42", "käse", "\U0001f600")
"""Keys, as text in UTF-8, that are drawn often: an empty key, and characters of one to four bytes."""


def make_vectors(strategy: str, count: int, seed: int = 0) -> list[Json]:
    """Return cases of a strategy for groups or of a client's rule for keys, each with its exact answer.

    Args:
        strategy: the name of an assignor, of a client's profile, or one of `CONNECT` or `STREAMS`.
        count: the number of cases, 0 or more.
        seed: with the name, decides the cases; a smaller `count` gives the first of the same cases.

    Returns:
        `count` cases in order; "case" numbers them from 0.

    Raises:
        UnknownStrategyError: there is no strategy or profile of that name.

    >>> [case] = make_vectors("java", 1)
    >>> sorted(case)
    ['answer', 'case', 'key', 'partitions']
    """
    cases: Iterator[Json]
    # The name is part of the seed, so that different strategies get different groups.
    rng = random.Random(f"{strategy}/{seed}")  # noqa: S311 - test data
    if strategy in PROFILES:
        cases = _keys(strategy, rng)
    elif strategy in CONNECT:
        cases = connect_cases(strategy, rng, _REBALANCES)
    elif strategy in STREAMS:
        cases = streams_cases(strategy, rng, _REBALANCES)
    else:
        cases = _groups(strategy, rng)
    return [{"case": number, **case} for number, case in enumerate(islice(cases, count))]


def _groups(strategy: str, rng: random.Random) -> Iterator[Json]:
    """Yield rebalances of groups without end: `_REBALANCES` of one group, then the next group begins.

    In each rebalance members own what the exact answer of the rebalance before gave them. If the exact answer
    is an error, the case has the name of the JVM's exception, and the next group begins.
    """
    while True:
        # All rebalances of a group have one leader, because the sticky strategies remember the highest
        # generation they saw.
        leader = SimpleAssignor() if strategy == SimpleAssignor.name else get_assignor(strategy)
        story = Story(rng.randrange(2**32))
        _, group = story.first()
        for number in range(_REBALANCES):
            group = replace(group, members=[_as_sent(leader, member) for member in group.members])
            case = {"new_leader": number == 0, **_group(group)}
            try:
                if isinstance(leader, SimpleAssignor):
                    assignment = Assignment.for_group(group, leader.assign(group))
                else:
                    assignment = ask(leader, group)
            except AssignorError as error:
                # Without an answer no member owns anything new, so the group's story cannot go on.
                yield {**case, "answer": {"error": error.jvm_exception}}
                break
            yield {
                **case,
                "answer": {"assignment": {name: read_runs(mine) for name, mine in assignment.items()}},
            }
            _, group = story.next(group, assignment)


def _as_sent(leader: Assignor | SimpleAssignor, member: Member) -> Member:
    """Return the member with the user data that a member of this strategy sends.

    The story gives every member the user data of the sticky assignor, which other strategies do not read.
    """
    if leader.name == "sticky" or not isinstance(member.user_data, StickyUserData):
        return member
    data = None
    if isinstance(leader, RememberingAssignor):
        generation = -1 if member.generation is None else member.generation
        data = checked_user_data(leader, PartitionList.of(member.owned), generation)
    return replace(member, user_data=data)


def _group(group: Group) -> Json:
    """Return a group as plain values of JSON; a key whose value is None is left out.

    Owned partitions have the form of `read_runs`; user data are bytes in hexadecimal.
    """
    topics = [
        {
            "name": topic.name,
            "partitions": topic.partitions,
            "racks": None if topic.racks is None else [sorted(racks) for racks in topic.racks],
            "id": None if topic.id is None else str(topic.id),
        }
        for topic in group.topics
    ]
    members = [
        {
            "id": member.id,
            "topics": [*member.topics],
            "instance_id": member.instance_id,
            "rack": member.rack,
            "owned": read_runs(member.owned) or None,
            "generation": member.generation,
            "user_data": None if member.user_data is None else bytes(member.user_data).hex(),
        }
        for member in group.members
    ]
    return {"topics": [*map(_without_none, topics)], "members": [*map(_without_none, members)]}


def _without_none(values: Mapping[str, Any]) -> Json:
    """Return the values that are not None, in their order."""
    return {key: value for key, value in values.items() if value is not None}


def _keys(profile: str, rng: random.Random) -> Iterator[Json]:
    """Yield keys without end, each with a partition count and the partition that the profile's rule gives.

    A key is null, one of `_KEYS`, or 1 to 79 random bytes; it is shown in base64, a null key as None.
    """
    while True:
        key = rng.choice(
            (None, rng.choice(_KEYS).encode(), *(rng.randbytes(rng.randrange(1, 80)) for _ in range(6)))
        )
        partitions = rng.choice((1, 2, 3, 7, 12, 100, rng.randrange(1, 10_000)))
        shown = None if key is None else b64encode(key).decode()
        answer = {"partition": partition_for_key(key, partitions, profile=profile)}
        yield {"key": shown, "partitions": partitions, "answer": answer}
