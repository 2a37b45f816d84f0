"""Member ids that nobody knows yet."""

import random
import uuid

import pytest

from assignors import Group, Member, Topic, get_assignor
from assignors.state import MemberIdentity
from copartition.assignment_diff import Joiner, WhatIf, plan
from tests.copartition.assignment_diff.states import group, lists
from tests.support.tiers import sample

ID = "0f5e1c1e-8d1c-4c55-9d43-3f6d3a4a6a1c"


def ids(*prefixes):
    return [MemberIdentity(f"{prefix}-{ID}", client_id=prefix, topics=("t",)) for prefix in prefixes]


@pytest.mark.parametrize(
    ("assignor", "members", "joining", "unknown"),
    [
        ("range", ids("a", "c"), [Joiner("b")], None),
        ("range", ids("a", "c"), [Joiner("a")], "a"),
        ("range", ids("w-1", "w-2"), [Joiner("w")], "w"),
        ("range", ids("w-x"), [Joiner("w")], None),
        ("range", ids("w"), [Joiner("w-x")], None),
        ("range", ids("w"), [Joiner("w-1")], None),
        ("range", ids("w"), [Joiner("w:1")], None),
        ("range", ids("a"), [Joiner("b"), Joiner("b")], None),
        ("range", ids("a"), [Joiner("b"), Joiner("b", topics=("t",))], None),
        ("range", ids("a"), [Joiner("b"), Joiner("b", topics=())], "b, b"),
        ("range", ids("a"), [Joiner("b"), Joiner("b-1", topics=("t",))], "b, b-1"),
        ("range", ids("a"), [Joiner("a", "i")], None),
        ("kafka-python-range", ids("a"), [Joiner("a", "i")], None),
        ("aiokafka-range", ids("a"), [Joiner("b")], None),
        ("aiokafka-range", ids("i"), [Joiner("a", "i")], "i"),  # instance ids are ignored
        ("roundrobin", ids("a", "c"), [Joiner("a")], "a"),
        ("sticky", ids("a", "c"), [Joiner("b")], None),
        ("cooperative-sticky", ids("a", "c"), [Joiner("c")], "c"),
        ("sticky", ids("i", "c"), [Joiner("z", "i")], "i"),
        ("broker-range", ids("a", "c"), [Joiner("b")], "b (clients draw them at random)"),
        ("broker-range", ids("a", "c"), [Joiner("b", "i")], None),
        ("uniform", ids("a", "c"), [Joiner("b", "i")], "i (clients draw them at random)"),
    ],
)
def test_a_plan_says_where_it_rests_on_an_id_that_nobody_knows(assignor, members, joining, unknown):
    planned = plan(group(members, {}, {"t": 7}), assignor, WhatIf(joining=tuple(joining)))
    if unknown is None:
        assert planned.assumed == ()
    else:
        name, _, why = unknown.partition(" (")
        known = f"the new member ids of {name} are not known" + (f" ({why}" if why else "")
        [assumed] = planned.assumed
        assert assumed.startswith(f"{known}, and '{assignor}' depends on them: the numbers are right")


@pytest.mark.parametrize("assignor", ["range", "roundrobin", "sticky", "cooperative-sticky", "uniform"])
def test_members_without_a_name_have_no_known_id(assignor):
    [assumed] = plan(group(ids("a", "b"), {}, {"t": 7}), assignor, WhatIf(add_members=1)).assumed
    assert assumed.startswith("the new member ids of new-0 are not known")


@pytest.mark.parametrize(
    "assignor",
    [
        *("range", "roundrobin", "sticky", "cooperative-sticky"),
        *("kafka-python-range", "kafka-python-sticky", "kafka-python-cooperative-sticky"),
        *("aiokafka-range", "aiokafka-roundrobin", "aiokafka-sticky"),
    ],
)
def test_where_nothing_is_said_every_id_gives_the_same_plan(assignor):
    rng = random.Random(4)
    for _ in sample(range(40), 4):
        names = rng.sample(["a", "b", "c", "d", "w-x", "w", "0"], rng.randint(2, 6))
        counts = {"t": rng.randint(1, 12), "u": rng.randint(1, 12)}
        topics = {name: rng.choice([("t",), ("u",), ("t", "u")]) for name in names}
        members = [Member(f"{name}-{ID}", topics[name]) for name in names[:-1]]
        wide = [Topic(name, count) for name, count in counts.items()]
        first = get_assignor(assignor).assign(Group(wide, members))
        state = group(
            [
                MemberIdentity(each.id, client_id=each.id[: -len(ID) - 1], topics=each.topics)
                for each in members
            ],
            {each.id: [tuple(partition) for partition in first[each.id]] for each in members},
            counts,
        )
        planned = plan(state, assignor, WhatIf(joining=(Joiner(names[-1], topics=topics[names[-1]]),)))
        if planned.assumed:
            continue
        for draw in range(3):
            joins = Member(f"{names[-1]}-{uuid.UUID(int=rng.getrandbits(128))}", topics[names[-1]])
            again = Group(wide, members, generation=0).next(first, join=[joins])
            answer = get_assignor(assignor).assign(again)
            while answer.transferring:
                again = again.next(answer)
                answer = get_assignor(assignor).assign(again)
            real = {
                name: sorted(f"{t}-{p}" for t, p in answer[each.id])
                for name, each in zip(names, again.members, strict=True)
            }
            assert real == lists(planned), draw
