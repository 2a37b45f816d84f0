"""Define lengths of time: fixed ones, and ones that are drawn anew for each occurrence."""

import math
import re
from dataclasses import dataclass
from typing import Annotated

from numpy.random import Generator

LATEST_MS = 2**53
"""The latest time and the longest timeout: beyond it a float cannot hold every whole millisecond."""
UNITS = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000}
"""Milliseconds of each unit that a length of time may be written in."""
NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?"
"""The pattern of a number that is not negative."""
TIME = rf"{NUMBER} *(?:{'|'.join(UNITS)})"
"""The pattern of a length of time, such as "30 s"."""


@dataclass(frozen=True, slots=True)
class Between:
    """The bounds of a field's numbers, both included; `what` names the number in messages."""

    low: float
    high: float
    what: str = "number"


Milliseconds = Annotated[float, Between(0, LATEST_MS, "number of milliseconds")]
Interval = Annotated[float, Between(1, LATEST_MS, "number of milliseconds")]

_P95 = 1.6448536269514722
"""The distance of the 95th percentile of a normal distribution from its median, in standard deviations."""
LARGEST_EXPONENT = 700
"""The largest argument of `exp`, which raises an error above 709; lengths are cut to `LATEST_MS` anyway."""


@dataclass(frozen=True, slots=True)
class Uniform:
    """Any length between two bounds, each equally likely; milliseconds."""

    low: Milliseconds
    high: Milliseconds

    def draw(self, random: Generator) -> float:
        """Return one length in milliseconds."""
        return float(random.uniform(self.low, self.high))


@dataclass(frozen=True, slots=True)
class Exponential:
    """Mostly short lengths, and now and then several times the mean; milliseconds.

    A mean of 0 always gives 0.
    """

    mean: Milliseconds

    def draw(self, random: Generator) -> float:
        """Return one length in milliseconds."""
        return float(random.exponential(self.mean))


@dataclass(frozen=True, slots=True)
class LogNormal:
    """Lengths spread as latencies are: half below the median, one in twenty above `p95`; milliseconds."""

    median: Milliseconds
    p95: Milliseconds

    @property
    def sigma(self) -> float:
        """The standard deviation of the lengths' logarithms."""
        return (math.log(self.p95) - math.log(self.median)) / _P95

    def draw(self, random: Generator) -> float:
        """Return one length in milliseconds.

        The exponent is limited first, because `exp` raises for a result that a float cannot hold. The
        function `draw` limits the length itself.
        """
        length = math.log(self.median) + random.standard_normal() * self.sigma
        return math.exp(min(length, LARGEST_EXPONENT))


Distribution = Uniform | Exponential | LogNormal
Duration = Milliseconds | Distribution
"""A length of time in milliseconds: always the same, or drawn again each time the scenario needs it."""


def draw(duration: Duration, random: Generator) -> float:
    """Return one length of this duration in milliseconds, at most `LATEST_MS`; a fixed one draws nothing.

    >>> import numpy as np
    >>> draw(1_500, np.random.default_rng(0)), draw(Uniform(2, 2), np.random.default_rng(0))
    (1500.0, 2.0)
    """
    return min(duration.draw(random), LATEST_MS) if isinstance(duration, Distribution) else float(duration)


def milliseconds_of(text: str) -> float:
    """Return the milliseconds that a text such as "30 s" stands for; `TIME` must match the text.

    The unit is one of `UNITS`. Spaces between number and unit do not matter.

    >>> milliseconds_of("1.5 min")
    90000.0
    """
    unit = re.split("[^a-z]", text)[-1]
    return float(text.removesuffix(unit)) * UNITS[unit]
