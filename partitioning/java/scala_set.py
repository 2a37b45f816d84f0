"""The order of Scala's immutable `Set[String]`, in which brokers list the topics that a client asks for.

Scala 2.13, `scala.collection.immutable.HashSet`: a tree that takes five bits of the hash a level, and gives
what lies in a node before what lies below it. Up to four elements are kept as they came.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from partitioning.java.strings import string_hash

if TYPE_CHECKING:
    from collections.abc import Iterable

_KEPT_AS_THEY_COME = 4
_BITS = 5
_WORD = 0xFFFFFFFF


def scala_set_order(names: Iterable[str]) -> list[str]:
    """The names, each once, in the order in which Scala's set of them gives them back."""
    once = list(dict.fromkeys(names))
    if len(once) <= _KEPT_AS_THEY_COME:
        return once
    return _in_order([(_improve(string_hash(name)), name) for name in once])


def _in_order(entries: list[tuple[int, str]]) -> list[str]:
    if len({code for code, _ in entries}) == 1:
        return [name for _, name in entries]  # one, or equal hashes, which stay as they came
    nodes: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for code, name in entries:
        nodes[code & (1 << _BITS) - 1].append((code >> _BITS, name))
    in_place = sorted(nodes.items(), key=lambda node: (len(node[1]) > 1, node[0]))
    return [name for _, node in in_place for name in _in_order(node)]


def _improve(code: int) -> int:
    """`scala.collection.Hashing.improve`."""
    code = (code + ~(code << 9)) & _WORD
    code ^= code >> 14
    code = (code + (code << 4)) & _WORD
    return code ^ (code >> 10)
