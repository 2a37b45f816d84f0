"""PartitionList: a list outside, a part of columns inside."""

import pickle

import numpy as np
import pytest

from assignors.partition_list import NOTHING, PartitionColumns, PartitionList, join_lists

EIGHT = PartitionColumns(("t", "u"), np.repeat([0, 1], 4).astype(np.int32), np.arange(8, dtype=np.int32))


def test_a_partition_list_equals_a_list_of_the_same_partitions():
    partitions = PartitionList.of([("t", 0), ("u", 1)])
    assert partitions == [("t", 0), ("u", 1)]
    assert partitions != [("u", 1), ("t", 0)]
    assert partitions == PartitionList(("u", "t"), np.array([1, 0], np.int32), np.array([0, 1], np.int32))


def test_a_slice_of_a_partition_list_is_one():
    assert PartitionList.of([("t", 0), ("t", 1), ("t", 2)])[1:] == [("t", 1), ("t", 2)]


@pytest.mark.parametrize(
    ("partition", "inside"), [(("t", 0), True), (("t", 1), False), (("v", 0), False), ("t", False)]
)
def test_membership(partition, inside):
    assert (partition in PartitionList.of([("t", 0), ("u", 1)])) is inside


def test_a_long_list_prints_its_start():
    assert repr(PartitionList.of([("t", i) for i in range(100)])).endswith("('t', 19), ... 80 more])")


def test_a_part_has_the_rows_of_its_columns():
    part = PartitionList.part(EIGHT, 3, 5)
    assert part == [("t", 3), ("u", 4)]
    assert len(part) == 2


def test_a_part_is_sent_without_the_rest_of_its_columns():
    sent = pickle.loads(pickle.dumps(PartitionList.part(EIGHT, 3, 5, PartitionList.part(EIGHT, 4, 5))))
    assert sent == [("t", 3), ("u", 4)]
    assert sent.assigned == [("u", 4)]
    assert len(sent.columns.partitions) == 2


@pytest.mark.parametrize(
    "lists",
    [
        [],
        [NOTHING, NOTHING],
        [PartitionList.part(EIGHT, 3, 5)],
        [PartitionList.part(EIGHT, 5, 8), NOTHING, PartitionList.part(EIGHT, 0, 4)],
        [PartitionList.of([("u", 1), ("t", 0)]), PartitionList.of([("t", 7)])],
        [PartitionList.part(EIGHT, 3, 5), NOTHING, PartitionList.of([("v", 0), ("t", 9)])],
        [PartitionList(("t", "t"), np.array([0, 1], np.int32), np.array([5, 6], np.int32)), NOTHING],
    ],
    ids=[
        "no lists",
        "empty lists",
        "one",
        "parts of the same columns",
        "of their own",
        "mixed",
        "a name twice",
    ],
)
def test_lists_are_joined_in_order(lists):
    columns, sizes = join_lists(lists)
    assert PartitionList(*columns) == [partition for partitions in lists for partition in partitions]
    assert sizes.tolist() == [len(partitions) for partitions in lists]
