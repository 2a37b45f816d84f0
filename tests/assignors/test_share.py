"""The strategy of share groups: equal to the class, and partitions that several members have."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from assignors import Group, Member, Topic
from assignors.share import SimpleAssignor
from partitioning import TopicPartition
from tests.support.agreement import assert_agree
from tests.support.golden import lists_of
from tests.support.tasks import golden_lines, share_difference


@pytest.mark.sampled
def test_it_answers_as_the_class_of_the_coordinator_did() -> None:
    assert_agree(map(share_difference, golden_lines("share-simple", every=100)))


@pytest.mark.slow
def test_two_thousand_steps_are_recorded_and_half_of_them_share() -> None:
    steps = [step for life in golden_lines("share-simple", every=1) for step in life["steps"]]
    loads = [Counter(one for mine in lists_of(step).values() for one in mine) for step in steps]
    assert len(steps) >= 2_000
    assert sum(max(load.values(), default=0) > 1 for load in loads) >= 1_000


def test_a_partition_has_as_many_members_as_it_takes_for_nobody_to_be_left_without() -> None:
    members = [Member(f"m{number}", ["t"]) for number in range(5)]
    assignment = SimpleAssignor().assign(Group([Topic("t", 2)], members))
    assert all(len(mine) >= 1 for mine in assignment.values())
    assert sorted(map(len, assignment.members_of.values())) == [3, 3]
    assert not assignment.unassigned


def test_a_member_that_joins_takes_no_more_than_it_must() -> None:
    topics = [Topic("t", 12)]
    first = SimpleAssignor().assign(Group(topics, [Member(name, ["t"]) for name in ("a", "b", "c")]))
    members = [Member(name, ["t"], owned=mine) for name, mine in first.items()]
    second = SimpleAssignor().assign(Group(topics, [*members, Member("d", ["t"])]))
    assert [len(mine) for mine in second.values()] == [3, 3, 3, 3]
    assert all(set(second[name]) <= set(first[name]) for name in "abc")


def test_with_different_topics_each_topic_is_shared_by_its_own_members() -> None:
    members = [Member("a", ["t", "u"]), Member("b", ["t"]), Member("c", ["u"])]
    group = Group([Topic("t", 2), Topic("u", 1), Topic("nobodys", 1)], members)
    assignment = SimpleAssignor().assign(group)
    assert set(assignment.members_of[TopicPartition("u", 0)]) == {"a", "c"}
    assert all(topic == "t" for topic, _ in assignment["b"])
    again = SimpleAssignor().assign(
        replace(group, members=[replace(member, owned=assignment[member.id]) for member in members])
    )
    assert {name: sorted(mine) for name, mine in again.items()} == {
        name: sorted(mine) for name, mine in assignment.items()
    }


def test_nobody_and_nothing() -> None:
    assert dict(SimpleAssignor().assign(Group([Topic("t", 2)], []))) == {}
    assert dict(SimpleAssignor().assign(Group([Topic("t", 2)], [Member("a", [])]))) == {"a": []}
