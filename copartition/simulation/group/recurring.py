"""Times that recur: a member's heartbeats, commits and metadata refreshes.

All are `phase_ms + k * every_ms` for a whole k, computed in one way and then compared, so the first one after
some time is also the last one up to itself. Remainders of floats do not agree on that.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def last_until(phase_ms: float, every_ms: float, at_ms: float) -> float:
    """The last of `phase_ms + k * every_ms` up to `at_ms`."""
    return phase_ms + _turn(phase_ms, every_ms, at_ms) * every_ms


def first_after(phase_ms: float, every_ms: float, at_ms: float) -> float:
    """The first of `phase_ms + k * every_ms` later than `at_ms`."""
    return phase_ms + (_turn(phase_ms, every_ms, at_ms) + 1) * every_ms


def first_after_each(
    phase_ms: NDArray[np.float64], every_ms: NDArray[np.float64], at_ms: float | NDArray[np.float64]
) -> NDArray[np.float64]:
    """The same for many at once."""
    turn = np.floor((at_ms - phase_ms) / every_ms)  # or one beside it, as the quotient is rounded
    turn -= phase_ms + turn * every_ms > at_ms
    turn += phase_ms + (turn + 1) * every_ms <= at_ms
    return phase_ms + (turn + 1) * every_ms


def _turn(phase_ms: float, every_ms: float, at_ms: float) -> int:
    """The highest k with `phase_ms + k * every_ms <= at_ms`."""
    turn = math.floor((at_ms - phase_ms) / every_ms)  # or one beside it, as the quotient is rounded
    while phase_ms + turn * every_ms > at_ms:
        turn -= 1
    while phase_ms + (turn + 1) * every_ms <= at_ms:
        turn += 1
    return turn
