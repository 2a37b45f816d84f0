from collections import Counter

import numpy as np
import pytest

from copartition.audit.ranges import count_hits, explained_ranges, merge_blocks
from copartition.audit.topic_audit import Records
from partitioning import partition_batch
from partitioning.keys import key_column
from tests.support.tiers import sample

COUNTS = (4, 6, 8, 12)
CANDIDATES = [(profile, count) for profile in ("java", "librdkafka") for count in COUNTS]


def number_of(profile: str, num_partitions: int) -> int:
    return (profile == "librdkafka") * len(COUNTS) + COUNTS.index(num_partitions)


class Topic:
    """A topic written by one client after another."""

    def __init__(self, seed: int = 1) -> None:
        self._random = np.random.default_rng(seed)
        self.partition: list[int] = []
        self.offset: list[int] = []
        self.key: list[bytes] = []
        self._ends: Counter[int] = Counter()

    def write(self, profile: str, num_partitions: int, rows: int) -> "Topic":
        keys = [b"user-%d" % number for number in self._random.integers(0, 5000, rows)]
        return self.write_at(keys, partition_batch(keys, num_partitions, profile=profile).tolist())

    def write_at(self, keys: list[bytes], partitions: list[int]) -> "Topic":
        for key, partition in zip(keys, partitions, strict=True):
            self.offset.append(self._ends[partition])
            self._ends[partition] += 1
            self.partition.append(partition)
            self.key.append(key)
        return self

    def blocks(self, limit: int = 1000, batch: int = 700):
        """Counted in batches of rows in any order."""
        order = self._random.permutation(len(self.key))
        found, shift = None, 0
        for rows in np.split(order, range(batch, len(order), batch)):
            keys = [self.key[row] for row in rows]
            places = np.array(self.partition)[rows]
            keyed = np.array([key != b"" for key in keys])
            hits = [keyed & (partition_batch(keys, n, profile=name) == places) for name, n in CANDIDATES]
            records = Records(places, np.array(self.offset)[rows], np.full(len(rows), -1), key_column(keys))
            part = count_hits(records, np.stack(hits, axis=1))
            found, shift = merge_blocks([part] if found is None else [found, part], shift, limit)
        return found

    def ranges(self, limit: int = 1000):
        return list(explained_ranges(self.blocks(limit), [count for _, count in CANDIDATES]))


def candidates(found) -> dict[int, list[int]]:
    """The candidates of each partition, in the order of offsets."""
    by_partition: dict[int, list[int]] = {}
    for span in found:
        by_partition.setdefault(span.partition, []).append(span.candidate)
    return by_partition


@pytest.mark.parametrize("limit", sample([12, 50, 100_000], 3))
@pytest.mark.parametrize(("profile", "num_partitions"), [("java", 6), ("java", 12), ("librdkafka", 8)])
def test_one_writer_is_one_range_a_partition(profile: str, num_partitions: int, limit: int) -> None:
    topic = Topic().write(profile, num_partitions, 2000)
    found = topic.ranges(limit)
    assert candidates(found) == {p: [number_of(profile, num_partitions)] for p in range(num_partitions)}
    for span in found:
        size = topic.partition.count(span.partition)
        assert (span.first, span.last, span.rows, span.explained, span.missed) == (
            0,
            size - 1,
            size,
            size,
            [],
        )


# To a count that is no multiple, to one that has a divisor in common, and to multiples.
@pytest.mark.parametrize(("before", "after"), sample([(6, 8), (6, 12), (8, 12), (4, 12)], 2))
@pytest.mark.parametrize("limit", sample([100, 1000, 100_000], 3))
def test_growth_is_found_at_its_offset(limit: int, before: int, after: int) -> None:
    topic = Topic().write("java", before, 3000)
    grown_at = [topic.partition.count(partition) for partition in range(before)]
    found = topic.write("java", after, 3000).ranges(limit)
    old, new = number_of("java", before), number_of("java", after)
    assert candidates(found) == {p: [old, new] if p < before else [new] for p in range(after)}
    for span in found:
        assert span.explained == span.rows == span.last - span.first + 1
        if span.partition < before:
            boundary = span.last + 1 if span.candidate == old else span.first
            # A few rows next to the boundary may be explained by both; of a multiple, a block of rows.
            bound = 10 if after % before else 64
            assert abs(boundary - grown_at[span.partition]) < bound


@pytest.mark.heavy
def test_three_writers_in_turn_are_three_ranges() -> None:
    found = Topic().write("java", 6, 3000).write("java", 8, 3000).write("librdkafka", 12, 3000).ranges()
    turns = [number_of("java", 6), number_of("java", 8), number_of("librdkafka", 12)]
    assert candidates(found)[0] == turns
    assert candidates(found)[7] == turns[1:]
    assert candidates(found)[11] == turns[2:]


def test_a_few_rows_elsewhere_are_named_and_cut_nothing() -> None:
    topic = Topic().write("java", 6, 1000)
    key = topic.key[topic.partition.index(3)]
    topic.write_at([key] * 3, [4] * 3).write("java", 6, 1000)
    found = {span.partition: span for span in topic.ranges(100_000)}
    assert {p: span.candidate for p, span in found.items()} == dict.fromkeys(range(6), number_of("java", 6))
    strays = [
        at for at, p, k in zip(topic.offset, topic.partition, topic.key, strict=True) if (p, k) == (4, key)
    ]
    assert found[4].missed == strays
    assert found[4].rows - found[4].explained == 3


@pytest.mark.heavy
def test_writers_at_the_same_time_are_one_range_that_explains_half() -> None:
    topic = Topic()
    for _ in range(100):
        topic.write("java", 6, 30).write("librdkafka", 6, 30)
    found = topic.ranges()
    assert len(found) == 6
    assert all(0.4 < span.explained / span.rows < 0.75 for span in found)


def test_rows_without_a_key_are_no_evidence() -> None:
    topic = Topic().write("java", 6, 600).write_at([b""] * 60, [n % 6 for n in range(60)])
    found = topic.ranges()
    assert candidates(found) == {p: [number_of("java", 6)] for p in range(6)}
    assert [(span.keyless, span.rows - span.explained) for span in found] == [(10, 10)] * 6


def test_a_partition_with_hardly_a_row_follows_the_topic() -> None:
    topic = Topic().write("librdkafka", 12, 1000)
    only = [
        b"user-%d" % n
        for n in range(100)
        if partition_batch([b"user-%d" % n], 12, profile="librdkafka")[0] == 0
    ]
    found = Topic().write_at(only[:1], [0]).write_at(topic.key, [p or 1 for p in topic.partition]).ranges()
    assert found[0].candidate == number_of("librdkafka", 12)


def test_blocks_do_not_depend_on_the_order_of_rows_or_on_batches() -> None:
    topic = Topic().write("java", 8, 2000)
    one, other = topic.blocks(limit=100, batch=2000), topic.blocks(limit=100, batch=2000)
    for column, again in zip(one, other, strict=True):
        np.testing.assert_array_equal(column, again)
