import uuid

import numpy as np
import pytest

from partitioning import java
from partitioning.java.hash_codes import rank, spread, spread_hash
from partitioning.topic_partition import TopicPartition


def test_uuid_hash_is_the_two_halves_folded():
    assert java.uuid_hash(uuid.UUID(int=1)) == 1
    assert java.uuid_hash(uuid.UUID(int=0xFFFFFFFF << 64)) == -1


@pytest.mark.parametrize(
    ("key", "code"),
    [
        ("polygenelubricants", -(2**31)),
        ("topic1", java.string_hash("topic1")),
        (7, 7),
        (-1, -1),
        (uuid.UUID(int=0xFFFFFFFF << 64), -1),
        (
            TopicPartition("topic1", 7),
            java.topic_partition_hashes(java.string_hashes(["topic1"]), [7]).item(),
        ),
        (TopicPartition("polygenelubricants", 2**31 - 1), 31 * (31 + 2**31 - 1) - 2**31 & 0xFFFFFFFF),
    ],
)
def test_the_hash_of_a_key_is_spread_as_a_column_of_them_is(key, code):
    assert spread_hash(key) == spread(np.array([code], np.int64).astype(np.int32))


@pytest.mark.parametrize(
    "ascending",
    [
        ["\U0001f600", "\uff5e"],  # by UTF-16 code unit
        [-1, 0, 1],
        [uuid.UUID(int=1 << 127), uuid.UUID(int=1 << 63), uuid.UUID(int=0), uuid.UUID(int=1 << 64)],  # signed
    ],
)
def test_keys_that_java_compares_rank_as_there(ascending):
    assert sorted(ascending, key=rank) == ascending


def test_java_cannot_compare_partitions():
    assert rank(TopicPartition("a", 0)) == rank(TopicPartition("b", 1))
