"""How the best loads part a group."""

import numpy as np
import pytest

from assignors.optimal.levels import find_levels
from assignors.optimal.reading import ClassTopics


@pytest.mark.parametrize(
    ("subscriptions", "parts"),
    [
        pytest.param([(0, 1), (2, 3)], [0, 0, 1, 1], id="two blocks"),
        pytest.param([(0, 1), (1, 2), (2, 3)], [0, 0, 0, 0], id="a chain"),
        pytest.param([(0, 3), (1, 2)], [0, 1, 1, 0], id="two that cross"),
        pytest.param([(0,), (1,), (2,), (0, 3)], [0, 1, 2, 0], id="one with two members"),
        pytest.param([(2, 3), (1, 2), (0, 1)], [0, 0, 0, 0], id="a chain from its end"),
    ],
)
def test_topics_that_readers_connect_are_in_one_part(
    subscriptions: list[tuple[int, ...]], parts: list[int]
) -> None:
    size = np.full(4, len(subscriptions))
    found = find_levels(size, ClassTopics.of(subscriptions, 4)).part_of_topic
    assert np.unique(found, return_inverse=True)[1].tolist() == parts
