"""Partitions and times as people read them."""

import numpy as np
import pytest

from assignors.partition_list import PartitionList
from copartition.kit.words import duration, number_ranges, partition_ranges


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([], ""), ([3], "3"), ([0, 1, 2], "0-2"), ([0, 2, 3, 7], "0,2-3,7"), ([9, 10, 11, 13], "9-11,13")],
)
def test_runs_are_drawn_together(numbers, text):
    assert number_ranges(np.array(numbers, np.int32)) == text


def test_topics_are_told_apart():
    assert (
        partition_ranges(PartitionList.of([("orders", 1), ("orders", 2), ("pay", 0)])) == "orders:1-2 pay:0"
    )


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "0 ms"),
        (999.4, "999 ms"),
        (1_000, "1.0 s"),
        (2_925, "2.9 s"),
        (59_949, "59.9 s"),
        (59_960, "1 min 00 s"),
        (234_000, "3 min 54 s"),
        (3_599_600, "1 h 00 min"),
        (7_500_000, "2 h 05 min"),
    ],
)
def test_times_have_the_unit_that_suits_them(milliseconds, text):
    assert duration(milliseconds) == text
