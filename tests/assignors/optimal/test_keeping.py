"""The fewest moves are the fewest: held to brute force and to another solver."""

import numpy as np
import pytest

from assignors.optimal.keeping import most_kept
from tests.assignors.optimal.solver import brute_most_kept, random_group, solved_most_kept
from tests.support.tiers import examples


def bounds(rng, partitions, members):
    """Bounds on loads that most groups can meet, some only just."""
    fair = partitions / members
    return int(rng.integers(0, int(fair) + 1)), int(np.ceil(fair)) + int(rng.integers(0, 3))


@pytest.mark.parametrize("equal", [True, False])
def test_as_brute_force_on_tiny_groups(equal):
    rng = np.random.default_rng(15)
    answers = []
    for _ in range(examples(2_000)):
        group = random_group(rng, members=4, topics=4, partitions=8, equal=equal)
        low, high = bounds(rng, len(group[0]), len(group[2]))
        expected = brute_most_kept(*group, low, high)
        assert most_kept(*group, low, high) == expected, (group, low, high)
        answers.append(expected)
    assert 0.1 < answers.count(None) / len(answers) < 0.8  # both kinds of groups are met


@pytest.mark.heavy
def test_as_a_linear_program_on_medium_groups():
    rng = np.random.default_rng(16)
    moved = 0
    for number in range(examples(200)):
        group = random_group(rng, members=25, topics=12, partitions=300, equal=number % 4 == 0, fewest=1)
        low, high = bounds(rng, len(group[0]), len(group[2]))
        expected = solved_most_kept(*group, low, high)
        assert most_kept(*group, low, high) == expected, (group, low, high)
        moved += expected is not None and expected < np.count_nonzero(group[1] >= 0)
    assert moved > examples(200) // 4


@pytest.mark.parametrize(
    ("subscriptions", "low", "high", "kept"),
    [
        ([], 0, 0, 0),
        ([], 1, 1, 0),
        ([frozenset()], 0, 0, 0),
        ([frozenset()], 1, 2, None),
        ([frozenset({0}), frozenset({7})], 0, 3, 3),
        ([frozenset({0}), frozenset({7})], 1, 3, None),
        ([frozenset({0}), frozenset({0})], 1, 2, 2),
        ([frozenset({0}), frozenset({0})], 2, 1, None),
        ([np.array([0, 7]), np.array([0])], -1, 2, 2),
    ],
)
def test_odd_groups(subscriptions, low, high, kept):
    topic, holder = np.zeros(3, np.int64), np.zeros(3, np.int64)
    assert most_kept(topic, holder if subscriptions else holder - 1, subscriptions, low, high) == kept


def test_holders_that_no_longer_read_a_topic_keep_nothing_of_it():
    topic, holder = np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1])
    assert most_kept(topic, holder, [frozenset({1}), frozenset({0, 1})], 0, 4) == 2


def test_of_a_large_group_members_keep_what_they_have_up_to_their_share():
    topic = np.repeat(np.arange(100), 1_000)
    holder = np.random.default_rng(15).integers(0, 2_000, len(topic))
    kept = most_kept(topic, holder, [frozenset(range(100))] * 2_000, 50, 50)
    assert kept == np.minimum(np.bincount(holder, minlength=2_000), 50).sum()


def test_two_thousand_members_may_have_a_subscription_each():
    rng = np.random.default_rng(15)
    topic = np.repeat(np.arange(500), 200)
    subscriptions = [frozenset(rng.choice(500, 30, replace=False).tolist()) for _ in range(2_000)]
    holder = rng.integers(0, 2_000, len(topic))
    assert most_kept(topic, holder, subscriptions, 50, 50) is not None
