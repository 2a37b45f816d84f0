"""In which order Kafka's assignors visit members: static ones first (KIP-345), or as a HashMap has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from partitioning.java import hash_map_order, string_hashes, utf16_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from assignors.group import Member


def member_order(members: Sequence[Member]) -> NDArray[np.intp]:
    """Positions of the members: static ones by instance id, then dynamic ones by member id.

    Text compares as in Java, by UTF-16 code unit. Static members that share an instance id, which no
    coordinator lets happen, stay in the order of the leader's HashMap.
    """
    ids = [member.id for member in members]
    instances = [member.instance_id for member in members]
    if instances.count(None) == len(instances):
        return np.array(java_order(range(len(ids)), ids), np.intp)
    static = [row for row in hash_order(ids).tolist() if instances[row] is not None]
    dynamic = [row for row, instance in enumerate(instances) if instance is None]
    names = [instance or "" for instance in instances]
    return np.array(java_order(static, names) + java_order(dynamic, ids), np.intp)


def java_order(rows: Iterable[int], names: Sequence[str]) -> list[int]:
    """The rows, stably sorted by their names as Java's `String.compareTo` does."""
    if "".join(names).isascii():
        return sorted(rows, key=names.__getitem__)
    return sorted(rows, key=lambda row: utf16_key(names[row]))


def hash_order(ids: Sequence[str]) -> NDArray[np.intp]:
    """Positions of member ids in the order in which a `HashMap` of them, filled in this order, iterates."""
    return hash_map_order(string_hashes(ids), keys=ids)
