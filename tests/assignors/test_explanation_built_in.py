"""What our own assignors tell of themselves."""

import pytest

from assignors import Explainer, Group, Member, Reason, RecordingAssignor, Topic, explain, get_assignor
from assignors.state import GroupState
from copartition.assignment_diff import WhatIf, diff, plan
from tests.support.golden import ASSIGNORS

T = ["t"]


def owning(name, *partitions, generation=1, topics=T, rack=None):
    return Member(
        name, topics, owned=[("t", number) for number in partitions], generation=generation, rack=rack
    )


def explanations(assignor, topics, members, generation=0):
    """The explanation of every partition of the first topic."""
    group = Group(topics, members, generation=generation)
    explainer = Explainer(group, get_assignor(assignor).assign(group), assignor=assignor)
    return [explainer.explain((topics[0].name, number)) for number in range(topics[0].partitions)]


def reasons(assignor, topics, members):
    return [explanation.reason for explanation in explanations(assignor, topics, members)]


@pytest.mark.parametrize("name", ASSIGNORS)
def test_every_one_records(name):
    assert isinstance(get_assignor(name), RecordingAssignor)


def test_what_uniform_keeps_is_kept():
    members = [owning("a", 0, 1, 2), owning("b", 3, 4, 5)]
    assert [str(explanation) for explanation in explanations("uniform", [Topic("t", 6)], members)] == [
        *(f"t-{number} stays with 'a' ('a' has 3 of a share of 3)" for number in range(3)),
        *(f"t-{number} stays with 'b' ('b' has 3 of a share of 3)" for number in range(3, 6)),
    ]


def test_a_partition_that_stays_is_kept():
    assert (
        reasons("cooperative-sticky", [Topic("t", 2)], [owning("a", 0), owning("b", 1)]) == [Reason.KEPT] * 2
    )


@pytest.mark.parametrize("assignor", ["cooperative-sticky", "uniform"])
def test_a_free_partition_goes_to_who_has_too_few(assignor):
    assert reasons(assignor, [Topic("t", 2)], [owning("a", 0), Member("b", T)]) == [
        Reason.KEPT,
        Reason.FILLED,
    ]


def test_a_partition_that_waits_names_both_members():
    explanation = explanations("cooperative-sticky", [Topic("t", 2)], [owning("a", 0, 1), Member("b", T)])[1]
    assert (explanation.reason, explanation.previous, explanation.owner) == (Reason.HELD_BACK, "a", "b")
    assert str(explanation) == "t-1 waits for 'a' to give it up, then 'b' gets it ('b' has 0 of a share of 1)"


def test_an_eager_partition_over_the_share_is_given_up():
    leader = get_assignor("sticky")
    first = Group([Topic("t", 2)], [Member("a", T)])
    group = first.next(leader.assign(first), join=[Member("b", T)])
    explanation = explain(group, leader.assign(group), ("t", 1), assignor="sticky")
    assert (explanation.reason, explanation.cause, explanation.previous) == (
        Reason.FILLED,
        Reason.OVER_QUOTA,
        "a",
    )
    assert str(explanation) == (
        "t-1 goes to 'b', which had too few; 'a' gave it up, over its share ('b' has 1 of a share of 1)"
    )


@pytest.mark.parametrize("assignor", ["range", "sticky", "cooperative-sticky"])
def test_a_free_partition_can_go_to_a_near_member(assignor):
    topics = [Topic("t", 2, racks=[{"r2"}, {"r1"}])]
    members = [Member("a", T, rack="r1"), Member("b", T, rack="r2")]
    assert reasons(assignor, topics, members) == [Reason.NEAR, Reason.NEAR]


def test_what_two_members_claim_waits_for_both():
    explanation = explanations("cooperative-sticky", [Topic("t", 2)], [owning("a", 0), owning("b", 0, 1)])[0]
    assert (explanation.reason, explanation.previous) == (Reason.HELD_BACK, None)
    assert str(explanation).startswith(
        "t-0 waits for everybody who claims it to give it up, then 'a' gets it"
    )


def test_an_eager_group_hands_out_what_two_members_claim():
    first = Group([Topic("t", 2)], [Member("a", T), Member("b", T)])
    a = first.next(get_assignor("sticky").assign(first)).members[0]
    contested, free = explanations(
        "sticky", first.topics, [a, Member("b", T, user_data=a.user_data, generation=1)]
    )
    assert (contested.reason, contested.cause, contested.previous) == (Reason.FILLED, Reason.CONTESTED, None)
    assert (free.reason, free.cause) == (Reason.FILLED, Reason.FILLED)


def test_a_member_that_unsubscribed_loses_its_partition():
    first = Group([Topic("t", 1), Topic("u", 1)], [Member("a", T), Member("b", ["t", "u"])])
    members = first.next(get_assignor("sticky").assign(first)).members
    moved = [Member("a", ["u"], user_data=members[0].user_data, generation=1), members[1]]
    (explanation,) = explanations("sticky", first.topics, moved, generation=1)
    assert (explanation.cause, explanation.previous, explanation.owner) == (Reason.UNSUBSCRIBED, "a", "b")


def test_balancing_moves_from_who_has_most():
    """A new member that reads one topic only takes its partitions from one that has both."""
    topics = [Topic("t", 3), Topic("u", 1)]
    a = Member("a", ["t", "u"], owned=[("t", 0), ("t", 1), ("t", 2), ("u", 0)], generation=1)
    moved = [
        explanation
        for explanation in explanations("cooperative-sticky", topics, [a, Member("b", T)])
        if explanation.owner == "b"
    ]
    assert len(moved) == 2
    given = {step.reason for explanation in moved for step in explanation.steps}
    assert given >= {Reason.KEPT, Reason.BALANCED}
    assert {explanation.previous for explanation in moved} == {"a"}


@pytest.mark.parametrize(
    ("assignor", "reason"),
    [("range", Reason.RANGE), ("broker-range", Reason.RANGE), ("roundrobin", Reason.TURN)],
)
def test_assignors_without_memory_have_their_own_reason(assignor, reason):
    assert reasons(assignor, [Topic("t", 2)], [owning("a", 0), owning("b", 1)]) == [reason, reason]


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_a_topic_nobody_reads_is_nobodys(assignor):
    assert reasons(assignor, [Topic("u", 1), Topic("t", 1)], [Member("a", T)]) == [Reason.NOBODY]


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky", "uniform"])
def test_a_plan_tells_what_set_partitions_in_motion(assignor):
    before = GroupState.of({"a": [("t", number) for number in range(6)]})
    found = diff(before, plan(before, assignor, WhatIf(add_members=1)), match="member-id")
    assert [change.reason for change in found.changes()] == [Reason.OVER_QUOTA] * 3
