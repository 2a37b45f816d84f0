"""Lengths of time that differ from one occurrence to the next."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.random import Generator

_P95 = 1.6448536269514722
"""How many standard deviations the 95th percentile of a normal distribution lies above its median."""


@dataclass(frozen=True, slots=True)
class Uniform:
    """Any length between two, each as likely; milliseconds."""

    low: float
    high: float

    def draw(self, random: Generator) -> float:
        """One length."""
        return float(random.uniform(self.low, self.high))


@dataclass(frozen=True, slots=True)
class Exponential:
    """Mostly short, now and then several times the mean; milliseconds."""

    mean: float

    def draw(self, random: Generator) -> float:
        """One length."""
        return float(random.exponential(self.mean))


@dataclass(frozen=True, slots=True)
class LogNormal:
    """As most latencies are spread: half below the median, one in twenty above `p95`; milliseconds."""

    median: float
    p95: float

    def draw(self, random: Generator) -> float:
        """One length."""
        return self.median * math.exp(random.standard_normal() * math.log(self.p95 / self.median) / _P95)


Duration = float | Uniform | Exponential | LogNormal
"""A length of time in milliseconds: always the same, or drawn anew each time the scenario needs it."""


def draw(duration: Duration, random: Generator) -> float:
    """One length of this duration."""
    return float(duration) if isinstance(duration, int | float) else duration.draw(random)
