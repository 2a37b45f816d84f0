"""Explain: why a partition is where it is."""

import pytest

from assignors.strategies import CooperativeStickyAssignor
from assignors.explain import Explainer, Reason, explain
from assignors.group import Group, Member, Topic
from assignors.strategies import StickyAssignor

T = ["t"]


def cooperative(topics, members):
    group = Group(topics, members)
    return group, CooperativeStickyAssignor().assign(group)


def owning(name, *partitions, generation=1, topics=T, rack=None):
    return Member(
        name, topics, owned=[("t", number) for number in partitions], generation=generation, rack=rack
    )


def reasons(group, assignment, assignor="cooperative-sticky"):
    explainer = Explainer(group, assignment, assignor=assignor)
    return [explainer.explain(("t", number)).reason for number in range(group.topics[0].partitions)]


def test_a_partition_that_stays_is_kept():
    group, assignment = cooperative([Topic("t", 2)], [owning("a", 0), owning("b", 1)])
    assert reasons(group, assignment) == [Reason.KEPT, Reason.KEPT]


def test_a_free_partition_goes_to_who_has_too_few():
    group, assignment = cooperative([Topic("t", 2)], [owning("a", 0), Member("b", T)])
    assert reasons(group, assignment) == [Reason.KEPT, Reason.QUOTA]


def test_a_partition_that_waits_names_both_members():
    group, assignment = cooperative([Topic("t", 2)], [owning("a", 0, 1), Member("b", T)])
    explanation = explain(group, assignment, ("t", 1), assignor="cooperative-sticky")
    assert (explanation.reason, explanation.previous, explanation.owner) == (Reason.HELD_BACK, "a", "b")
    assert str(explanation) == "t-1 waits for 'a' to give it up, then 'b' gets it ('b' has 0 of a share of 1)"


def test_an_eager_partition_moves_for_balance():
    first = Group([Topic("t", 2)], [Member("a", T)])
    group = first.next(StickyAssignor().assign(first), join=[Member("b", T)])
    explanation = explain(group, StickyAssignor().assign(group), ("t", 1), assignor="sticky")
    assert (explanation.reason, explanation.previous, explanation.owner) == (Reason.BALANCE, "a", "b")


def test_a_free_partition_can_go_to_a_near_member():
    topics = [Topic("t", 2, racks=[{"r2"}, {"r1"}])]
    group, assignment = cooperative(topics, [Member("a", T, rack="r1"), Member("b", T, rack="r2")])
    assert reasons(group, assignment) == [Reason.RACK, Reason.RACK]


def test_what_two_members_claim_waits_for_both():
    group, assignment = cooperative([Topic("t", 2)], [owning("a", 0), owning("b", 0, 1)])
    explanation = explain(group, assignment, ("t", 0), assignor="cooperative-sticky")
    assert (explanation.reason, explanation.previous) == (Reason.HELD_BACK, None)
    assert str(explanation).startswith(
        "t-0 waits for everybody who claims it to give it up, then 'a' gets it"
    )


def test_an_eager_group_hands_out_what_two_members_claim():
    first = Group([Topic("t", 2)], [Member("a", T), Member("b", T)])
    a = first.next(StickyAssignor().assign(first)).members[0]
    group = Group(first.topics, [a, Member("b", T, user_data=a.user_data, generation=1)])
    assert reasons(group, StickyAssignor().assign(group), "sticky") == [Reason.CONTESTED, Reason.QUOTA]


def test_a_member_that_unsubscribed_loses_its_partition():
    first = Group([Topic("t", 1), Topic("u", 1)], [Member("a", T), Member("b", ["t", "u"])])
    given = StickyAssignor().assign(first)
    assert given.owner_of(("t", 0)) == "a"
    members = first.next(given).members
    moved = Group(
        first.topics,
        [Member("a", ["u"], user_data=members[0].user_data, generation=1), members[1]],
        generation=1,
    )
    assert reasons(moved, StickyAssignor().assign(moved), "sticky") == [Reason.SUBSCRIPTION]


@pytest.mark.parametrize("partition", [("t", 5), ("t", -1), ("unknown", 0)])
def test_a_partition_that_is_not_there_has_no_owner(partition):
    group, assignment = cooperative([Topic("t", 2)], [Member("a", T)])
    explanation = explain(group, assignment, partition, assignor="cooperative-sticky")
    assert (explanation.reason, explanation.owner) == (Reason.NOBODY, None)


def test_assignors_without_memory_find_everything_free():
    group, assignment = cooperative([Topic("t", 2)], [owning("a", 0), owning("b", 1)])
    assert reasons(group, assignment, "range") == [Reason.QUOTA, Reason.QUOTA]
