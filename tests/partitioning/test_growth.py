"""What moves when a topic grows."""

import numpy as np
import pytest

from partitioning import expected_share, grow, partition_for_key
from partitioning.errors import InvalidPartitionCountError

KEYS = [b"user-%d" % number for number in range(20_000)]


@pytest.mark.parametrize(
    ("before", "after", "share"),
    [(6, 12, 0.5), (12, 13, 12 / 13), (12, 16, 0.75), (50, 60, 5 / 6), (100, 1000, 0.9), (7, 7, 0.0)],
)
def test_the_share_follows_the_law(before: int, after: int, share: float) -> None:
    assert expected_share(before, after) == pytest.approx(share)
    assert grow(KEYS, before, after).share == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize("profile", ["java", "librdkafka", "sarama"])
def test_exactly_the_keys_that_move_are_marked(profile: str) -> None:
    places = [[partition_for_key(key, count, profile=profile) for count in (12, 16)] for key in KEYS[:500]]
    moved = grow(KEYS[:500], 12, 16, profile=profile).moved
    np.testing.assert_array_equal(moved, [old != new for old, new in places])


def test_records_without_a_key_neither_move_nor_count() -> None:
    growth = grow([None, b"key", None], 12, 13)
    assert (growth.keyed, growth.moved[0], growth.moved[2]) == (1, False, False)


def test_the_share_is_that_of_records_with_a_key() -> None:
    growth = grow([None] * 300 + KEYS[:100], 12, 13)
    assert growth.share == growth.moving / 100


def test_no_keys_move_no_share() -> None:
    assert grow([None], 1, 2).share == 0.0


def test_the_warning_names_share_and_consequence() -> None:
    warning = grow(KEYS, 12, 16).warning
    assert "from 12 to 16 partitions" in warning
    assert "75.0% of a uniform hash" in warning
    assert "order within such a key" in warning


def test_nothing_to_warn_of_when_nothing_moves() -> None:
    assert "moves none" in grow(KEYS, 12, 12).warning


@pytest.mark.parametrize(("before", "after"), [(12, 6), (0, 12), (1, 2**31)])
def test_a_topic_only_grows(before: int, after: int) -> None:
    with pytest.raises(InvalidPartitionCountError):
        grow(KEYS, before, after)
