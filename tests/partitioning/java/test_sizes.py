"""How long Java's tables are: by constructor, and after growth."""

import numpy as np
import pytest

from partitioning.java import hash_map


@pytest.mark.parametrize(
    ("capacity", "length"),
    [(0, 1), (1, 1), (2, 2), (3, 4), (16, 16), (17, 32), (4096, 4096), (4097, 8192), (2**20 + 1, 2**21)],
)
def test_a_table_is_as_long_as_the_next_power_of_two(capacity, length):
    assert hash_map.table_length(capacity) == length
    assert hash_map.table_lengths(np.array([capacity])) == [length]


# The table that each constructor makes for a number of elements.
@pytest.mark.parametrize(
    ("elements", "new_hash_map_of_map", "new_hash_set_of_collection"),
    [
        (1, 2, 16),
        (2, 4, 16),
        (3, 8, 16),
        (5, 8, 16),
        (6, 16, 16),
        (11, 16, 16),
        (12, 32, 32),
        (23, 32, 32),
        (24, 64, 64),
        (3072, 8192, 8192),
    ],
)
def test_the_table_of_a_copy(elements, new_hash_map_of_map, new_hash_set_of_collection):
    assert hash_map.table_length(hash_map.hash_map_capacity(elements)) == new_hash_map_of_map
    assert hash_map.table_length(hash_map.hash_set_capacity(elements)) == new_hash_set_of_collection
    assert hash_map.hash_set_lengths(np.array([elements])) == [new_hash_set_of_collection]


def test_the_set_of_an_empty_collection_is_as_long_as_a_new_one():
    assert hash_map.hash_set_capacity(0) == hash_map.DEFAULT_LENGTH


# A table grows with the key that is one too many for it.
@pytest.mark.parametrize(
    ("first", "keys", "last"),
    [
        (1, 0, 1),
        (1, 1, 2),
        (2, 2, 4),
        (4, 3, 4),
        (4, 4, 8),
        (16, 12, 16),
        (16, 13, 32),
        (16, 24, 32),
        (16, 25, 64),
        (16, 49, 128),
        (64, 13, 64),
    ],
)
def test_a_table_grows_at_three_quarters(first, keys, last):
    assert hash_map.grown_lengths(np.array([first]), np.array([keys])) == [last]
    length = first
    while keys > hash_map.threshold(length):
        length *= 2
    assert length == last
