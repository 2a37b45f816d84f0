"""Handing out partitions to the members with the fewest."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assignors.columnar.sticky_general import fill
from assignors.columnar.uniform_heterogeneous import fill_up


@given(
    sizes=st.lists(st.integers(0, 6), min_size=1, max_size=6), partitions=st.integers(0, 30), data=st.data()
)
def test_each_partition_goes_to_the_lightest_member_then(sizes, partitions, data):
    members = sorted(data.draw(st.sets(st.integers(0, len(sizes) - 1), min_size=1)))
    size = list(sizes)
    expected = []
    for _ in range(partitions):
        lightest = min(members, key=lambda member: (size[member], member))
        expected.append(lightest)
        size[lightest] += 1
    given_size = np.array(sizes)
    assert fill(given_size, np.array(members), partitions).tolist() == expected
    assert given_size.tolist() == size


@given(sizes=st.lists(st.integers(0, 6), min_size=1, max_size=6), partitions=st.integers(1, 30))
def test_the_broker_goes_on_from_whom_it_served_first(sizes, partitions):
    """Of members with equally few, it serves the one that had fewer to begin with first."""
    size = list(sizes)
    expected = []
    for _ in range(partitions):
        lightest = min(range(len(size)), key=lambda member: (size[member], sizes[member], member))
        expected.append(lightest)
        size[lightest] += 1
    assert fill_up(np.arange(len(sizes)), np.array(sizes), partitions).tolist() == expected
