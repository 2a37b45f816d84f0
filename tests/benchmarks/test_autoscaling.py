"""What `python -m benchmarks.autoscaling` measures."""

from itertools import pairwise

import pytest

from benchmarks.autoscaling.__main__ import Figures, figures, page, run_policies, trace
from benchmarks.autoscaling.policies import by_count, fewest_consumers, slow_to_shrink
from benchmarks.competitors.fit_with_memory import (
    best_fit_decreasing,
    best_fit_with_memory,
    worst_fit_with_memory,
)

RATES = [60.0, 50.0, 30.0, 20.0, 10.0]


@pytest.mark.parametrize(
    ("policy", "owners", "after"),
    [
        # 60; 50, 30 and 20 beside it, and 10 where there is still room.
        (best_fit_decreasing, [None] * 5, [0, 1, 0, 1, 0]),
        # Consumer 0, the fullest, keeps its 60 and 30. The 10 of consumer 2 goes there, and as its 50 fits
        # nowhere, consumer 2 stays. The 20 of consumer 1 goes to it.
        (worst_fit_with_memory, [0, 2, 0, 1, 2], [0, 2, 0, 2, 0]),
        # Consumer 0 has 140 and keeps 60. A consumer more gets 50; then 30, 20 and 10 go to the fullest with
        # room, or to the emptiest.
        (best_fit_with_memory, [0, 0, 0, None, None], [0, 1, 0, 1, 0]),
        (worst_fit_with_memory, [0, 0, 0, None, None], [0, 1, 1, 0, 0]),
        # Consumer 0 has 120, and the move of 50 is the only one after which both have at most 100.
        (fewest_consumers, [0, 0, 1, 1, 0], [0, 1, 1, 1, 0]),
        (fewest_consumers, [0, 1, 0, 2, 1], [0, 1, 0, 1, 1]),
        # Three consumers stay, for one fewer is not two fewer.
        (slow_to_shrink, [0, 1, 0, 2, 1], [0, 1, 0, 2, 1]),
    ],
)
def test_a_policy_goes_by_its_rule(policy, owners, after) -> None:
    assert policy(RATES, owners, 100.0) == after


def test_no_number_of_consumers_takes_a_partition_beyond_their_capacity() -> None:
    with pytest.raises(ValueError, match=r"rate of 101\.0"):
        fewest_consumers([101.0], [None], 100.0)


def test_kafkas_own_gives_each_consumer_as_many_partitions() -> None:
    assert sorted(by_count(2, [0, 0, 0, 0])) == [0, 0, 1, 1]


def test_the_figures_of_two_steps_are_those_computed_by_hand() -> None:
    rates = [[60.0, 50.0], [80.0, 70.0]]
    assert figures(rates, [[0, 0], [0, 1]]) == Figures(1.5, 0.7, 5 / 110)


def test_rates_change_by_no_more_than_their_setting() -> None:
    rates = trace(10, 0, 50)
    steps = [
        abs(new - old) for before, after in pairwise(rates) for old, new in zip(before, after, strict=True)
    ]
    assert max(steps) <= 9.9
    assert 0 <= min(map(min, rates)) < max(map(max, rates)) <= 99


@pytest.mark.slow
def test_ours_has_fewer_consumers_and_moves_less_than_worst_fit_with_memory() -> None:
    of = run_policies(15, 0, 40)
    ours, theirs = of["ours, slow to shrink"], of["worst fit with memory"]
    assert ours.consumers < theirs.consumers
    assert ours.rebalanced < theirs.rebalanced
    assert ours.beyond == theirs.beyond == 0 < of["cooperative-sticky"].beyond
    assert "no more consumers in 1 of 1 settings, no more rebalanced in 1." in page({15: of}, 40, 1)
