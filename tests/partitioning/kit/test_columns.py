"""Rows of integer columns: sorted, grouped and joined."""

from itertools import accumulate, groupby, pairwise
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partitioning.kit.columns import (
    group_rows,
    join_columns,
    run_sizes,
    run_starts,
    sort_positions,
    sort_rows,
)

wide = st.integers(-(2**31), 2**31 - 1)
# Columns that fit into one integer together, each with a width of its own.
narrow = st.tuples(st.integers(0, 3), st.integers(-500, 500), st.integers(5, 40))


@given(
    rows=st.lists(st.tuples(wide, wide, wide), max_size=20) | st.lists(narrow, max_size=20),
    few=st.sampled_from([0, 1_000]),
)
def test_rows_are_sorted_by_their_columns(rows, few):
    columns = np.array(rows, np.int64).reshape(-1, 3)
    with mock.patch("partitioning.kit.columns.FEW", few):
        ordered = sort_rows(columns[:, 0], columns[:, 1], columns[:, 2])
    assert list(zip(*(column.tolist() for column in ordered), strict=True)) == sorted(rows)


@given(rows=st.lists(st.tuples(st.integers(0, 2**62), st.integers(0, 3)), max_size=20))
def test_positions_of_sorted_rows(rows):
    columns = np.array(rows, np.int64).reshape(-1, 2)
    assert sort_positions(columns[:, 0], columns[:, 1]).tolist() == sorted(
        range(len(rows)), key=rows.__getitem__
    )


@given(members=st.lists(st.integers(0, 4), max_size=20))
def test_grouping_keeps_the_order_inside_a_member(members):
    rows, starts = group_rows(np.array(members, np.int64), 5)
    groups = [rows[start:end].tolist() for start, end in pairwise(starts)]
    assert groups == [[row for row, owner in enumerate(members) if owner == member] for member in range(5)]


@given(st.lists(st.integers(0, 2), max_size=20))
def test_runs_of_equal_numbers(column):
    runs = [len(list(run)) for _, run in groupby(column)]
    starts = run_starts(np.array(column, np.int64))
    assert starts.tolist() == list(accumulate(runs, initial=0))[:-1]
    assert run_sizes(starts, len(column)).tolist() == runs


def test_grouping_more_members_than_16_bits_count():
    rows, starts = group_rows(np.array([70_000, 3, 70_000]), 70_001)
    assert rows.tolist() == [1, 0, 2]
    assert starts[70_000] == 1


@pytest.mark.parametrize(("first", "second"), [([], []), ([1], []), ([], [2]), ([1], [2])])
def test_joining(first, second):
    assert join_columns(np.array(first, int), np.array(second, int)).tolist() == first + second
