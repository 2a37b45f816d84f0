"""How many keys it takes, before a verdict is believed."""

import numpy as np
import pytest

from copartition.audit.search import RISK, Trials, keys_needed, surprise
from copartition.audit.topic_audit import Writer
from partitioning.errors import InvalidConfigError, InvalidPartitionCountError, UnknownStrategyError
from tests.copartition.audit.written import Written
from tests.support.tiers import sample


def writer(profile: str, num_partitions: int) -> Writer:
    trials = Trials(num_partitions, counts=[num_partitions])
    writers = (trials.writer(rule, num_partitions) for rule in trials.rules(num_partitions))
    return next(candidate for candidate in writers if profile in candidate.same_rule)


@pytest.mark.parametrize(
    ("agreeing", "tried", "keys"),
    [(1 / 2, 1, 20), (1 / 2, 1000, 30), (1 / 12, 1, 6), (1 / 12, 106, 8), (1, 1, None), (0, 9, 1)],
)
def test_keys_needed(agreeing: float, tried: int, keys: int | None) -> None:
    assert keys_needed(agreeing, tried) == keys
    if keys is not None and agreeing:
        assert agreeing**keys * tried <= RISK < agreeing ** (keys - 1) * tried


@pytest.mark.parametrize("num_partitions", sample([12, 2, 3, 100], 4))
def test_sure_is_never_said_below_the_power_of_the_data(num_partitions: int) -> None:
    needed = keys_needed(1 / num_partitions, len(Trials(num_partitions)))
    assert needed is not None
    said = {
        keys: {
            Written(num_partitions, seed=seed).by("java", num_partitions, 40 * keys, keys).audit().certainty
            for seed in sample(range(5), 3)
        }
        for keys in (needed - 1, 4 * needed)
    }
    assert said == {needed - 1: {"unknown"}, 4 * needed: {"sure"}}


@pytest.mark.parametrize("num_partitions", [2, 3, 12])
@pytest.mark.parametrize("keys", [5, 20, 60, 300])
def test_places_by_chance_are_never_a_writers(num_partitions: int, keys: int) -> None:
    for seed in sample(range(20), 20):
        random = np.random.default_rng(seed)
        names = [b"key-%d" % number for number in random.integers(0, 10**9, keys)]
        topic = Written(num_partitions).at(names, random.integers(0, num_partitions, keys).tolist())
        assert topic.audit().certainty in {"unknown", "none"}


@pytest.mark.parametrize(
    ("hits", "keys", "chance", "least"), [(10, 10, 0.5, 6.93), (5, 10, 0.5, 0), (0, 10, 0.5, 0), (9, 9, 1, 0)]
)
def test_surprise_is_the_logarithm_of_a_bound(hits: int, keys: int, chance: float, least: float) -> None:
    assert surprise(hits, keys, chance) == pytest.approx(least, abs=0.01)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((0,), InvalidPartitionCountError),
        ((4, ["jafa"]), UnknownStrategyError),
        ((4, []), InvalidConfigError),
        ((4, None, []), InvalidConfigError),
        ((4, None, [0]), InvalidPartitionCountError),
    ],
)
def test_trials_that_make_no_sense_are_refused(arguments: tuple[object, ...], error: type[Exception]) -> None:
    with pytest.raises(error):
        Trials(*arguments)  # type: ignore[arg-type]
