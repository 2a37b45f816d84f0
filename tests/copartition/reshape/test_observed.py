"""Keys that are kept of a topic, and what groups have not read."""

import numpy as np
import pytest

from copartition.audit.topic_audit import Records
from copartition.reshape.observed import KeySample, waiting_records
from partitioning import key_column, partition_batch
from tests.support.tiers import sample


def records(offsets: list[int], partition: int = 0) -> Records:
    count = len(offsets)
    keys = key_column([f"key-{partition}-{offset}".encode() for offset in offsets])
    return Records(
        np.full(count, partition, np.int32), np.array(offsets, np.int64), np.zeros(count, np.int64), keys
    )


def test_thinning_keeps_every_key_with_one_probability() -> None:
    sample = KeySample(most=100)
    for batch in range(10):
        sample.add(records([*range(100 * batch, 100 * batch + 100)]))
    # 1,000 records by steps of 16: the first of each 16.
    assert [*sample._keys] == [f"key-0-{number}".encode() for number in range(0, 1_000, 16)]


@pytest.mark.parametrize("size", sample([100, 1, 7, 3, 999], 2))
def test_the_cut_into_batches_changes_nothing(size: int) -> None:
    whole, cut = KeySample(most=50), KeySample(most=50)
    whole.add(records([*range(999)]))
    for first in range(0, 999, size):
        cut.add(records([*range(first, min(first + size, 999))]))
    assert [*cut._keys] == [*whole._keys]


def test_gaps_are_offsets_without_a_record_between_neighbours() -> None:
    sample = KeySample()
    sample.add(records([0, 1, 3, 6]))
    sample.add(records([50_000, 50_001]))
    sample.add(records([9, 8_000]))
    assert sample.gaps == 3


def test_moves_count_from_the_partition_that_a_record_is_in() -> None:
    keys = [f"user-{number}".encode() for number in range(500)] + [None, b""]
    places = np.zeros(502, np.int32)
    sample = KeySample()
    sample.add(Records(places, np.arange(502), places.astype(np.int64), key_column(keys)))
    moves = sample.moves(1, 4, "java")
    placed = partition_batch(keys, 4)
    assert moves.moved == int((placed > 0).sum())
    assert moves.added == int((placed >= 1).sum())
    assert (moves.keyed, moves.keyless) == (501, 1)
    assert moves.largest == int(np.bincount(placed[placed >= 0]).max())


@pytest.mark.parametrize(
    ("bounds", "commits", "waiting"),
    [
        ({}, {}, 0),
        ({0: (0, 10)}, {0: 10}, 0),
        ({0: (0, 10), 1: (0, 5)}, {0: 4, 1: 5}, 6),
        ({0: (5, 5)}, {}, 0),
        ({0: (0, 10)}, {}, None),
        ({0: (6, 10)}, {0: 2}, 4),
        ({0: (0, 10)}, {0: 12}, 0),
    ],
)
def test_waiting_records(bounds, commits, waiting) -> None:
    assert waiting_records(bounds, commits) == waiting
