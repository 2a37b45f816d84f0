"""What a broker assignor changes in the target assignment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from assignors.columnar.broker.evening import Move
    from assignors.columnar.broker.slots import Slots


@dataclass(frozen=True, slots=True)
class Changes:
    """How the new target assignment comes about.

    Attributes:
        staying: for each slot of the old targets how many of its rows stay, the first ones.
        gone: rows of the old targets that go all the same, in the order in which they go.
        copied: members whose maps were copied before they were changed.
        given: what members get, grouped by member and in the order in which they get it. A member may have
            several slots of a topic.
        capacity: capacity of a new set for each topic.
        mixed: members that lose some partitions while they get others.
        moves: what happens to them after they were given what they get, in order.
    """

    staying: NDArray[np.intp]
    gone: NDArray[np.intp]
    copied: NDArray[np.bool_]
    given: Slots
    capacity: NDArray[np.intp]
    mixed: frozenset[int] = frozenset()
    moves: Sequence[Move] = ()
