"""TopicLayout: what a producer can know of a topic, and what it cannot."""

import numpy as np
import pytest

from partitioning import NONE_AVAILABLE, TopicLayout
from partitioning.errors import InvalidLayoutError, InvalidPartitionCountError


@pytest.mark.parametrize("available", [[2, 0], range(3), NONE_AVAILABLE, np.array([0, 2]), [np.int32(1)]])
def test_partitions_with_a_leader_are_any_integers_of_the_topic(available):
    assert TopicLayout(3, available=available).available is available


@pytest.mark.parametrize("available", [[], [0, 0], [3], [-1], [0.4], [True], ["0"], [None], [np.float64(1)]])
def test_partitions_with_a_leader_that_cannot_be_are_refused(available):
    with pytest.raises(InvalidLayoutError, match="`available`"):
        TopicLayout(3, available=available)


@pytest.mark.parametrize("partitions", [0, -1, 2**31, True, 0.4, "1", None])
def test_a_count_that_cannot_be_is_refused(partitions):
    with pytest.raises(InvalidPartitionCountError, match=f"num_partitions is {partitions!r}; give"):
        TopicLayout(partitions)
