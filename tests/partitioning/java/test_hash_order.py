import numpy as np
import pytest

from partitioning import java
from partitioning.errors import TreeBinError


def consumers(first, last):
    return [f"consumer{i}" for i in range(first, last + 1)]


# Orders seen on the JVM.
@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (consumers(1, 4), consumers(1, 4)[::-1]),
        (consumers(0, 2), consumers(0, 2)[::-1]),
        (consumers(0, 12), consumers(0, 12)[::-1]),
        (
            consumers(0, 39),
            [
                f"consumer{i}"
                for i in (
                    *(12, 34, 11, 33, 10, 32, 31, 30, 19, 18, 17, 39, 16, 38, 15, 37, 14, 36, 13, 35),
                    *(5, 4, 3, 2, 1, 0, 23, 22, 21, 20, 9, 8, 7, 6, 29, 28, 27, 26, 25, 24),
                )
            ],
        ),
        (["aa", "bB", "BB", "Aa"], ["aa", "bB", "BB", "Aa"]),
    ],
)
def test_hash_map_keys(keys, expected):
    assert java.hash_map_keys(keys) == expected


# What RoundRobinPartitioner walks over: a HashMap sized by the topic's partitions. Seen on the JVM.
@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("topic1", [1, 0, 2]),
        ("topic1", [1, 0, 3, 2, 5, 4]),
        ("topic1", [1, 0, 3, 2, 9, 8, 5, 4, 7, 6]),
        ("orders", [7, 8, 9, 0, 1, 2, 3, 4, 5, 6]),
        ("t", [5, 4, 3, 2, 1, 0]),
    ],
)
def test_order_of_topic_partitions(topic, expected):
    hashes = java.topic_partition_hashes(java.string_hash(topic), np.arange(len(expected)))
    assert java.hash_map_order(hashes, capacity=len(expected)).tolist() == expected


def test_twelve_elements_of_a_collection_sit_in_32_bins():
    hashes = [14, 15, 16, *range(9)]
    assert java.hash_map_order(hashes)[:2].tolist() == [2, 3]
    assert java.hash_map_order(hashes, capacity=java.hash_set_capacity(12))[-1] == 2


def test_what_java_orders_by_identity_hash_is_refused():
    with pytest.raises(TreeBinError, match="one hash met in a bin of a Java HashMap"):
        java.hash_map_order([7] * 16, capacity=64)
