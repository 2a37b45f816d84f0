"""Assignment: columns inside, a mapping of lists outside."""

import numpy as np
import pytest

from assignors.assignment import Assignment
from assignors.partition_list import PartitionList
from partitioning.errors import InvalidGroupError
from partitioning.topic_partition import TopicPartition

LISTS = {"a": [("t", 0), ("u", 2)], "b": [], "c": [("t", 2)]}


@pytest.fixture
def assignment():
    return Assignment.of(LISTS)


def test_it_reads_as_a_mapping_of_lists(assignment):
    assert dict(assignment) == LISTS
    assert list(assignment) == ["a", "b", "c"]


def test_elements_are_topic_partitions(assignment):
    assert isinstance(assignment["a"][1], TopicPartition)
    assert assignment["a"][1] == ("u", 2)


def test_a_member_outside_the_group_is_a_key_error(assignment):
    with pytest.raises(KeyError):
        assignment["d"]


@pytest.mark.parametrize(
    ("partition", "owner"),
    [
        (("t", 0), "a"),
        (("t", 1), None),
        (("t", 2), "c"),
        (("t", 3), None),
        (("t", -1), None),
        (("v", 0), None),
    ],
)
def test_owner_of(assignment, partition, owner):
    assert assignment.owner_of(partition) == owner


def test_unassigned_partitions_are_those_nobody_has(assignment):
    assert assignment.unassigned == [("t", 1), ("u", 0), ("u", 1)]


def test_unassigned_leaves_out_topics_nobody_subscribes_to():
    topics, partitions = np.array([0], np.int32), np.array([1], np.int32)
    assignment = Assignment(
        ("m",), ("t", "u"), np.array([2, 5]), np.array([0, 1]), topics, partitions,
        subscribed=np.array([True, False]),
    )  # fmt: skip
    assert assignment.unassigned == [("t", 0)]


def test_partitions_held_back_name_their_receiver():
    none = np.empty(0, np.int32)
    held_back = PartitionList.of([("t", 0)]), np.array([1], np.int32)
    assignment = Assignment(
        ("a", "b"), ("t",), np.array([1]), np.array([0, 0, 0]), none, none, transferring=held_back
    )
    assert assignment.transferring == {TopicPartition("t", 0): "b"}
    assert assignment.unassigned == [("t", 0)]


def test_columns_are_grouped_by_member(assignment):
    columns = assignment.to_arrays()
    rows = [
        (columns.members[member], columns.topics[topic], partition)
        for member, topic, partition in zip(
            columns.member.tolist(), columns.topic.tolist(), columns.partition.tolist(), strict=True
        )
    ]
    assert rows == [("a", "t", 0), ("a", "u", 2), ("c", "t", 2)]


def test_a_partition_below_zero_names_its_member():
    with pytest.raises(InvalidGroupError, match="member 'b' has partition -1 of t; numbers begin at 0"):
        Assignment.of({"a": [("u", 3)], "b": [("t", 0), ("t", -1)]})
