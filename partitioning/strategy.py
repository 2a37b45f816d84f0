"""Our strategies hash keyed records under a profile and place the others in turn; this is what they share."""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from partitioning.errors import InvalidKeyError
from partitioning.interface import TopicLayout
from partitioning.keys import Keys, advice, key_column
from partitioning.placement import UNKEYED, check_profile, partition_batch, partition_for_key

Draw: TypeAlias = Callable[[], int]
"""Gives a random number, 0 to 2**31 - 1."""

RandomSource: TypeAlias = Callable[[str], Draw]
"""Makes a topic's own source."""


def unseeded(topic: str) -> Draw:  # noqa: ARG001 - a RandomSource
    """Return a source that nobody can repeat."""
    return partial(random.Random().getrandbits, 31)  # noqa: S311 - spreads load, guards nothing


def seeded(seed: int) -> RandomSource:
    """Return sources that give each topic the same numbers each time.

    >>> orders = get_partitioner("random", random=seeded(7)).for_topic("orders")
    >>> [orders.partition(None, TopicLayout(12)) for _ in range(4)]  # the same in every run
    [0, 4, 7, 1]

    Args:
        seed: any integer. Topics get different numbers from one seed, whatever other topics draw.
    """
    return lambda topic: partial(random.Random(f"{seed} {topic}").getrandbits, 31)  # noqa: S311 - the same


_Number = TypeVar("_Number", int, NDArray[np.int64])


# Not the absolute value: a negative number becomes another one than its counterpart.
def to_positive(value: _Number) -> _Number:
    """Java's `Utils.toPositive`: the low 31 bits."""
    return value & 0x7FFFFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class UnkeyedStrategy:
    """A strategy for records without a key, which may have a profile that places the others."""

    keyed: str | None = None

    unkeyed_name: ClassVar[str]  # its name where it has no profile

    def __post_init__(self) -> None:
        if self.keyed is not None:
            check_profile(self.keyed)

    @property
    def name(self) -> str:
        """The profile where there is one, else what the strategy itself is called."""
        return self.keyed or self.unkeyed_name


class UnkeyedTopic(ABC):
    """A topic partitioner that chooses for unkeyed records only, or for all if its profile is None.

    A subclass holds the state and says in `_next` where the next unkeyed record goes. Records that the
    profile places never touch that state.
    """

    def __init__(self, profile: str | None) -> None:
        self._profile = profile

    def partition(self, key: bytes | None, layout: TopicLayout) -> int:
        """Return the partition of one record."""
        if self._profile is not None:
            placed = partition_for_key(key, layout.partitions, profile=self._profile)
            if placed is not None:
                return placed
        # Without a profile the key does not matter, but text for bytes would still be a mistake of the
        # caller.
        elif key is not None and not isinstance(key, bytes):
            raise InvalidKeyError(f"the key is {type(key).__name__}, not bytes; {advice(key)}")
        return self._next(layout)

    def partition_batch(self, keys: Keys, layout: TopicLayout) -> NDArray[np.int32]:
        """Return the partition of each record of a column: int32 of shape (n,)."""
        if self._profile is None:
            return self._next_batch(len(key_column(keys)), layout)
        partitions = partition_batch(keys, layout.partitions, profile=self._profile)
        unkeyed = np.flatnonzero(partitions == UNKEYED)
        # In the order of the rows, so that a column and single calls give one sequence of partitions.
        if len(unkeyed):
            partitions[unkeyed] = self._next_batch(len(unkeyed), layout)
        return partitions

    @abstractmethod
    def _next(self, layout: TopicLayout) -> int:
        """Return the partition of the next unkeyed record."""

    def _next_batch(self, count: int, layout: TopicLayout) -> NDArray[np.int32]:
        """Return the partitions of the next unkeyed records, as so many calls of `_next` give them."""
        return np.fromiter((self._next(layout) for _ in range(count)), np.int32, count)
