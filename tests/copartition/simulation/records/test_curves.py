"""Closed forms of sharing a capacity, against a simulation from one drained partition to the next."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from copartition.simulation.records.curves import behind_at, drain_times, fall_times, peaks, speed_at
from tests.support.tiers import examples

CLOSE = {"rel": 1e-6, "abs": 1e-6}


def of_three(capacity):
    """Consumers of different capacity."""
    return capacity * np.array([1.0, 0.5, 3.0])


def step_by_step(behind, rate, capacity, until=np.inf):
    """When each partition of one consumer is drained, and how far behind each is in the end."""
    behind = np.array(behind, float)
    rate = np.array(rate, float)
    times = np.full(len(behind), np.inf)
    now = 0.0
    while True:
        wait = times == np.inf
        speed = (capacity - rate[~wait].sum()) / max(wait.sum(), 1)
        falls = np.where(speed > rate, behind / np.where(speed > rate, speed - rate, 1), np.inf)
        falls = np.where(wait, np.where((behind == 0) & (speed >= rate), 0.0, falls), np.inf)
        step = falls.min()
        if now + step > until or step == np.inf:
            left = until - now if until < np.inf else 0.0
            return times, np.where(wait, behind + (rate - speed) * left, 0.0)
        now += step
        drained = falls <= step * (1 + 1e-12)
        times[drained] = now
        behind = np.where(wait & ~drained, behind + (rate - speed) * step, 0.0)


partitions = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 100, 500, 700, 20_000]),
        st.sampled_from([0, 1, 7, 10, 50, 100]),
        st.integers(0, 2),
    ),
    min_size=1,
    max_size=12,
)


@given(
    partitions, st.sampled_from([3.3, 17.0, 61.0, 149.9, 333.0, 1001.0]), st.sampled_from([0.7, 9.0, 111.0])
)
@example([(0, 0, 0), (0, 50, 0), (1000, 0, 0)], 100.0, 9.0)
@settings(max_examples=examples(400), deadline=None)
def test_sharing_is_what_it_is_step_by_step(drawn, capacity, elapsed):
    behind, rate, group = (np.array(column) for column in zip(*drawn, strict=True))
    capacity = of_three(capacity)
    times = drain_times(behind.astype(float), rate.astype(float), group, capacity)
    after = behind_at(np.full(len(behind), elapsed), behind, rate, group, times, capacity)
    speed = speed_at(np.full(len(behind), elapsed), rate, group, times, capacity)
    for consumer in np.unique(group):
        its = group == consumer
        expected, _ = step_by_step(behind[its], rate[its], capacity[consumer])
        _, left = step_by_step(behind[its], rate[its], capacity[consumer], elapsed)
        assert times[its] == pytest.approx(expected, **CLOSE)
        assert after[its] == pytest.approx(left, **CLOSE)
        together = capacity[consumer] if left.any() else rate[its].sum()
        assert speed[its].sum() == pytest.approx(together, **CLOSE)


def test_a_partition_falls_to_a_target_when_it_does():
    fallen = 0

    @given(partitions, st.sampled_from([17.0, 61.0, 149.9, 333.0]), st.sampled_from([0.3, 0.9]))
    @settings(max_examples=examples(200), deadline=None)
    def compare_falls(drawn, capacity, share):
        nonlocal fallen
        behind, rate, group = (np.array(column, float) for column in zip(*drawn, strict=True))
        group, capacity = group.astype(int), of_three(capacity)
        times = drain_times(behind, rate, group, capacity)
        rows = np.flatnonzero((behind > 0) & np.isfinite(times))
        target = share * behind[rows]
        falls = fall_times(rows, target, behind, rate, group, times, capacity) if len(rows) else []
        for row, at, aim in zip(rows, falls, target, strict=True):
            there = behind_at(np.full(len(behind), at), behind, rate, group, times, capacity)[row]
            before = behind_at(np.full(len(behind), at * 0.999), behind, rate, group, times, capacity)[row]
            assert there == pytest.approx(aim, rel=1e-6)
            assert before > there
            fallen += 1

    compare_falls()
    assert fallen


def test_a_partition_turns_where_it_is_furthest_behind():
    turned = 0

    @given(partitions, st.sampled_from([17.0, 61.0, 149.9, 333.0]))
    @example([(5, 1, 0), (3, 1.3, 0), *[(0, 9, 0)] * 5], 8.9)
    @settings(max_examples=examples(200), deadline=None)
    def compare_peaks(drawn, capacity):
        nonlocal turned
        behind, rate, group = (np.array(column, float) for column in zip(*drawn, strict=True))
        group, capacity = group.astype(int), of_three(capacity)
        times = drain_times(behind, rate, group, capacity)
        rows, turns, tops = peaks(behind, rate, group, times, capacity)
        moments = np.unique([0.0, *times[np.isfinite(times)]])
        course = np.array(
            [
                behind_at(np.full(len(behind), moment), behind, rate, group, times, capacity)
                for moment in moments
            ]
        )
        for row in range(len(behind)):
            highest = course[:, row].max()
            if times[row] < np.inf and highest > behind[row] * (1 + 1e-6) + 1e-6:
                place = rows.tolist().index(row)
                assert tops[place] == pytest.approx(highest, rel=1e-6)
                assert course[moments == turns[place], row] == pytest.approx(highest, rel=1e-6)
                turned += 1
            elif row in rows:
                assert tops[rows.tolist().index(row)] == pytest.approx(highest, rel=1e-6)

    compare_peaks()
    assert turned


@pytest.mark.parametrize(
    ("behind", "rate", "capacity", "times"),
    [
        pytest.param([0, 0], [50, 50], 100, [0, 0], id="just enough"),
        pytest.param([0, 0], [50, 51], 100, [0, np.inf], id="not quite"),
        pytest.param([100, 0], [50, 50], 100, [np.inf, 0], id="never"),
        pytest.param([1000, 1000], [50, 50], 200, [20, 20], id="together"),
        pytest.param([1000, 2000], [0, 0], 100, [20, 30], id="one after the other"),
        pytest.param([500], [7], np.inf, [0], id="no limit"),
        pytest.param([], [], 100, [], id="nothing"),
    ],
)
def test_a_partition_is_drained(behind, rate, capacity, times):
    behind, rate = np.array(behind, float), np.array(rate, float)
    assert (
        drain_times(behind, rate, np.zeros(len(behind), int), np.array([float(capacity)])).tolist() == times
    )
