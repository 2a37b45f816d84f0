"""Sorting rows of integer columns."""

from unittest import mock

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from partitioning.columns import sort_positions, sort_rows

number = st.integers(-(2**31), 2**31 - 1)


@given(rows=st.lists(st.tuples(number, number, number), max_size=20), few=st.sampled_from([0, 1_000]))
def test_rows_are_sorted_by_their_columns(rows, few):
    columns = np.array(rows, np.int64).reshape(-1, 3)
    with mock.patch("partitioning.columns.FEW", few):
        ordered = sort_rows(columns[:, 0], columns[:, 1], columns[:, 2])
    assert list(zip(*(column.tolist() for column in ordered), strict=True)) == sorted(rows)


@given(rows=st.lists(st.tuples(st.integers(0, 2**62), st.integers(0, 3)), max_size=20))
def test_positions_of_sorted_rows(rows):
    columns = np.array(rows, np.int64).reshape(-1, 2)
    assert sort_positions(columns[:, 0], columns[:, 1]).tolist() == sorted(
        range(len(rows)), key=rows.__getitem__
    )
