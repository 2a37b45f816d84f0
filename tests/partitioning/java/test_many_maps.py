"""Many maps at once have the order of each one called by itself, or are said to be crowded."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partitioning.java import HashMap, HashSet
from partitioning.java.hash_codes import spread
from partitioning.java.hash_map import DEFAULT_LENGTH, grown_lengths, hash_map_order, table_lengths
from partitioning.java.many_maps import crowded_maps, iteration_order, map_order

# Multiples of 8 and 128 share bins, the latter those of a table that is long enough for trees.
number = st.one_of(
    st.integers(0, 100),
    st.integers(0, 40).map(lambda factor: 8 * factor),
    st.integers(0, 40).map(lambda factor: 128 * factor),
    st.integers(-(2**31), 2**31 - 1),
)
keys_of_maps = st.lists(st.lists(number, min_size=1, max_size=40, unique=True), min_size=1, max_size=5)
CROWD = [128 * number for number in range(12)]


def columns(maps: list[list[int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First rows, sizes and hashes of the maps' keys."""
    sizes = np.array([len(keys) for keys in maps])
    return np.cumsum(sizes) - sizes, sizes, spread(np.array([key for keys in maps for key in keys], np.int32))


@given(maps=keys_of_maps, capacity=st.sampled_from([1, 16, 64]))
def test_order_of_what_was_put(maps: list[list[int]], capacity: int) -> None:
    starts, sizes, hashes = columns(maps)
    first = table_lengths(np.full(len(maps), capacity))
    rows, crowded = iteration_order(starts, sizes, hashes, first, grown_lengths(first, sizes))
    keys = np.array([key for keys in maps for key in keys])
    ordered = keys if rows is None else keys[rows]
    assert set(crowded.tolist()) <= {row for row, keys in enumerate(maps) if len(keys) > 8}
    for row in set(range(len(maps))) - set(crowded.tolist()):
        expected = list(HashSet(maps[row], capacity=capacity))
        assert ordered[starts[row] : starts[row] + sizes[row]].tolist() == expected


@given(maps=keys_of_maps)
def test_order_of_what_compute_if_absent_brought(maps: list[list[int]]) -> None:
    owner = np.repeat(np.arange(len(maps)), [len(keys) for keys in maps])
    _, sizes, hashes = columns(maps)
    # The last new key does not make its map grow.
    lengths = grown_lengths(np.full(len(maps), DEFAULT_LENGTH), sizes - 1)
    newest = np.arange(len(owner))[::-1]
    order = newest[map_order(owner[newest], hashes[newest], lengths[owner[newest]])]
    crowded = set(crowded_maps(owner, hashes, lengths).tolist())
    assert crowded <= {row for row, keys in enumerate(maps) if len(keys) > 7}
    keys = np.array([key for keys in maps for key in keys])[order]
    for row in set(range(len(maps))) - crowded:
        made = HashMap[int, None]()
        for key in maps[row]:
            made.compute_if_absent(key, lambda: None)
        assert keys[owner == row].tolist() == list(made)


@given(keys=st.lists(number, max_size=40, unique=True), capacity=st.sampled_from([1, 16, 64]))
def test_order_of_one_map(keys: list[int], capacity: int) -> None:
    order = hash_map_order(keys, capacity=capacity, keys=np.array(keys, np.int64).reshape(-1, 1))
    assert [keys[position] for position in order] == list(HashSet(keys, capacity=capacity))


@pytest.mark.parametrize(
    ("keys", "first", "expected"),
    [(CROWD[:8], 64, []), (CROWD[:9], 64, [1]), (CROWD[:9], 16, [1]), (list(range(40)), 16, [])],
    ids=["eight_in_a_bin", "nine_in_a_bin", "nine_while_it_grows", "each_in_its_own"],
)
def test_crowded_are_maps_with_nine_keys_in_a_bin(keys: list[int], first: int, expected: list[int]) -> None:
    starts, sizes, hashes = columns([[0], keys])
    lengths = np.full(2, first)
    order = iteration_order(starts, sizes, hashes, lengths, grown_lengths(lengths, sizes))
    assert order.crowded.tolist() == expected


@pytest.mark.parametrize(("keys", "expected"), [(CROWD[:7], []), (CROWD[:8], [1])])
def test_compute_if_absent_takes_eight_keys_for_a_crowd(keys: list[int], expected: list[int]) -> None:
    _, _, hashes = columns([[0], keys])
    owner = np.repeat([0, 1], [1, len(keys)])
    assert crowded_maps(owner, hashes, np.array([16, 16])).tolist() == expected
