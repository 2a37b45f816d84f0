"""Groups that no coordinator hands out, or that have nobody in them."""

from __future__ import annotations

import pytest

from assignors.group import Group, Member, Topic
from assignors.rules.broker_range import assign_broker_range
from assignors.rules.range import assign_range
from assignors.rules.round_robin import assign_round_robin
from assignors.rules.uniform import assign_uniform
from assignors.strategies import UniformAssignor
from partitioning.errors import AssignorError


@pytest.mark.parametrize("rule", [assign_range, assign_uniform, assign_broker_range])
def test_a_group_without_members_gets_an_empty_answer(rule):
    assert rule(Group([Topic("t", 1)], [])) == {}


def test_nobody_to_go_round_is_an_error():
    with pytest.raises(AssignorError, match="no members; assign") as caught:
        assign_round_robin(Group([Topic("t", 1)], []))
    assert caught.value.jvm_exception == "IllegalArgumentException"


@pytest.mark.parametrize("assign", [assign_uniform, UniformAssignor().assign], ids=["rule", "strategy"])
@pytest.mark.parametrize(
    ("owned", "other", "message", "jvm_exception"),
    [
        ({"a": [5, 6]}, ["t"], "t-5, which member 'a' owns, does not exist", "PartitionAssignorException"),
        ({"a": [0], "b": [0]}, ["t"], "members 'a' and 'b' both own t-0", "PartitionAssignorException"),
        ({"a": [5]}, ["t", "u"], "t-5, which member 'a' owns, does", "ArrayIndexOutOfBoundsException"),
        ({"a": [-1]}, ["t", "u"], "t--1, which member 'a' owns, does", "ArrayIndexOutOfBoundsException"),
    ],
)
def test_targets_that_no_broker_made_are_named(assign, owned, other, message, jvm_exception):
    members = [
        Member(who, topics, owned=[("t", number) for number in owned.get(who, ())])
        for who, topics in {"a": ["t"], "b": other}.items()
    ]
    with pytest.raises(AssignorError, match=message) as caught:
        assign(Group([Topic("t", 2), Topic("u", 1)], members))
    assert caught.value.jvm_exception == jvm_exception
