"""Hash codes and HashMap iteration orders, as the JVM gives them."""

from __future__ import annotations

import uuid

import numpy as np
import pytest

from partitioning.errors import TreeBinError
from partitioning.java import (
    hash_map_capacity,
    hash_map_order,
    hash_set_capacity,
    string_hashes,
    topic_partition_hashes,
    uuid_hash,
)
from tests.support.golden import Json, golden_lines

CASES = {case["name"]: case for case in golden_lines("java/hash_orders")}


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


@pytest.mark.parametrize("kind", sorted({case["kind"] for case in CASES.values()}))
def test_hash_codes(kind: str) -> None:
    for name, case in CASES.items():
        if case["kind"] == kind:
            assert hashes_of(case) == case["hashes"], name


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_iteration_order(case: Json) -> None:
    # A key that is put again keeps its place; the functions under test want distinct ones.
    distinct = sorted({str(key): i for i, key in reversed(list(enumerate(case["keys"])))}.values())
    hashes = np.array(case["hashes"], np.int32)[distinct]
    capacity = {
        "put_sized": case.get("capacity", 16),
        "copy_of_map": hash_map_capacity(len(distinct)),
        "copy_of_list": hash_set_capacity(len(case["keys"])),
    }.get(case["build"], 16)
    insert = "head" if case["build"] == "compute_if_absent" else "tail"
    if case["tree"]:
        with pytest.raises(TreeBinError):
            hash_map_order(hashes, capacity=capacity, insert=insert)
        return
    removed = set(case.get("removed", ()))
    order = [distinct[i] for i in hash_map_order(hashes, capacity=capacity, insert=insert).tolist()]
    assert [i for i in order if i not in removed] == case["order"]
