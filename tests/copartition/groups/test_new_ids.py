"""Member ids that nobody knows yet."""

import random
import uuid

import pytest

from assignors import Group, Member, Topic, get_assignor
from assignors.state import MemberIdentity
from copartition.assignment_diff import Joiner, WhatIf, diff, parse_check, plan
from copartition.groups.planned_members import continue_names
from partitioning.errors import DiffError
from tests.copartition.assignment_diff.states import group, lists
from tests.support.tiers import sample

ID = "0f5e1c1e-8d1c-4c55-9d43-3f6d3a4a6a1c"


def ids(*prefixes):
    return [MemberIdentity(f"{prefix}-{ID}", client_id=prefix, topics=("t",)) for prefix in prefixes]


@pytest.mark.usefixtures("all_runs")
@pytest.mark.parametrize(
    ("assignor", "members", "joining", "unknown"),
    sample(
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
        2,
    ),
)
def test_a_plan_says_where_it_rests_on_an_id_that_nobody_knows(assignor, members, joining, unknown):
    planned = plan(group(members, {}, {"t": 7}), assignor, WhatIf(joining=tuple(joining)))
    if unknown is None:
        assert planned.assumed == ()
    else:
        name, _, why = unknown.partition(" (")
        known = f"the new member ids of {name}{f' ({why}' if why else ''} are not known"
        [assumed] = planned.assumed
        assert assumed.startswith(f"{known}, and '{assignor}' depends on them: in 40 draws of ids ")


@pytest.mark.parametrize("assignor", ["range", "roundrobin", "sticky", "cooperative-sticky", "uniform"])
def test_members_without_a_name_have_no_known_id(assignor):
    [assumed] = plan(group(ids("a", "b"), {}, {"t": 7}), assignor, WhatIf(add_members=1)).assumed
    assert assumed.startswith("the new member ids of new-0")
    assert "are not known" in assumed


def pods(count, strategy, partitions=12):
    """A group of pod-0, pod-1 and so on, as Java's strategy assigned it."""
    members = ids(*(f"pod-{number}" for number in range(count)))
    topics = [Topic("t", partitions)]
    assigned = get_assignor(strategy).assign(Group(topics, [Member(member.id, ["t"]) for member in members]))
    owned = {name: [tuple(partition) for partition in assigned[name]] for name in assigned}
    return group(members, owned, {"t": partitions}, strategy=strategy)


def test_members_that_join_continue_the_names_and_move_what_these_move():
    planned = plan(pods(3, "range"), "range", WhatIf(add_members=3))
    named = plan(pods(3, "range"), "range", WhatIf(joining=tuple(Joiner(f"pod-{n}") for n in (3, 4, 5))))
    assert lists(planned) == lists(named)
    assert planned.assumed == ("members that join are named as the others are: pod-3, pod-4, pod-5",)
    assert planned.moves is None


def members_of(*names, of="client_id"):
    return [MemberIdentity(f"id-{n}", topics=("t",))._replace(**{of: name}) for n, name in enumerate(names)]


@pytest.mark.parametrize(
    ("members", "joining"),
    [
        (members_of("pod-0", "pod-9"), [(None, "pod-10"), (None, "pod-11")]),
        (members_of("w07", "w08"), [(None, "w09"), (None, "w10")]),
        (members_of("rdkafka", "rdkafka"), [(None, "rdkafka"), (None, "rdkafka")]),
        (members_of("pod-0"), [(None, "pod-1"), (None, "pod-2")]),
        (members_of("pod-7f9-x2k5"), None),
        (members_of("a", "b"), None),
        (members_of("a-1", "b-2"), None),
        (members_of(None, "pod-1"), None),
        ([], None),
        (
            [member._replace(client_id="c") for member in members_of("s-0", "s-1", of="instance_id")],
            [("s-2", "c"), ("s-3", "c")],
        ),
        ([member._replace(client_id="c") for member in members_of("s-0", None, of="instance_id")], None),
    ],
)
def test_names_are_continued_if_they_have_a_next_one(members, joining):
    names = continue_names(group(members, {}, {"t": 7}))
    assert (names and [next(names), next(names)]) == joining


@pytest.mark.usefixtures("all_runs")
@pytest.mark.parametrize("names", [("a", "b", "c"), ("rdkafka", "rdkafka", "rdkafka")])
def test_moves_are_a_range_over_ids_where_these_decide(names):
    members = [
        member._replace(id=f"{member.client_id}-{4 + 4 * n:x}{ID[1:]}")
        for n, member in enumerate(members_of(*names))
    ]
    state = group(
        members, {m.id: [("t", n + 4 * i) for n in range(4)] for i, m in enumerate(members)}, {"t": 12}
    )
    planned = plan(state, "range", WhatIf(add_members=1))
    change = diff(state, planned, match="member-id").summary
    # Each of four members gets 3 of 12: the fourth one moves 6 if it is the first or the last, else 4.
    assert planned.moves == (change.moved_least, change.moved_most) == (4, 6)
    assert "in 40 draws of ids 4 to 6 partitions move" in planned.assumed[-1]
    assert change.range_of("moved") == (4, 6)
    with pytest.raises(DiffError, match="the inputs do not show it exactly"):
        parse_check("moved<=5").passes(change)


def test_of_a_group_too_large_to_draw_ids_for_nothing_is_said_of_how_many_move():
    state = group(ids("a", "b"), {}, {"t": 60_000})
    planned = plan(state, "range", WhatIf(add_members=1))
    assert planned.moves is None
    assert "so how many partitions move may differ, too" in planned.assumed[-1]


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
    for _ in sample(range(40), 14):
        names = rng.sample(["a", "b", "c", "d", "w-x", "w", "0"], rng.randint(2, 6))
        counts = {"t": rng.randint(1, 12), "u": rng.randint(1, 12)}
        topics = {name: rng.choice([("t",), ("u",), ("t", "u")]) for name in names}
        members = [Member(f"{name}-{ID}", topics[name]) for name in names[:-1]]
        wide = [Topic(name, count) for name, count in counts.items()]
        first = get_assignor(assignor).assign(Group(wide, members))
        state = group(
            [
                MemberIdentity(member.id, client_id=member.id[: -len(ID) - 1], topics=member.topics)
                for member in members
            ],
            {member.id: [tuple(partition) for partition in first[member.id]] for member in members},
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
                name: sorted(f"{t}-{p}" for t, p in answer[member.id])
                for name, member in zip(names, again.members, strict=True)
            }
            assert real == lists(planned), draw
