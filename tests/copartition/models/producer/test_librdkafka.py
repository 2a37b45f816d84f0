"""librdkafka's batches: the rules one by one, and in how many requests a real librdkafka sends records."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest
from confluent_kafka import Producer

from copartition.models import BatchingResult, BrokerTimes, LibrdkafkaSettings, simulate_librdkafka
from partitioning import TopicLayout, get_partitioner
from partitioning.errors import InvalidConfigError, InvalidLayoutError
from partitioning.record_size import (
    BATCH_OVERHEAD,
    payload_size,
    payload_sizes,
    record_size,
    record_sizes,
    varint_size,
    varint_sizes,
)
from partitioning.strategy import seeded_source
from partitioning.testing.mock_cluster import MockCluster

FAST = BrokerTimes(latency_ms=4.0)


def produce(
    records: int,
    partitions: int = 1,
    *,
    every_ms: float = 0.4,
    size: int = 512,
    broker: BrokerTimes = FAST,
    **settings: float,
) -> BatchingResult:
    """One producer, records round-robin over the partitions of one broker."""
    return simulate_librdkafka(
        np.arange(records) * every_ms,
        size,
        np.arange(records) % partitions,
        leaders=[0] * partitions,
        brokers=[broker],
        settings=LibrdkafkaSettings(**settings),  # type: ignore[arg-type]
    )


def test_every_record_is_in_exactly_one_batch_of_its_partition() -> None:
    result = produce(1_000, 7)
    np.testing.assert_array_equal(np.bincount(result.batch), result.records)
    np.testing.assert_array_equal(result.partition[result.batch], np.arange(1_000) % 7)


def test_a_request_has_one_batch() -> None:
    result = produce(160, 16, every_ms=0.01)
    assert result.requests == len(result.records) == 16


def test_a_batch_goes_when_its_first_record_has_lingered() -> None:
    result = produce(100, queue_buffering_max_ms=10, every_ms=1)
    first = np.unique(result.batch, return_index=True)[1]
    np.testing.assert_array_equal(result.sent_ms[:-1], result.appended_ms[first][:-1] + 10)
    assert result.records.tolist() == [11] * 9 + [1]


def test_so_many_records_go_at_once() -> None:
    result = produce(100, queue_buffering_max_ms=1_000, batch_num_messages=25)
    assert result.records.tolist() == [25] * 4
    assert result.latency_ms([100])[0] == pytest.approx(24 * 0.4 + 4)


def test_bytes_of_keys_and_values_make_a_batch_ready_which_then_takes_fewer_records() -> None:
    # 32 values of 512 bytes are 16,384; with what else is in a request, 30 fit at the most.
    result = produce(200, queue_buffering_max_ms=1_000, batch_size=16_384)
    assert result.sent_ms[0] == pytest.approx(31 * 0.4)
    assert result.records[0] < 32
    assert result.size.max() <= 16_384


@pytest.mark.parametrize(("spare", "records"), [(0, [2]), (-1, [1, 1])])
def test_a_record_has_to_fit_with_36_bytes_more(spare: int, records: list[int]) -> None:
    before = 60 + BATCH_OVERHEAD + record_size(payload_size(-1, 512), 0, 0)
    assert produce(2, batch_size=before + 512 + 36 + spare).records.tolist() == records


def test_a_record_larger_than_batch_size_goes_alone() -> None:
    assert produce(3, size=40_000, batch_size=16_384).records.tolist() == [1, 1, 1]


def test_with_one_in_flight_requests_do_not_overlap() -> None:
    result = produce(200, 4, queue_buffering_max_ms=0, max_in_flight_requests_per_connection=1)
    assert np.all(result.sent_ms[1:] >= result.acknowledged_ms[:-1])


def test_records_beyond_the_queue_are_refused() -> None:
    result = produce(500, every_ms=0.01, broker=BrokerTimes(latency_ms=100), queue_buffering_max_messages=300)
    assert result.timed_out == 200
    assert np.isnan(result.appended_ms[300:]).all()


def test_flush_sends_what_lingers() -> None:
    assert produce(10, queue_buffering_max_ms=60_000).latency_ms([100])[0] == pytest.approx(9 * 0.4 + 4)


def test_records_without_key_go_where_time_takes_them() -> None:
    strategy, expected = (
        get_partitioner("sticky-by-time", linger_ms=10, random=seeded_source(7)).for_topic("t")
        for _ in range(2)
    )
    times = np.arange(1_000) * 0.4
    result = simulate_librdkafka(times, 9, -1, leaders=[0] * 12, brokers=[FAST], unkeyed=strategy)
    placed = []
    for at_ms in times.tolist():
        expected.advance(at_ms)  # type: ignore[attr-defined]
        placed.append(expected.partition(None, TopicLayout(12)))
    np.testing.assert_array_equal(result.partition[result.batch], placed)


class Misled:
    """A strategy whose answer is no partition of the topic."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def partition(self, key: bytes | None, layout: TopicLayout) -> int:
        return self.answer  # type: ignore[return-value]

    def partition_batch(self, keys: object, layout: TopicLayout) -> np.typing.NDArray[np.int32]:
        return np.array([self.answer])


class MisledInTime(Misled):
    def advance(self, now_ms: float) -> None:
        pass


@pytest.mark.parametrize("name", ["sticky", "sticky-per-batch"])
def test_a_strategy_that_must_hear_of_more_than_time_is_refused(name: str) -> None:
    strategy = get_partitioner(name).for_topic("t")
    with pytest.raises(InvalidConfigError, match="must hear of bytes, queues or batches"):
        simulate_librdkafka([0.0], 9, -1, leaders=[0], brokers=[FAST], unkeyed=strategy)


@pytest.mark.parametrize("strategy", [Misled, MisledInTime])
@pytest.mark.parametrize("answer", [12, -1, 0.4, 1.9, "0"])
def test_an_answer_that_is_no_partition_of_the_topic_is_refused(
    strategy: type[Misled], answer: object
) -> None:
    with pytest.raises(InvalidLayoutError, match=rf"into partition .*{answer}\b.*; the topic has 0 to 2"):
        simulate_librdkafka([0.0], 9, -1, leaders=[0] * 3, brokers=[FAST], unkeyed=strategy(answer))


def test_a_record_above_message_max_bytes_is_refused() -> None:
    with pytest.raises(InvalidConfigError, match=r"record 0 has 2000 bytes.*MSG_SIZE_TOO_LARGE"):
        produce(2, size=2_000, message_max_bytes=1_000)


def test_no_records_make_no_requests() -> None:
    assert produce(0).requests == 0


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("queue_buffering_max_ms", -1),
        ("queue_buffering_max_ms", 900_001),
        ("batch_size", 0),
        ("batch_num_messages", 0),
        ("message_max_bytes", 999),
        ("max_in_flight_requests_per_connection", 0),
        ("queue_buffering_max_messages", 0),
    ],
)
def test_a_setting_that_librdkafka_refuses(setting: str, value: float) -> None:
    with pytest.raises(InvalidConfigError, match=f"{setting} is {value}"):
        LibrdkafkaSettings(**{setting: value})  # type: ignore[arg-type]


def test_columns_have_the_sizes_of_single_records() -> None:
    numbers = np.array([-1, 0, 1, 63, 64, 8191, 8192, 2**20, 2**31, 2**50])
    assert varint_sizes(numbers).tolist() == [varint_size(number) for number in numbers.tolist()]
    keys, values = np.array([-1, 0, 70]), np.array([5, -1, 9_000])
    payloads = payload_sizes(keys, values)
    assert payloads.tolist() == [payload_size(-1, 5), payload_size(0, -1), payload_size(70, 9_000)]
    offsets, ages = np.array([0, 64, 9_000]), np.array([0, 3, 70_000])
    assert record_sizes(payloads, offsets, ages).tolist() == [
        record_size(*record)
        for record in zip(payloads.tolist(), offsets.tolist(), ages.tolist(), strict=True)
    ]


@pytest.mark.live
@pytest.mark.slow
@pytest.mark.parametrize(
    ("records", "size", "settings"),
    [
        (500, 512, {"batch_size": 16_384}),
        (500, 100, {"batch_size": 16_384}),
        (200, 3_000, {"batch_size": 16_384}),
        (500, 1_467, {"batch_size": 16_384}),  # eleven fit to the byte
        (500, 1_468, {"batch_size": 16_384}),
        (40, 20_000, {"batch_size": 16_384}),
        (500, 10, {"batch_num_messages": 30}),
        (2_000, 512, {}),
    ],
)
def test_a_real_librdkafka_makes_as_many_requests(records: int, size: int, settings: dict[str, int]) -> None:
    topic = "t" * 20
    told: list[int] = []
    config = {name.replace("_", "."): value for name, value in settings.items()}
    with MockCluster() as cluster:
        cluster.create_topic(topic, 1)
        producer = Producer(
            config
            | {
                "bootstrap.servers": cluster.bootstrap_servers,
                "linger.ms": 5_000,
                "statistics.interval.ms": 100,
                "stats_cb": lambda text: told.append(
                    sum(broker["req"].get("Produce", 0) for broker in json.loads(text)["brokers"].values())
                ),
            }
        )
        producer.produce(topic, b"", partition=0)  # so that the connection is up
        producer.flush()
        for _ in range(records):
            producer.produce(topic, bytes(size), partition=0)
        producer.flush()
        sent = time.monotonic()
        while time.monotonic() < sent + 0.3:
            producer.poll(0.1)
    expected = produce(records, every_ms=0.001, size=size, queue_buffering_max_ms=5_000, **settings)  # type: ignore[arg-type]
    assert told[-1] - 1 == expected.requests
