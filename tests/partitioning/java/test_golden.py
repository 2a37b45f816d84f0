"""Hash codes and HashMap iteration orders, as the JVM gives them: arithmetically, and call by call."""

from __future__ import annotations

import uuid
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from partitioning.errors import TreeBinError
from partitioning.java import (
    HashMap,
    HashSet,
    hash_map_capacity,
    hash_map_order,
    hash_set_capacity,
    string_hashes,
    topic_partition_hashes,
    uuid_hash,
)
from partitioning.topic_partition import TopicPartition
from tests.support.golden import Json, golden_lines
from tests.support.tiers import sample

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from partitioning.java.hash_codes import Key

    Way = Callable[[Json], list[int]]

CASES = {case["name"]: case for case in golden_lines("java/hash_orders")}
SETTLED = [case for case in CASES.values() if case["order"] is not None]
VARYING = [case for case in CASES.values() if case["order"] is None]


def is_only_filled(case: Json) -> bool:
    """Whether every key was put, the last one of its bin behind the others, and none was taken out."""
    return not case["build"].startswith("compute_if_absent") and not case.get("removed")


def hashes_of(case: Json) -> list[int]:
    keys = case["keys"]
    match case["kind"]:
        case "string":
            return string_hashes(keys).tolist()
        case "integer":
            return keys
        case "uuid":
            return [uuid_hash(uuid.UUID(key)) for key in keys]
        case _:
            topics = string_hashes([topic for topic, _ in keys])
            return topic_partition_hashes(topics, [partition for _, partition in keys]).tolist()


def halves(key: str) -> tuple[int, int]:
    """What `Uuid.compareTo` compares."""
    high, low = np.frombuffer(uuid.UUID(key).bytes, ">i8").tolist()
    return high, low


def capacity_of(case: Json, distinct: int) -> int:
    return {
        "put_sized": case.get("capacity", 16),
        "copy_of_map": hash_map_capacity(distinct),
        "copy_of_list": hash_set_capacity(len(case["keys"])),
    }.get(case["build"], 16)


def order_of(case: Json) -> list[int]:
    # A key that is put again keeps its place; the functions under test want distinct ones.
    distinct = sorted({str(key): i for i, key in reversed(list(enumerate(case["keys"])))}.values())
    keys = [case["keys"][i] for i in distinct]
    comparable = {"string": list, "uuid": lambda ids: np.array([halves(key) for key in ids])}
    order = hash_map_order(
        np.array(case["hashes"], np.int32)[distinct],
        capacity=capacity_of(case, len(distinct)),
        keys=comparable[case["kind"]](keys) if case["kind"] in comparable else None,
    )
    return [distinct[i] for i in order.tolist()]


def made_by(case: Json) -> HashMap[Key, None] | HashSet[Key]:
    """The map or set after the calls of a case."""
    keys = [key_of(case, key) for key in case["keys"]]
    made: HashMap[Key, None] | HashSet[Key]
    match case["build"]:
        case "copy_of_list":
            made = HashSet(keys)
        case "copy_of_map":
            made = HashMap(dict.fromkeys(keys))
        case "put" | "put_sized":
            made = HashMap(capacity=case.get("capacity"))
            made.update(dict.fromkeys(keys))
        case _:
            made = HashMap()
            again = keys[:1] if case["build"] == "compute_if_absent_again" else []
            for key in keys + again:
                made.compute_if_absent(key, lambda: None)
    for position in case.get("removed", ()):
        (made.discard if isinstance(made, HashSet) else made.pop)(keys[position])
    return made


def order_call_by_call(case: Json) -> list[int]:
    keys = [key_of(case, key) for key in case["keys"]]
    return [keys.index(key) for key in made_by(case)]


def ways(case: Json) -> list[Way]:
    """The functions that give the order of a case."""
    return [order_call_by_call, order_of] if is_only_filled(case) else [order_call_by_call]


def key_of(case: Json, key: Any) -> Key:
    match case["kind"]:
        case "uuid":
            return uuid.UUID(key)
        case "topic_partition":
            return TopicPartition(*key)
        case _:
            return key


def has_ties(case: Json) -> bool:
    """Whether keys that Java cannot compare share a hash."""
    return case["kind"] == "topic_partition" and len(set(case["hashes"])) < len(case["hashes"])


@pytest.mark.parametrize("kind", sorted({case["kind"] for case in CASES.values()}))
def test_hash_codes(kind: str) -> None:
    cases = [case for case in CASES.values() if case["kind"] == kind]
    assert_all(cases, lambda case: hashes_of(case) == case["hashes"])


def assert_all(cases: Sequence[Json], holds: Callable[[Json], object]) -> None:
    """Fail with the names of all cases for which `holds` does not."""
    assert cases
    assert [case["name"] for case in cases if not holds(case)] == []


def refuses(call: Callable[[], object], words: str = "") -> bool:
    """Whether the order is refused, with these words."""
    try:
        call()
    except TreeBinError as error:
        return words in str(error)
    return False


def test_iteration_order() -> None:
    cases = sample([case for case in SETTLED if is_only_filled(case) and not has_ties(case)], 5)
    assert_all(cases, lambda case: order_of(case) == case["order"])


def test_iteration_order_call_by_call() -> None:
    cases = sample([case for case in SETTLED if not has_ties(case)], 20)
    assert_all(cases, lambda case: order_call_by_call(case) == case["order"])


@pytest.mark.parametrize("size", [6, 7])
def test_part_of_a_split_tree(size: int) -> None:
    cases = [case for name, case in CASES.items() if name.startswith(f"tree_split_to_{size}")]
    assert_all(cases, lambda case: order_call_by_call(case) == case["order"])


def test_a_map_with_ties_never_tells_a_wrong_order() -> None:
    def holds(way: Way, case: Json) -> object:
        try:
            return way(case) == case["order"]
        except TreeBinError:
            return True

    with_ties = [case for case in CASES.values() if has_ties(case)]
    assert_all(with_ties, lambda case: all(holds(way, case) for way in ways(case)))


def test_an_order_that_no_two_runs_of_a_jvm_share_is_refused() -> None:
    def holds(case: Json) -> object:
        return all(refuses(partial(way, case), "System.identityHashCode") for way in ways(case))

    assert_all(VARYING, holds)


def test_trees_are_among_the_cases() -> None:
    assert sum(case["tree"] for case in SETTLED if case["kind"] == "string") > 200
    assert sum(case["tree"] for case in SETTLED if case["kind"] == "topic_partition") > 10
    assert len(VARYING) > 20
