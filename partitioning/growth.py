"""Computes which keys move when a topic gets more partitions.

A key moves if its hash has different remainders modulo the two partition counts. Kafka never moves existing
records: only new records of such a key go to the other partition.
"""

from dataclasses import dataclass
from math import gcd

import numpy as np
from numpy.typing import NDArray

from partitioning.errors import InvalidPartitionCountError
from partitioning.keys import Keys, key_column
from partitioning.placement import UNKEYED, partition_batch
from partitioning.topic_partition import checked_partition_count


@dataclass(frozen=True, slots=True, eq=False)
class Growth:
    """Says what growing a topic does to a column of keys.

    >>> grow([b"user-42", b"user-43", b"user-44"], 4, 6).moved.tolist()
    [True, False, True]

    Attributes:
        before: the partition count before the growth.
        after: the partition count after it.
        moved: True for rows that get another partition; bool of shape (n,). False for rows without a hash.
        keyed: how many rows have a hash.
        profile: the name of the profile, or of the plug-in, that places the keys.
    """

    before: int
    after: int
    moved: NDArray[np.bool_]
    keyed: int
    profile: str

    @property
    def moving(self) -> int:
        """The number of rows that get another partition."""
        return int(np.count_nonzero(self.moved))

    @property
    def share(self) -> float:
        """The share of keyed rows that get another partition; 0 if no row is keyed."""
        return self.moving / self.keyed if self.keyed else 0.0

    @property
    def warning(self) -> str:
        """A sentence or two about what the growth means for the order of a key's records."""
        if not self.moving:
            return (
                f"Growing the topic from {self.before} to {self.after} partitions moves none of these keys."
            )
        uniform = expected_share(self.before, self.after)
        return (
            f"Growing the topic from {self.before} to {self.after} partitions moves {self.moving:,} of "
            f"{self.keyed:,} keyed records ({self.share:.1%}; {uniform:.1%} of a uniform hash). From then on "
            "new records of those keys go to another partition than the old ones, which stay: the order "
            "within such a key is lost until consumers have read the old partitions to their end, and what "
            "they keep by partition must be moved."
        )


def grow(keys: Keys, before: int, after: int, *, profile: str = "java") -> Growth:
    """Return which rows of a key column get another partition when the topic grows.

    >>> growth = grow([b"user-42", b"user-43", b"user-44"], 4, 6)
    >>> growth.moving, growth.share
    (2, 0.6666666666666666)

    Args:
        keys: n keys, as `key_column` takes them.
        before: the present partition count.
        after: the partition count after the growth; Kafka topics never shrink.
        profile: the profile or client that places the records, or a plug-in that places by key alone.

    Raises:
        InvalidPartitionCountError: a count is out of range, or `after` is below `before`.
        InvalidKeyError: the keys are of another type.
        UnknownStrategyError: there is no such profile, and no such plug-in that places by key alone.
    """
    check_growth(before, after)
    column = key_column(keys)
    # `key_column` is called only once, because reading a list of keys costs more than hashing it.
    old = partition_batch(column, before, profile=profile)
    new = partition_batch(column, after, profile=profile)
    return Growth(before, after, old != new, int(np.count_nonzero(old != UNKEYED)), profile)


def expected_share(before: int, after: int) -> float:
    """Return the share of keys that move if a uniform hash is taken modulo the count: 1 - gcd / after.

    No rule that keeps partitions even can move a smaller share than 1 - before / after.

    >>> round(expected_share(12, 18), 3)
    0.667

    Raises:
        InvalidPartitionCountError: a count is out of range, or `after` is below `before`.
    """
    check_growth(before, after)
    # Let L be lcm(before, after), which is before * after / gcd. Of L consecutive hashes, `before` have equal
    # remainders modulo both counts: those that are below `before` modulo L. So the share of keys that stay is
    # before / L, which equals gcd / after.
    return 1 - gcd(before, after) / after


def check_growth(before: int, after: int) -> None:
    """Raise InvalidPartitionCountError if a count is out of range, or the topic would shrink."""
    if checked_partition_count(after) < checked_partition_count(before):
        raise InvalidPartitionCountError(
            f"the topic has {before} partitions and cannot have {after}: Kafka topics only grow"
        )
