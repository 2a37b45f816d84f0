"""The order of a coordinator's members; lives of whole groups are held to the JVM beside the simulator."""

from __future__ import annotations

import pytest

from partitioning.java import TimelineKeys


@pytest.fixture
def keys() -> TimelineKeys[int]:
    return TimelineKeys(lambda key: key % 3)


def test_slots_come_in_the_order_of_the_highest_bits_of_a_product(keys: TimelineKeys[int]) -> None:
    for key in (1, 0):
        keys.put(key)
    assert list(keys) == [0, 1]


def test_a_third_key_makes_the_table_longer(keys: TimelineKeys[int]) -> None:
    for key in (2, 1, 0):  # 1 and 2 shared a slot of two; of four, 0 and 2 share the first
        keys.put(key)
    assert list(keys) == [0, 2, 1]


def test_within_a_slot_the_last_comes_first(keys: TimelineKeys[int]) -> None:
    for key in (1, 4):
        keys.put(key)
    assert list(keys) == [4, 1]


def test_a_key_that_is_there_stays_where_it_is(keys: TimelineKeys[int]) -> None:
    for key in (1, 4, 1):
        keys.put(key)
    assert list(keys) == [4, 1]


def test_a_key_that_comes_back_is_the_last_of_its_slot(keys: TimelineKeys[int]) -> None:
    for key in (1, 4):
        keys.put(key)
    keys.remove(1)
    keys.put(1)
    assert list(keys) == [1, 4]


def test_a_key_that_is_not_there_cannot_be_removed(keys: TimelineKeys[int]) -> None:
    with pytest.raises(ValueError, match="not in list"):
        keys.remove(1)
