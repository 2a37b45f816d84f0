"""What a planned group reads."""

import uuid

import pytest

from assignors import Group, Member, Topic, get_assignor
from assignors.state import MemberIdentity
from copartition.assignment_diff import Joiner, WhatIf, plan
from partitioning.errors import SourceError
from tests.copartition.assignment_diff.states import group, lists

COUNTS = {"clicks": 3, "orders": 3}
IDS = (uuid.UUID(int=2), uuid.UUID(int=1))
RACKS = ((("r1",), ("r2",), ("r1",)),) * 2


def of_racks(*racks):
    return [MemberIdentity(f"m{n}", topics=("clicks", "orders"), rack=rack) for n, rack in enumerate(racks)]


def decided(assignor, members, topics):
    """The assignor's own answer for a new group."""
    answer = get_assignor(assignor).assign(Group(topics, members))
    return {name: sorted(f"{t}-{p}" for t, p in answer[name]) for name in answer}


def test_broker_side_assignors_get_the_real_topic_ids():
    state = group("abcd", {}, COUNTS, topic_ids=IDS)
    members = [Member(name, ("clicks", "orders")) for name in "abcd"]
    topics = [Topic(name, 3, id=known) for name, known in zip(COUNTS, IDS, strict=True)]
    planned = plan(state, "uniform")
    assert lists(planned) == decided("uniform", members, topics)
    assert lists(planned) != decided("uniform", members, [Topic(name, 3) for name in COUNTS])
    assert planned.topic_ids == IDS
    assert planned.assumed == ()


@pytest.mark.parametrize(
    ("assignor", "counts", "said"),
    [
        ("uniform", COUNTS, True),
        ("broker-range", COUNTS, True),
        ("uniform", {"t": 3}, False),
        ("range", COUNTS, False),
    ],
)
def test_ids_made_from_names_are_assumed_where_they_decide(assignor, counts, said):
    assumed = plan(group("ab", {}, counts), assignor).assumed
    assert bool(assumed) is said
    assert all(
        assumption.startswith("the topic ids of clicks, orders are not known") for assumption in assumed
    )


@pytest.mark.parametrize("assignor", ["range", "sticky", "cooperative-sticky"])
def test_racks_count_where_they_are_known(assignor):
    identities = of_racks("r1", "r2")
    planned = plan(group(identities, {}, COUNTS, racks=RACKS), assignor)
    members = [Member(identity.id, identity.topics, rack=identity.rack) for identity in identities]
    topics = [Topic(name, 3, racks) for name, racks in zip(COUNTS, RACKS, strict=True)]
    assert lists(planned) == decided(assignor, members, topics)
    assert lists(planned) != decided(assignor, members, [Topic(name, 3) for name in COUNTS])
    assert (planned.racks, planned.assumed) == (RACKS, ())


@pytest.mark.parametrize("assignor", ["range", "sticky", "cooperative-sticky"])
def test_the_rack_of_a_joiner_counts(assignor):
    joining = WhatIf(joining=(Joiner("z", rack="r2"),))
    planned = plan(group(of_racks("r1"), {}, COUNTS, racks=RACKS), assignor, joining)
    there_already = plan(group(of_racks("r1", "r2"), {}, COUNTS, racks=RACKS), assignor)
    assert [*lists(planned).values()] == [*lists(there_already).values()]
    assert planned.assumed == ()


@pytest.mark.parametrize(
    ("racks", "what_if", "assumed"),
    [
        ((), {}, "the racks of the replicas of clicks, orders are unknown; racks play no part in this plan"),
        ((RACKS[0], None), {}, "the racks of the replicas of orders are unknown; racks play no part"),
        (RACKS, {"joining": (Joiner("z"),)}, "the racks of joining members are unknown; taken for none"),
        (RACKS, {"partitions": {"orders": 4}}, "the racks of the new partitions of orders are unknown"),
    ],
)
def test_unknown_racks_are_assumed(racks, what_if, assumed):
    [said] = plan(group(of_racks("r1", "r2"), {}, COUNTS, racks=racks), "range", WhatIf(**what_if)).assumed
    assert said.startswith(assumed)


@pytest.mark.parametrize(
    ("assignor", "members", "racks"),
    [
        ("roundrobin", of_racks("r1", "r2"), ()),
        ("range", of_racks(None, None), ()),
        ("range", of_racks("r9", "r9"), RACKS),
        ("range", of_racks("r1", "r2"), (((("r1", "r2"),) * 3),) * 2),
    ],
)
def test_racks_that_decide_nothing_are_not_spoken_of(assignor, members, racks):
    grown = WhatIf(partitions={"orders": 4})
    assert plan(group(members, {}, COUNTS, racks=racks), assignor, grown).assumed == ()


def test_a_topic_that_somebody_newly_reads_has_the_count_that_is_told():
    what_if = WhatIf(partitions={"new": 2}, subscribe={"a": ("clicks", "new")})
    planned = plan(group("ab", {}, COUNTS), "range", what_if)
    new = [partition for partition in lists(planned)["a"] if partition.startswith("new")]
    assert new == ["new-0", "new-1"]


def test_a_topic_that_only_a_member_speaks_of_has_no_partitions():
    state = group([MemberIdentity("a", topics=("clicks", "gone"))], {}, {"clicks": 2})
    for assignor in ("range", "cooperative-sticky", "uniform", "broker-range"):
        assert lists(plan(state, assignor)) == {"a": ["clicks-0", "clicks-1"]}


@pytest.mark.parametrize("count", [10**20, 2**24 + 1, 2**31])
def test_a_count_is_bounded_before_anything_is_made_of_it(count):
    with pytest.raises(SourceError, match=r"`partitions` orders=\d+: the topic has .* are the most"):
        plan(group("ab", {}, COUNTS), "range", WhatIf(partitions={"orders": count}))
