"""The base of built-in strategies: a profile places keyed records, and a subclass places the others."""

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
"""A function that returns a random number, 0 to 2**31 - 1."""

RandomSource: TypeAlias = Callable[[str], Draw]
"""A function that makes the source of random numbers of a topic, given the topic's name."""


def unseeded_draw(topic: str) -> Draw:  # noqa: ARG001 - a RandomSource
    """Return a source of random numbers that differ in each run."""
    return partial(random.Random().getrandbits, 31)  # noqa: S311 - spreads load, guards nothing


def seeded_source(seed: int) -> RandomSource:
    """Return a `RandomSource` that gives each topic the same random numbers in each run.

    >>> orders = get_partitioner("random", random=seeded_source(7)).for_topic("orders")
    >>> [orders.partition(None, TopicLayout(12)) for _ in range(4)]  # the same in every run
    [0, 4, 7, 1]

    Args:
        seed: any integer. Different topics get different numbers, which do not depend on each other.
    """
    return lambda topic: partial(random.Random(f"{seed} {topic}").getrandbits, 31)  # noqa: S311 - the same


_Number = TypeVar("_Number", int, NDArray[np.int64])


# The result is not the absolute value: -1 becomes 2**31 - 1, and not 1.
def to_positive(value: _Number) -> _Number:
    """Return the low 31 bits, as Kafka's `Utils.toPositive` does."""
    return value & 0x7FFFFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class UnkeyedStrategy:
    """Base of strategies for unkeyed records; a profile may place keyed records.

    Attributes:
        keyed: the name of the profile, or of the plug-in that places by key alone, for keyed records. None:
            keys are ignored.
        unkeyed_name: the name of the strategy if it has no profile.
    """

    keyed: str | None = None

    unkeyed_name: ClassVar[str]

    def __post_init__(self) -> None:
        if self.keyed is not None:
            check_profile(self.keyed)

    @property
    def name(self) -> str:
        """The name of the profile if there is one, else that of the strategy."""
        return self.keyed or self.unkeyed_name


class UnkeyedTopic(ABC):
    """Base of topic partitioners that place keyed records by a profile, and the others by a subclass.

    A subclass holds the state, and its `_next` returns the partition of the next unkeyed record. If there is
    no profile (None), `_next` places all records. Records that the profile places never change the state.
    """

    def __init__(self, profile: str | None) -> None:
        self._profile = profile

    def partition(self, key: bytes | None, layout: TopicLayout) -> int:
        """Return the partition of one record."""
        if self._profile is not None:
            placed = partition_for_key(key, layout.partitions, profile=self._profile)
            if placed is not None:
                return placed
        # Without a profile the key is ignored. But a text in place of bytes is still a mistake of the caller.
        elif key is not None and not isinstance(key, bytes):
            raise InvalidKeyError(f"the key is {type(key).__name__}, not bytes; {advice(key)}")
        return self._next(layout)

    def partition_batch(self, keys: Keys, layout: TopicLayout) -> NDArray[np.int32]:
        """Return the partition of each record of a column: int32 of shape (n,)."""
        if self._profile is None:
            return self._next_batch(len(key_column(keys)), layout)
        partitions = partition_batch(keys, layout.partitions, profile=self._profile)
        unkeyed = np.flatnonzero(partitions == UNKEYED)
        # Unkeyed rows are placed in order, so a column and single calls give the same partitions.
        if len(unkeyed):
            partitions[unkeyed] = self._next_batch(len(unkeyed), layout)
        return partitions

    @abstractmethod
    def _next(self, layout: TopicLayout) -> int:
        """Return the partition of the next unkeyed record."""

    def _next_batch(self, count: int, layout: TopicLayout) -> NDArray[np.int32]:
        """Return the partitions of the next `count` unkeyed records, equal to `count` calls of `_next`."""
        return np.fromiter((self._next(layout) for _ in range(count)), np.int32, count)
