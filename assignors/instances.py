"""Many instances of one class at a time."""

from __future__ import annotations

from collections import deque
from itertools import repeat
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

_T = TypeVar("_T")


def make_many(kind: type[_T], count: int, **attributes: Iterable[object]) -> list[_T]:
    """Instances of a frozen class with slots, attribute by attribute; calling it takes five times as long.

    Args:
        kind: the class; its `__init__` is not called.
        count: how many.
        attributes: the values of each attribute, one an instance; it must be all attributes.
    """
    instances = list(map(object.__new__, repeat(kind, count)))
    for name, values in attributes.items():
        deque(map(getattr(kind, name).__set__, instances, values), maxlen=0)
    return instances
