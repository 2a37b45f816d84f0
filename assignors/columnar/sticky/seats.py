"""How many partitions each member may still get."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(slots=True)
class Seats:
    """Members below their share: each gets `least` partitions, and some get one extra.

    Attributes:
        least: the share that every member gets.
        extras: how many more members may get one more than that.
        size: how many partitions each member has.
        under: members below the share, in the order they are served.
        exact: members at the share that may get an extra, in the order they are served.
    """

    least: int
    extras: int
    size: NDArray[np.int64]
    under: list[int]
    exact: list[int]

    def round_robin(self) -> NDArray[np.int32]:
        """Who gets the next partition, the one after it, and so on.

        Members below the share take turns until all have it. Then those that have it get an extra each: first
        `exact`, then the others in the order in which they reached it.
        """
        under = np.array(self.under, np.int32)
        need = self.least - self.size[under]
        rounds = []
        done = 0
        for goal in sorted(set(need.tolist())):
            rounds.append(np.tile(under[need > done], goal - done))
            done = goal
        filled = under[np.argsort(need, kind="stable")]
        exact = np.array(self.exact, np.int32)
        return np.concatenate([*rounds, exact, filled])
