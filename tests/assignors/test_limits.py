"""Numbers and names that no group can have are refused where they are given, before anything is made."""

import pytest

from assignors.assignment import Assignment
from assignors.group import Group, Member, Topic
from assignors.partition_list import PartitionList
from copartition.assignment_diff import WhatIf, plan
from copartition.groups import parse_capture
from copartition.simulation import Consumer, Grow, Join, Scenario
from partitioning.errors import InvalidGroupError, ScenarioError, SourceError
from partitioning.kit.limits import MAX_GROUP_MEMBERS, MAX_GROUP_PARTITIONS, parse_number
from tests.copartition.groups.capture.test_describe import HEADER, row

MANY = range(MAX_GROUP_MEMBERS + 1)


def state():
    return parse_capture(f"{HEADER}\n{row()}")[0]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: Topic("t", 2**31),
            InvalidGroupError,
            "topic 't' has 2147483648 partitions; give 0 to 2147483647",
        ),
        (
            lambda: Topic("x" * 250, 1),
            InvalidGroupError,
            "'xxx.*has a name of 250 characters; a broker allows 249",
        ),
        (
            lambda: Group([Topic("t", 2**31 - 1)], []),
            InvalidGroupError,
            "the group has 2,147,483,647 partitions; 16,7",
        ),
        (
            lambda: Group([Topic("t", 2**23), Topic("u", 2**23 + 1)], []),
            InvalidGroupError,
            "the group has 16,777,217 partitions",
        ),
        (
            lambda: Group([], [Member("m", ())] * len(MANY)),
            InvalidGroupError,
            "the group has 1,048,577 members; 1,048,576 are the most",
        ),
        (
            lambda: PartitionList.of([("t", 0), ("u", 2**31)]),
            InvalidGroupError,
            "u-2147483648 is no partition",
        ),
        (
            lambda: PartitionList.of([("t", -(2**64))]),
            InvalidGroupError,
            "t--18446744073709551616 is no partition",
        ),
        (
            lambda: Assignment.of({"m": [("t", 2**31 - 1)]}),
            InvalidGroupError,
            "the assignment, by its highest numbers, has 2,147,483,648 partitions",
        ),
        (
            lambda: Scenario((Topic("t", 2**31 - 1),), ()),
            ScenarioError,
            "the scenario has 2,147,483,647 partitions",
        ),
        (
            lambda: Scenario((Topic("t", 1),), (), (Grow(5, "t", 2**31 - 1),)),
            ScenarioError,
            "the scenario at its end has 2,147,483,647 partitions",
        ),
        (
            lambda: Scenario((), (Consumer("c"),) * len(MANY[1:]), (Join(5, Consumer("d")),)),
            ScenarioError,
            "with those who join, has 1,048,577 members",
        ),
        (
            lambda: plan(state(), "range", WhatIf(add_members=2**40)),
            SourceError,
            "with 1099511627776 joining members the group has 1,099,511,627,777 members",
        ),
        (
            lambda: plan(state(), "range", WhatIf(partitions={"t": 2**31 - 1})),
            SourceError,
            "`partitions` t=2147483647: the topic has 2,147,483,647 partitions",
        ),
    ],
)
def test_more_than_there_can_be_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.slow
def test_the_largest_group_is_none_too_large():
    group = Group([Topic("t", MAX_GROUP_PARTITIONS)], [Member(f"m-{number}", ()) for number in MANY[1:]])
    assert len(group.members) == MAX_GROUP_MEMBERS


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("007", 7),
        ("10", 10),
        *((text, None) for text in ("11", "", "-1", "²", "٣", " 1", "1_0", "9" * 5000)),
    ],
)
def test_a_number_is_decimal_digits_up_to_a_limit(text, number):
    assert parse_number(text, 10) == number
