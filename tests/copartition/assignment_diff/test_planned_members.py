"""Who is in a planned group, and what each subscribes to."""

import pytest

from assignors.state import MemberIdentity
from copartition.assignment_diff import Joiner, WhatIf, diff, plan
from partitioning.errors import SourceError
from tests.copartition.assignment_diff.states import group, lists

COUNTS = {"clicks": 4, "orders": 4}


def both(**topics):
    """Members by id that subscribe to these topics; None where nobody tells."""
    members = [MemberIdentity(name, topics=subscription) for name, subscription in topics.items()]
    return group(members, {}, COUNTS)


@pytest.mark.parametrize("assignor", ["range", "roundrobin", "sticky", "cooperative-sticky", "uniform"])
def test_nobody_gets_what_it_does_not_subscribe_to(assignor):
    state = both(a=("clicks",), b=("clicks", "orders"))
    planned = lists(plan(state, assignor))
    assert {partition.split("-")[0] for partition in planned["a"]} == {"clicks"}
    assert sum(map(len, planned.values())) == 8


def test_known_subscriptions_are_not_assumed():
    assert plan(both(a=("clicks",), b=("orders",)), "range").assumed == ()


@pytest.mark.parametrize(
    ("state", "what_if", "assumed"),
    [
        (both(a=None, b=None), {}, "subscriptions are unknown; taken for everybody's: clicks, orders"),
        (both(a=("clicks",), b=None), {}, "subscriptions of b are unknown; taken for everybody's: clicks"),
        (
            both(a=None, b=None),
            {"subscribe": {"a": ("clicks",)}},
            "subscriptions of b are unknown; taken for everybody's: clicks, orders",
        ),
    ],
)
def test_unknown_subscriptions_are_assumed(state, what_if, assumed):
    assert plan(state, "range", WhatIf(**what_if)).assumed == (assumed,)


def test_a_subscription_that_is_told_counts():
    told = WhatIf(subscribe={"a": ("clicks",), "b": ("orders",)})
    planned = plan(both(a=None, b=("clicks", "orders")), "range", told)
    assert lists(planned) == {"a": [f"clicks-{n}" for n in range(4)], "b": [f"orders-{n}" for n in range(4)]}
    assert planned.assumed == ()
    assert [member.topics for member in planned.members] == [("clicks",), ("orders",)]


def test_a_joining_member_reads_its_topics_only():
    what_if = WhatIf(joining=(Joiner("z", topics=("orders",)),))
    planned = plan(both(a=("clicks", "orders"), b=("clicks", "orders")), "range", what_if)
    assert lists(planned)["z"] == ["orders-3"]
    assert planned.assumed == ()


def test_a_star_says_it_of_everybody_who_is_not_named():
    told = WhatIf(subscribe={"*": ("clicks",), "b": ("orders",)})
    planned = plan(both(a=None, b=None, c=None), "range", told)
    assert [member.topics for member in planned.members] == [("clicks",), ("orders",), ("clicks",)]
    assert planned.assumed == ()


def test_a_star_is_said_of_those_who_join_too():
    what_if = WhatIf(add_members=1, joining=(Joiner("z"),), subscribe={"*": ("orders",)})
    planned = plan(both(a=("clicks", "orders"), b=None), "range", what_if)
    assert {member.topics for member in planned.members} == {("orders",)}


def test_a_joining_member_subscribes_to_all_that_the_group_reads():
    state = both(a=("clicks", "orders"), b=("clicks",))
    planned = plan(state, "range", WhatIf(add_members=1, joining=(Joiner("z"),)))
    assert [member.topics for member in planned.members[2:]] == [("clicks", "orders")] * 2
    assert diff(state, planned).summary.needed_moves_exact


@pytest.mark.parametrize("what_if", [{"add_members": 2}, {"joining": (Joiner("z"),)}])
def test_nobody_joins_a_group_of_which_nothing_tells_what_it_reads(what_if):
    with pytest.raises(SourceError, match="the source does not show which topics the group reads"):
        plan(group([], {}, {}), "range", WhatIf(**what_if))


def test_a_static_member_joins_at_the_place_of_its_instance_id():
    members = [MemberIdentity(f"m{name}", instance_id=name, topics=("t",)) for name in "ac"]
    planned = plan(group(members, {}, {"t": 3}), "range", WhatIf(joining=(Joiner("z", "b"),)))
    assert lists(planned) == {"a": ["t-0"], "b": ["t-1"], "c": ["t-2"]}
    assert planned.assumed == ()


def test_members_that_join_without_a_name_get_one_that_is_free():
    members = [MemberIdentity("m", client_id="new-0", topics=("t",)), MemberIdentity("n", topics=("t",))]
    planned = plan(group(members, {}, {"t": 3}), "range", WhatIf(add_members=2))
    assert [member.id for member in planned.members] == ["m", "n", "new-1", "new-2"]


def test_members_that_a_source_hides_are_assumed_not_to_be():
    state = group("ab", {}, {"t": 2}, members_complete=False)
    assert plan(state, "range").assumed == (
        "this source does not show members without partitions; taken for none",
    )


@pytest.mark.parametrize(
    ("what_if", "fault"),
    [
        ({"joining": (Joiner("c", "i"),)}, "`joining` c:i: the group has a member with this instance id"),
        ({"joining": (Joiner("c", "j"), Joiner("d", "j"))}, "`joining` d:j: the group has a member"),
        ({"subscribe": {"x": ("t",)}}, "`subscribe` x: the group has no such instance id"),
        ({"subscribe": {"c": ("t",)}}, "`subscribe` c: 2 members have it as client_id"),
        ({"subscribe": {"a": ("u",)}}, "'u', whose partition count is unknown; add `partitions` u=N"),
        ({"joining": (Joiner("z", topics=("u",)),)}, "'u', whose partition count is unknown"),
        ({"add_members": 2**20}, "with 1048576 joining members the group has 1,048,578 members"),
    ],
)
def test_what_cannot_be_is_refused(what_if, fault):
    state = group(
        [MemberIdentity("a", "i", "c", topics=("t",)), MemberIdentity("b", None, "c", topics=("t",))],
        {},
        {"t": 2},
    )
    with pytest.raises(SourceError, match=fault):
        plan(state, "range", WhatIf(**what_if))
