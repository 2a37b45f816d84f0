"""Java's maps and sets called one by one, beyond the orders in the golden files."""

from __future__ import annotations

import subprocess
import sys

import pytest

from partitioning.errors import TreeBinError
from partitioning.java import HashMap, HashSet, hash_map_order, string_hash, topic_partition_hashes
from partitioning.topic_partition import TopicPartition
from tests.support.waiting import GENEROUS_S


def test_a_map_is_a_mapping() -> None:
    ages = HashMap({"a": 1, "b": 2})
    ages["b"] = 3
    ages["c"] = 4
    assert (dict(ages), len(ages), "a" in ages, ages.get("x")) == ({"a": 1, "b": 3, "c": 4}, 3, True, None)
    assert ages.pop("a") == 1
    assert list(ages.items()) == [("b", 3), ("c", 4)]


def test_a_key_that_a_map_lacks() -> None:
    with pytest.raises(KeyError):
        del HashMap[str, int]()["a"]


def test_a_set_is_a_set() -> None:
    numbers = HashSet([3, 1, 3])
    numbers.add(2)
    numbers.discard(7)
    numbers.remove(1)
    assert numbers == {2, 3}


# 14 comes before 16 in 32 bins, and after it in 16.
@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (HashSet([14, 16]), [16, 14]),
        (HashSet([14, 16], capacity=32), [14, 16]),
        (HashSet([14, 16] + [14] * 10), [14, 16]),
        (HashMap(dict.fromkeys([14, 16])), [16, 14]),
        (HashMap(dict.fromkeys([14, 16]), capacity=17), [14, 16]),
    ],
    ids=["collection", "capacity", "collection_with_repeats", "map", "map_with_capacity"],
)
def test_what_is_made_from_others_has_its_own_length(
    made: HashSet[int] | HashMap[int, None], expected: list[int]
) -> None:
    assert list(made) == expected


def test_a_map_grows_with_the_key_after_three_quarters() -> None:
    numbers = HashMap[int, None](capacity=16)
    numbers.update(dict.fromkeys([14, 16, *range(10)]))
    assert list(numbers)[:2] == [16, 0]
    numbers[10] = None
    assert list(numbers)[-2:] == [14, 16]


def test_compute_if_absent_grows_a_map_one_call_later() -> None:
    numbers = HashMap[int, int](capacity=16)
    for number in [14, 16, *range(11)]:
        numbers.compute_if_absent(number, lambda: 0)
    assert list(numbers)[1] == 16
    assert numbers.compute_if_absent(14, lambda: 1) == 0
    assert list(numbers)[-1] == 16


def test_compute_if_absent_puts_a_key_first_in_its_bin_and_put_last() -> None:
    texts = HashMap[str, int]()
    texts["AaAa"] = 0
    texts["BBBB"] = 1
    texts.compute_if_absent("AaBB", lambda: 2)
    assert list(texts.values()) == [2, 0, 1]


def test_a_map_never_shrinks() -> None:
    numbers = HashSet(range(13))
    numbers.add(16)
    for number in range(13):
        if number != 1:
            numbers.remove(number)
    numbers.add(33)
    assert list(numbers) == [1, 33, 16]


@pytest.mark.slow
def test_a_large_map_has_the_order_that_arithmetic_tells() -> None:
    partitions = [TopicPartition("topic", number * 7) for number in range(100_000)]
    hashes = topic_partition_hashes(string_hash("topic"), [number for _, number in partitions])
    order = hash_map_order(hashes).tolist()
    assert list(HashSet(partitions, capacity=16)) == [partitions[position] for position in order]


# Partitions with one hash, and others that share their bin.
ALIKE = [TopicPartition(topic, 0) for topic in ("AaAa", "AaBB", "BBAa", "BBBB")]
CROWD = [TopicPartition("AaAa", 64 * number) for number in range(1, 9)]


def test_keys_in_a_list_keep_the_order_in_which_they_were_put() -> None:
    assert list(HashSet(ALIKE, capacity=64)) == ALIKE


def test_a_map_with_ties_in_a_tree_has_no_order() -> None:
    owners = HashMap(dict.fromkeys(ALIKE + CROWD), capacity=64)
    with pytest.raises(TreeBinError, match=r"System\.identityHashCode"):
        list(owners)


def test_it_can_be_asked_all_the_same() -> None:
    owners = HashMap({key: str(key) for key in ALIKE + CROWD}, capacity=64)
    del owners[CROWD[0]]
    assert [owners.get(key) for key in (ALIKE[1], CROWD[0])] == ["AaBB-0", None]
    assert len(owners) == 11


def test_a_tie_leaves_its_mark_on_what_is_left_of_the_tree() -> None:
    partitions = HashSet(ALIKE + CROWD, capacity=64)
    for key in ALIKE[1:] + CROWD[2:]:
        partitions.remove(key)
    with pytest.raises(TreeBinError):
        list(partitions)


def test_a_tree_without_ties_has_an_order() -> None:
    partitions = HashSet(ALIKE[:1] + CROWD, capacity=64)
    assert set(partitions) == {*ALIKE[:1], *CROWD}


@pytest.mark.live
def test_a_crowd_takes_no_time_that_grows_with_its_square() -> None:
    code = (
        "from partitioning.java.tree_bin import TreeBin\n"
        "tree = TreeBin(dict.fromkeys(range(9), 0), lambda key: (key,))\n"
        "for key in range(9, 150_000): tree.add(key, 0)\n"
        "for key in reversed(range(50_000, 150_000)): tree.remove(key)\n"
        "assert sorted(tree) == list(range(50_000))"
    )
    # A second, and minutes where each key is looked for among those before it.
    subprocess.run([sys.executable, "-c", code], check=True, timeout=GENEROUS_S)
