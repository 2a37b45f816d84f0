"""Lengths of time that are drawn."""

import numpy as np
import pytest

from copartition.simulation import Exponential, LogNormal, Uniform
from copartition.simulation.inputs.durations import LATEST_MS, draw
from tests.support.tiers import sample

DRAWS = sample(range(20_000), 4)


@pytest.mark.parametrize(
    ("duration", "quantiles"),
    [
        (Uniform(100, 300), {0: 100, 50: 200, 95: 290, 100: 300}),
        (Exponential(100), {50: 69.3, 95: 299.6}),
        (LogNormal(100, 1_000), {50: 100, 95: 1_000}),
        (LogNormal(100, 100), {0: 100, 100: 100}),
        (7, {0: 7, 100: 7}),
        (np.int64(7), {0: 7, 100: 7}),
    ],
)
def test_lengths_are_spread_as_named(duration, quantiles):
    random = np.random.default_rng(1)
    drawn = [draw(duration, random) for _ in DRAWS]
    assert np.percentile(drawn, list(quantiles)) == pytest.approx(list(quantiles.values()), rel=0.05)


class Extreme:
    """Draws what happens once in a long life."""

    def standard_normal(self):
        return 9.0

    def exponential(self, mean):
        return 40 * mean


@pytest.mark.parametrize("duration", [LogNormal(1e-300, LATEST_MS), Exponential(LATEST_MS)])
def test_no_length_is_beyond_the_latest_time(duration):
    assert draw(duration, Extreme()) == LATEST_MS
