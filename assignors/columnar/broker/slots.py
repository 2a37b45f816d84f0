"""Partitions of members, those of one member and topic next to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from partitioning.columns import ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assignors.columnar.numbering import TopicRow, Visit

_T = TypeVar("_T", bound=np.generic)


class Slots(NamedTuple):
    """Partitions in slots; a slot is what one member has of one topic.

    Attributes:
        member: member of each slot, in the order in which the coordinator visits the members.
        topic: topic of each slot.
        starts: first row of each slot.
        sizes: rows of each slot, 1 or more.
        partition: partition number of each row.
    """

    member: Visit
    topic: TopicRow
    starts: NDArray[np.intp]
    sizes: NDArray[np.intp]
    partition: NDArray[np.int32]

    def per_row(self, values: NDArray[_T]) -> NDArray[_T]:
        """A value a slot as one a row, slot after slot."""
        return np.repeat(values, self.sizes)

    def in_order(self, order: NDArray[np.intp]) -> Slots:
        """The same slots one after the other in another order."""
        starts, sizes = self.starts[order], self.sizes[order]
        partition = self.partition[ranges(starts, sizes)]
        return Slots(
            member=self.member[order],
            topic=self.topic[order],
            starts=np.cumsum(sizes) - sizes,
            sizes=sizes,
            partition=partition,
        )

    def merged(self) -> Slots:
        """The same with one slot for each member and topic, in the order in which they first occur."""
        keys = self.member * (int(self.topic.max(initial=0)) + 1) + self.topic
        if (keys[1:] > keys[:-1]).all():
            return self
        in_order = np.sort(keys)
        if (in_order[1:] != in_order[:-1]).all():
            return self
        _, first, slot = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(first)
        sizes = np.bincount(slot, weights=self.sizes).astype(np.intp)[order]
        rows = self.in_order(np.argsort(first[slot], kind="stable")).partition
        first = first[order]
        return Slots(
            member=self.member[first],
            topic=self.topic[first],
            starts=np.cumsum(sizes) - sizes,
            sizes=sizes,
            partition=rows,
        )
