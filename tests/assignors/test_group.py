"""Group.next: what members carry from one rebalance to the next."""

import re
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from assignors.assignment import Assignment
from assignors.group import CarriedMembers, Group, Member, StickyUserData, Topic
from assignors.partition_list import PartitionColumns, PartitionList
from assignors.registry import get_assignor
from partitioning.errors import InvalidGroupError
from partitioning.topic_partition import TopicPartition


@pytest.fixture
def group():
    return Group(
        [Topic("orders", 2), Topic("clicks", 3)],
        [Member("b", ["orders", "clicks"], rack="r1", instance_id="i-1"), Member("a", ["clicks"])],
    )


@pytest.fixture
def assignment():
    return Assignment.of(
        {"b": [("orders", 1), ("clicks", 2), ("orders", 0), ("clicks", 1)], "a": [("clicks", 0)]}
    )


def test_a_member_owns_what_it_was_assigned_by_topic_and_number(group, assignment):
    assert group.next(assignment).members[0].owned == [
        ("clicks", 1),
        ("clicks", 2),
        ("orders", 0),
        ("orders", 1),
    ]


def test_what_a_member_owns_knows_in_which_order_it_was_assigned(group, assignment):
    assert group.next(assignment).members[0].owned.assigned == assignment["b"]


def test_topics_are_ordered_as_utf_16_code_units():
    names = ["\uff5e", "\U0001f600"]  # the second is two surrogates, which sort below U+FF5E
    group = Group([Topic(name, 1) for name in names], [Member("m", names)])
    carried = group.next(Assignment.of({"m": [(name, 0) for name in names]})).members[0].owned
    assert carried == [("\U0001f600", 0), ("\uff5e", 0)]


def test_a_member_keeps_what_it_told_about_itself(group, assignment):
    member = group.next(assignment).members[0]
    assert (member.id, member.topics, member.rack, member.instance_id) == (
        "b",
        ["orders", "clicks"],
        "r1",
        "i-1",
    )


def test_sticky_user_data_remembers_the_list_as_it_was_assigned(group, assignment):
    remembered = group.next(assignment).members[0].user_data
    assert isinstance(remembered, StickyUserData)
    assert remembered.partitions == assignment["b"]
    assert remembered.generation == 1


def test_the_first_assignment_is_generation_one_and_every_next_one_higher(group, assignment):
    second = group.next(assignment)
    third = second.next(assignment)
    assert [second.members[0].generation, third.members[0].generation] == [1, 2]


def test_the_generation_is_above_every_claim(assignment):
    group = Group([Topic("clicks", 3)], [Member("b", ["clicks"], generation=7), Member("a", ["clicks"])])
    assert {member.generation for member in group.next(assignment).members} == {8}


def test_the_generation_outlives_all_members(group, assignment):
    renewed = group.next(assignment).next(assignment, leave=["a", "b"], join=[Member("c", ["clicks"])])
    assert renewed.next(Assignment.of({"c": [("clicks", 0)]})).members[0].generation == 3


def test_members_that_leave_are_gone_and_those_that_join_come_last(group, assignment):
    new = Member("new", ["orders"], owned=[TopicPartition("orders", 1)], generation=4)
    members = group.next(assignment, leave=["b"], join=[new]).members
    assert [member.id for member in members] == ["a", "new"]
    assert members[1] is new


def test_a_strategy_may_list_members_in_its_own_order():
    group = Group([Topic("t", 4)], [Member(name, ["t"]) for name in "abc"])
    listed = Assignment.of({"c": [("t", 3), ("t", 0)], "a": [("t", 1)], "b": [("t", 2)]})
    every, rest = group.next(listed).members, group.next(listed, leave=["a"]).members
    assert [(member.id, member.owned) for member in every] == [
        ("a", [("t", 1)]),
        ("b", [("t", 2)]),
        ("c", [("t", 0), ("t", 3)]),
    ]
    assert list(rest) == list(every[1:])
    assert rest[1].user_data.partitions == listed["c"]


@pytest.mark.parametrize("strategy", ["sticky", "cooperative-sticky"])
@pytest.mark.parametrize("seed", range(6))
def test_a_strategy_reads_columns_as_it_reads_members(strategy, seed):
    random, names = Random(seed), ["t", "u", "v"]
    topics = [Topic(name, random.randint(1, 9), racks=None) for name in names]
    group = Group(topics, [Member(f"m{number}", names, rack="r") for number in range(5)])
    assignor = get_assignor(strategy)
    for turn in range(6):
        subscribed = names if turn < 3 else random.sample(names, 2)
        leave = random.sample([member.id for member in group.members], random.randint(0, 2))
        joins = [Member(f"n{turn}", subscribed, owned=[TopicPartition("t", 0)][:turn], generation=turn)]
        group = group.next(assignor.assign(group), leave=leave, join=joins)
        read = replace(group, members=[*group.members])
        assert group == read
        answers = [get_assignor(strategy).assign(twin) for twin in (group, read)]
        assert dict(answers[0]) == dict(answers[1])
        assert answers[0].transferring == answers[1].transferring


@pytest.mark.parametrize("strategy", ["uniform", "sticky", "cooperative-sticky"])
def test_members_whose_coordinator_keeps_what_they_have_are_read_as_listed(strategy):
    topics, numbers = [Topic("orders", 6)], np.array([4, 0, 3, 5, 1], np.int32)
    columns = PartitionColumns(("orders",), np.zeros(5, np.int32), numbers)
    who = [Member("a", ["orders"]), Member("b", ["orders"])]
    kept = Group(topics, CarriedMembers(who, 2, None, np.array([2, 3]), columns))
    owned = [PartitionList.part(columns, 0, 2), PartitionList.part(columns, 2, 5)]
    listed = Group(
        topics, [replace(member, owned=partitions) for member, partitions in zip(who, owned, strict=True)]
    )
    assert kept == listed
    assert get_assignor(strategy).assign(kept) == get_assignor(strategy).assign(listed)


def test_topics_can_grow(group, assignment):
    grown = [Topic("orders", 4), Topic("clicks", 3)]
    assert group.next(assignment, topics=grown).topics == grown
    assert group.next(assignment).topics == group.topics


@pytest.mark.parametrize(
    ("lists", "leave", "message"),
    [
        ({"a": [], "b": []}, ["c"], "member 'c' cannot leave"),
        ({"a": []}, [], "member 'b' has no entry"),
        ({"a": [], "b": [], "x": []}, [], "member 'x' is in the assignment"),
    ],
)
def test_an_assignment_of_another_group_is_refused(group, lists, leave, message):
    with pytest.raises(InvalidGroupError, match=message):
        group.next(Assignment.of(lists), leave=leave)


def test_a_member_that_joins_twice_is_refused(group, assignment):
    with pytest.raises(InvalidGroupError, match="member 'a' is in the group twice"):
        group.next(assignment, join=[Member("a", ["clicks"])])


def test_a_topic_given_twice_is_refused():
    with pytest.raises(InvalidGroupError, match="topic 't' is in the group twice"):
        Group([Topic("t", 1), Topic("t", 2)], [])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1,), "-1 partitions"),
        *[((count,), f"has {count!r} partitions; give 0 to") for count in (0.4, 1.9, "1", None, True)],
        ((2, [{"r1"}]), "2 partitions but racks for 1"),
    ],
)
def test_a_topic_that_cannot_be_is_refused(arguments, message):
    with pytest.raises(InvalidGroupError, match=message):
        Topic("t", *arguments)


@pytest.mark.parametrize("number", [0.4, 1.0, "1", None, True, np.bool_(True), np.float64(1)])
def test_an_owned_partition_without_an_integer_for_its_number_is_refused(number):
    owned = [TopicPartition("t", 0), TopicPartition("t", number)]
    expected = (
        f"partition={number!r}), which member 'b' owns, is no partition: give a topic's name and an int"
    )
    with pytest.raises(InvalidGroupError, match=re.escape(expected)):
        Group([Topic("t", 2)], [Member("a", ["t"]), Member("b", ["t"], owned=owned)])


@pytest.mark.parametrize("odd", ["t-0", 5, (), ("t",)])
def test_an_owned_partition_that_is_no_pair_is_refused(odd):
    with pytest.raises(InvalidGroupError, match="which member 'a' owns, is no partition"):
        Group([Topic("t", 2)], [Member("a", ["t"], owned=[odd])])


def test_owned_partitions_that_can_be_read_once_only_are_refused():
    with pytest.raises(InvalidGroupError, match=r"member 'a' owns <.*: give a list of partitions"):
        Group([Topic("t", 2)], [Member("a", ["t"], owned=iter([("t", 0)]))])


@pytest.mark.parametrize("number", [-1, 2, 2**40, np.int32(1), np.uint8(1)])
def test_an_owned_partition_may_have_any_integer_for_its_number(number):
    owned = [("t", number)]
    assert Group([Topic("t", 2)], [Member("a", ["t"], owned=owned)]).members[0].owned is owned


def test_racks_given_as_text_are_refused():
    with pytest.raises(InvalidGroupError, match="the racks of t-1 are the text 'r1'"):
        Topic("t", 2, racks=[["r1"], "r1"])


@pytest.mark.parametrize("generation", [True, 1.0, "1"])
def test_a_generation_is_a_whole_number(generation):
    refused = pytest.raises(
        InvalidGroupError, match=f"generation in the group is {generation!r}; give an integer"
    )
    with refused:
        Group([Topic("clicks", 3)], [], generation=generation)
    with refused:
        Group([Topic("clicks", 3)], [Member("a", ["clicks"], generation=generation)])
