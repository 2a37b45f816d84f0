"""How near to the best an answer provably is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Certificate:
    """The peak of an answer, and what no answer can beat.

    A peak is the largest load over capacity, in multiples of the mean: all weights over all capacities. What
    is held back counts as given. All are 0.0 where there is nothing to assign.

    Attributes:
        peak: of this answer.
        bound: no answer has a lower peak.
        bound_within_moves: no answer with as few moves as this one has a lower peak.
        moves: partitions whose owner is still there, still subscribes and loses them.
    """

    peak: float
    bound: float
    bound_within_moves: float
    moves: int

    @property
    def gap(self) -> float:
        """How far above the least peak this one is at most: 0.02 stands for 2 %."""
        return max(self.peak / self.bound - 1, 0.0) if self.bound else 0.0
