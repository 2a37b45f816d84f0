"""Batches, requests and waits that a stream of records becomes."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from copartition.models import BatchingResult, BatchingSettings, BrokerTimes, simulate_batching
from partitioning import TopicLayout, get_partitioner
from partitioning.errors import InvalidConfigError, InvalidLayoutError
from partitioning.record_size import payload_size, record_size, varint_size
from partitioning.strategy import seeded_source
from tests.support.tiers import sample

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from partitioning import TopicPartitioner
    from partitioning.keys import Keys

FAST = BrokerTimes(latency_ms=5.0)
# A broker near its limit: round-robin's one batch a record takes most of its time.
BUSY = BrokerTimes(latency_ms=2.0, request_ms=0.5, batch_ms=1.0)


def produce(
    records: int,
    partitions: int,
    *,
    every_ms: float = 0.4,
    size: int = 512,
    broker: BrokerTimes = FAST,
    **settings: float,
) -> BatchingResult:
    """One producer, records round-robin over the partitions of one broker."""
    return simulate_batching(
        np.arange(records) * every_ms,
        size,
        np.arange(records) % partitions,
        leaders=[0] * partitions,
        brokers=[broker],
        settings=BatchingSettings(**settings),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("value", "size"),
    [(0, 1), (-1, 1), (63, 1), (-64, 1), (64, 2), (-65, 2), (8191, 2), (8192, 3), (2**31, 5)],
)
def test_varint_size(value: int, size: int) -> None:
    assert varint_size(value) == size


def test_a_record_of_known_size() -> None:
    # length, attributes, timestamp, offset, key length, key, value length, value, header count
    assert record_size(payload_size(3, 10), 0, 0) == 1 + 1 + 1 + 1 + 1 + 3 + 1 + 10 + 1


def test_every_record_is_in_exactly_one_batch() -> None:
    result = produce(1_000, 7)
    np.testing.assert_array_equal(np.bincount(result.batch), result.records)


def test_no_batch_outgrows_batch_size() -> None:
    result = produce(3_000, 2, every_ms=0.01, linger_ms=50)
    assert result.size.max() <= 16_384
    assert result.size.max() + record_size(payload_size(-1, 512), 31, 1) > 16_384


def test_a_record_larger_than_a_batch_has_one_of_its_own() -> None:
    result = produce(3, 1, size=40_000, linger_ms=10)
    assert result.records.tolist() == [1, 1, 1]
    assert result.size.min() > 40_000


@pytest.mark.parametrize(("partitions", "published_ms"), sample([(16, 205), (64, 819), (128, 1638)], 3))
def test_round_robin_waits_until_every_partition_has_a_full_batch(
    partitions: int, published_ms: float
) -> None:
    # 512-byte records, 2,500 a second: the published fill time of 32; with overhead a batch holds 31.
    result = produce(10_000, partitions, linger_ms=10_000)
    assert result.wait_ms([99])[0] == pytest.approx(published_ms, rel=0.05)


def sticky(batch_size: int = 16_384) -> TopicPartitioner:
    return get_partitioner("sticky", batch_size=batch_size, random=seeded_source(7)).for_topic("orders")


def unkeyed(
    records: int, partitions: int, strategy: TopicPartitioner, broker: BrokerTimes, **settings: float
) -> BatchingResult:
    """512-byte records without a key, 2,500 a second, over three brokers."""
    return simulate_batching(
        np.arange(records) * 0.4,
        512,
        -1,
        leaders=[partition % 3 for partition in range(partitions)],
        brokers=[broker] * 3,
        unkeyed=strategy,
        settings=BatchingSettings(**settings),  # type: ignore[arg-type]
    )


@cache
def stuck(partitions: int) -> BatchingResult:
    """What sticks to a partition until a batch is full, with a second of linger."""
    return unkeyed(5_000, partitions, sticky(), FAST, linger_ms=1_000)


@pytest.mark.parametrize("partitions", sample([16, 64, 128], 2))
def test_sticky_waits_for_one_batch_whatever_the_partition_count(partitions: int) -> None:
    result = stuck(partitions)
    assert result.wait_ms([99])[0] == pytest.approx(12.8, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("partitions", [16, 64, 128])
def test_sticky_takes_half_the_latency_or_less_without_linger(partitions: int) -> None:
    round_robin = get_partitioner("round-robin").for_topic("orders")
    sticks, turns = (
        unkeyed(10_000, partitions, strategy, BUSY, linger_ms=0).latency_ms([99])[0]
        for strategy in (sticky(), round_robin)
    )
    assert turns > 2 * sticks


def test_sticky_takes_a_fifth_of_the_latency_or_less_with_a_second_of_linger() -> None:
    round_robin = get_partitioner("round-robin").for_topic("orders")
    turns = unkeyed(5_000, 16, round_robin, FAST, linger_ms=1_000)
    assert turns.latency_ms([99])[0] > 5 * stuck(16).latency_ms([99])[0]


def test_sticky_per_batch_goes_to_another_partition_with_each_batch() -> None:
    strategy = get_partitioner("sticky-per-batch", random=seeded_source(7)).for_topic("orders")
    result = unkeyed(5_000, 12, strategy, FAST, linger_ms=20)
    opened = result.partition[np.argsort(result.appended_ms[np.unique(result.batch, return_index=True)[1]])]
    assert set(opened.tolist()) == set(range(12))
    assert np.all(opened[1:] != opened[:-1])


def test_a_keyed_record_that_opens_a_batch_moves_sticky_per_batch_on() -> None:
    strategy = get_partitioner("sticky-per-batch", random=seeded_source(7)).for_topic("orders")
    stuck = strategy.partition(None, TopicLayout(12))
    simulate_batching([0.0], 9, [stuck], leaders=[0] * 12, brokers=[FAST], unkeyed=strategy)
    assert strategy.partition(None, TopicLayout(12)) != stuck


@pytest.mark.heavy
def test_round_robin_that_is_asked_twice_uses_half_of_the_partitions() -> None:
    used = {
        double: set(
            unkeyed(
                5_000,
                12,
                get_partitioner("round-robin", double_advance=double, order="ascending").for_topic("orders"),
                FAST,
                linger_ms=0,
            ).partition.tolist()
        )
        for double in (False, True)
    }
    assert used == {False: set(range(12)), True: set(range(1, 12, 2))}


def test_sticky_by_time_moves_with_the_records_clock() -> None:
    strategy = get_partitioner("sticky-by-time", linger_ms=10, random=seeded_source(7)).for_topic("orders")
    expected = get_partitioner("sticky-by-time", linger_ms=10, random=seeded_source(7)).for_topic("orders")
    result = unkeyed(1_000, 12, strategy, FAST)
    layout, placed = TopicLayout(12), []
    for time in (np.arange(1_000) * 0.4).tolist():
        expected.advance(time)  # type: ignore[attr-defined]
        placed.append(expected.partition(None, layout))
    np.testing.assert_array_equal(result.partition[result.batch], placed)
    assert len(set(placed)) > 6


class Misled:
    """A strategy that answers what it is made with."""

    def __init__(self, partition: object) -> None:
        self.answer = partition

    def partition(self, key: bytes | None, layout: TopicLayout) -> int:
        return self.answer  # type: ignore[return-value]

    def partition_batch(self, keys: Keys, layout: TopicLayout) -> NDArray[np.int32]:
        raise AssertionError


class Torn(Misled):
    """One that wants to hear of bytes and of batches."""

    def peek(self, layout: TopicLayout) -> int:
        return 0

    def note_append(self, size: int, layout: TopicLayout, *, enable_switch: bool) -> None:
        pass

    def new_batch(self, partition: int, layout: TopicLayout) -> None:
        pass


class Balancing(Misled):
    """One that hears of queues, and of nothing else."""

    told = 0

    def update_load(self, queue_sizes: Mapping[int, int] | None, layout: TopicLayout) -> None:
        self.told += 1


def test_a_strategy_hears_of_queues_though_it_counts_no_bytes() -> None:
    strategy = Balancing(3)
    unkeyed(10, 12, strategy, FAST)
    assert strategy.told


@pytest.mark.parametrize(
    ("strategy", "error", "words"),
    [
        (Torn(0), InvalidConfigError, r"Torn counts bytes .* leave the other out"),
        (Misled(12), InvalidLayoutError, "into partition 12; the topic has 0 to 11"),
        (Misled(-1), InvalidLayoutError, "into partition -1"),
        (Misled(0.4), InvalidLayoutError, "into partition 0.4"),
        (Misled(1.9), InvalidLayoutError, "into partition 1.9"),
        (Misled("0"), InvalidLayoutError, "into partition '0'"),
        (Misled(True), InvalidLayoutError, "into partition True"),
    ],
)
def test_a_strategy_that_no_producer_serves(
    strategy: TopicPartitioner, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        unkeyed(10, 12, strategy, FAST)


def test_keyed_records_do_not_care_for_the_strategy_of_the_others() -> None:
    placed = np.arange(1_000) % 16
    both = [
        simulate_batching(
            np.arange(1_000) * 0.4, 512, placed, leaders=[0] * 16, brokers=[FAST], unkeyed=strategy
        )
        for strategy in (sticky(), None)
    ]
    np.testing.assert_array_equal(both[0].acknowledged_ms, both[1].acknowledged_ms)


@pytest.mark.parametrize("linger_ms", sample([5.0, 50.0], 2))
def test_linger_bounds_the_wait(linger_ms: float) -> None:
    result = produce(2_000, 128, linger_ms=linger_ms)
    assert result.wait_ms([100])[0] <= linger_ms + 1e-9


def test_a_request_takes_the_first_batch_of_every_partition_of_its_broker() -> None:
    result = produce(160, 16, linger_ms=1_000, every_ms=0.01)
    assert result.requests == 1
    assert sorted(result.partition.tolist()) == list(range(16))


def test_max_request_size_splits_a_request() -> None:
    result = produce(160, 16, linger_ms=1_000, every_ms=0.01, max_request_size=20_000)
    sizes = np.bincount(result.request, weights=result.size)
    assert result.requests > 1
    assert sizes.max() <= 20_000


def test_with_one_in_flight_requests_do_not_overlap() -> None:
    result = produce(200, 1, linger_ms=0, max_in_flight_requests_per_connection=1)
    first = np.unique(result.request, return_index=True)[1]
    assert np.all(result.sent_ms[first][1:] >= result.acknowledged_ms[first][:-1])


def test_a_slow_broker_fills_batches() -> None:
    quick = produce(1_000, 1, linger_ms=0, broker=BrokerTimes(latency_ms=1))
    slow = produce(1_000, 1, linger_ms=0, broker=BrokerTimes(latency_ms=50))
    assert slow.records_per_batch > 5 * quick.records_per_batch


def test_without_memory_send_blocks_and_nothing_is_lost() -> None:
    result = produce(500, 4, every_ms=0.01, broker=BrokerTimes(latency_ms=100), buffer_memory=65_536)
    assert result.blocked_ms > 0
    assert result.timed_out == 0


def test_send_gives_up_after_max_block_ms() -> None:
    result = produce(
        500, 4, every_ms=0.01, broker=BrokerTimes(latency_ms=500), buffer_memory=65_536, max_block_ms=100
    )
    assert result.timed_out > 0
    assert np.isnan(result.appended_ms[result.batch < 0]).all()
    assert result.records.sum() + result.timed_out == 500


def test_no_records_make_no_batches() -> None:
    result = produce(0, 1)
    assert (result.requests, result.records_per_batch, result.timed_out) == (0, 0.0, 0)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"partitions": [0, 9]}, InvalidLayoutError, "record 1 goes to partition 9, but the topic has 2"),
        ({"partitions": [-1, 0]}, InvalidLayoutError, "give `unkeyed`"),
        ({"leaders": [0, 3]}, InvalidLayoutError, "partition 1 has leader 3"),
        ({"times_ms": [1.0, 0.5]}, InvalidConfigError, "record 1 comes before"),
        ({"value_bytes": 2_000_000}, InvalidConfigError, "RecordTooLargeException"),
        ({"times_ms": [0.0, float("nan")]}, InvalidConfigError, "time of record 1 is nan"),
        ({"times_ms": [0.0, float("inf")]}, InvalidConfigError, "time of record 1 is inf"),
        ({"times_ms": [[0.0], [1.0]]}, InvalidConfigError, "times_ms has 2 dimensions"),
        ({"times_ms": ["noon", 1.0]}, InvalidConfigError, "times_ms: could not convert"),
        ({"times_ms": [-1.0, 0.0]}, InvalidConfigError, "time of record 0 is -1.0"),
        ({"value_bytes": -2}, InvalidConfigError, "lowest of value_bytes is -2"),
        ({"key_bytes": [0, -2]}, InvalidConfigError, "lowest of key_bytes is -2"),
        ({"value_bytes": float("nan")}, InvalidConfigError, "value_bytes is of type float64"),
        ({"partitions": [0, 2**70]}, InvalidConfigError, "partitions is of type object"),
        ({"partitions": [0, 1, 0]}, InvalidConfigError, "one for each of 2 records"),
    ],
)
def test_bad_input(change: dict[str, object], error: type[Exception], words: str) -> None:
    good = {
        "times_ms": [0.0, 1.0],
        "value_bytes": 10,
        "partitions": [0, 1],
        "leaders": [0, 0],
        "brokers": [FAST],
    }
    with pytest.raises(error, match=words):
        simulate_batching(**{**good, **change})  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf")])
@pytest.mark.parametrize(
    "setting", [field.name for field in fields(BatchingSettings) if field.type is not bool]
)
def test_a_setting_that_is_negative_or_not_finite_is_refused(setting: str, value: float) -> None:
    with pytest.raises(InvalidConfigError, match=f"{setting} is {value}"):
        BatchingSettings(**{setting: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        *product(["latency_ms", "request_ms", "batch_ms"], [-1, float("nan"), float("inf")]),
        *product(["bytes_per_ms"], [0, -1, float("nan")]),
    ],
)
def test_a_broker_that_takes_no_such_time_is_refused(setting: str, value: float) -> None:
    with pytest.raises(InvalidConfigError, match=f"{setting} is {value}"):
        BrokerTimes(**{setting: value})
