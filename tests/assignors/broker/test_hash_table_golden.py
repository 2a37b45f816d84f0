"""A Java HashMap call by call, trees and removals included, as the JVM gives its keys back."""

from __future__ import annotations

import uuid

import pytest

from assignors.broker.hash_table import HashTable
from partitioning.java import hash_map_capacity, hash_set_capacity
from tests.support.golden import Json, golden_lines

CASES = [case for case in golden_lines("java/hash_orders") if case["kind"] in {"integer", "uuid"}]


def table_of(case: Json) -> HashTable:
    """The map after the calls of a case; its keys are positions in the case's."""
    capacity = {
        "put_sized": case.get("capacity", 16),
        "copy_of_map": hash_map_capacity(len(case["keys"])),
        "copy_of_list": hash_set_capacity(len(case["keys"])),
    }.get(case["build"], 16)
    table = HashTable(capacity)
    put = table.compute_if_absent if case["build"] == "compute_if_absent" else table.add
    for position, (key, code) in enumerate(zip(case["keys"], case["hashes"], strict=True)):
        put(position, _signed(code & 0xFFFFFFFF ^ (code & 0xFFFFFFFF) >> 16, 32), _rank(case["kind"], key))
    for position in case.get("removed", ()):
        table.remove(position)
    return table


def _rank(kind: str, key: int | str) -> tuple[int, ...]:
    """What orders keys with the same hash: their `compareTo`."""
    if isinstance(key, int):
        return (key,)
    value = uuid.UUID(key).int
    return _signed(value >> 64, 64), _signed(value & (1 << 64) - 1, 64)


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_iteration_order(case: Json) -> None:
    assert list(table_of(case)) == case["order"]


def test_trees_are_among_the_cases() -> None:
    assert sum(case["tree"] for case in CASES) > 100
