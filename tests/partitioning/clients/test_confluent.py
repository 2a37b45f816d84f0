import random
import re
import subprocess
import sys
import threading
import time

import pytest
from confluent_kafka import Producer

from partitioning.clients.confluent import PartitioningProducer
from partitioning.errors import InvalidConfigError, MisplacedRecordError, UnknownStrategyError
from tests.partitioning.clients.clusters import Cluster
from tests.partitioning.clients.producers import producer_for
from tests.partitioning.clients.strategies import CountsBytes, InTurn, Strategy, by_first_byte, last
from tests.support.records import partition_of_each_key, produce_by_librdkafka, read
from tests.support.waiting import GENEROUS_S

SOURCE = random.Random(0)
KEYS = [SOURCE.randbytes(length) for length in range(4, 41) for _ in range(10)]


@pytest.mark.parametrize(
    ("profile", "partitioner"),
    [("java", "murmur2_random"), ("librdkafka", "consistent_random"), ("sarama", "fnv1a_random")],
)
def test_a_profile_places_keys_where_its_client_does(
    cluster: Cluster, profile: str, partitioner: str
) -> None:
    ours, theirs = cluster.create_topic(12), cluster.create_topic(12)
    producer = producer_for(cluster, profile)
    for key in KEYS:
        producer.produce(ours, b"value", key)
    assert producer.flush(GENEROUS_S) == 0
    produce_by_librdkafka(cluster.bootstrap_servers, theirs, KEYS, partitioner)
    servers = cluster.bootstrap_servers
    assert partition_of_each_key(servers, ours, len(KEYS)) == partition_of_each_key(
        servers, theirs, len(KEYS)
    )


def test_a_plug_in_places_records(cluster: Cluster) -> None:
    topic = cluster.create_topic(7)
    producer = producer_for(cluster, Strategy(by_first_byte))
    for key in KEYS:
        producer.produce(topic, b"value", key)
    assert producer.flush(GENEROUS_S) == 0
    placed = partition_of_each_key(cluster.bootstrap_servers, topic, len(KEYS))
    assert placed == {key: key[0] % 7 for key in KEYS}


def test_the_whole_record_arrives(cluster: Cluster) -> None:
    topic = cluster.create_topic(2)
    producer = producer_for(cluster, Strategy(last))
    producer.produce(topic, "größe", "key", headers={"name": b"value"}, timestamp=1_700_000_000_000)
    producer.flush(GENEROUS_S)
    [message] = read(cluster.bootstrap_servers, topic, 1)
    assert (message.key(), message.value()) == (b"key", "größe".encode())
    assert (message.headers(), message.timestamp()[1]) == ([("name", b"value")], 1_700_000_000_000)


def test_an_explicit_partition_wins(cluster: Cluster) -> None:
    topic = cluster.create_topic(3)
    strategy = Strategy(last)
    producer = producer_for(cluster, strategy)
    producer.produce(topic, b"value", b"key", 1)
    producer.flush(GENEROUS_S)
    assert [message.partition() for message in read(cluster.bootstrap_servers, topic, 1)] == [1]
    assert strategy.topics == []


def test_the_strategy_sees_the_bytes_that_are_sent(mocked: Cluster) -> None:
    keys: list[bytes | None] = []
    producer = producer_for(mocked, Strategy(lambda key, _: keys.append(key) or 0))
    topic = mocked.create_topic(1)
    for key in ("größe", b"\xff", "", b"", None):
        producer.produce(topic, b"", key)
    assert keys == ["größe".encode(), b"\xff", b"", b"", None]
    producer.flush(GENEROUS_S)


def test_each_topic_has_its_own_state_and_count(mocked: Cluster) -> None:
    strategy = Strategy(last)
    producer = producer_for(mocked, strategy)
    one, other = mocked.create_topic(2), mocked.create_topic(5)
    placed = []
    for topic in (one, other, one):
        producer.produce(topic, b"", on_delivery=lambda _, message: placed.append(message.partition()))
    producer.flush(GENEROUS_S)
    assert sorted(placed) == [1, 1, 4]
    assert strategy.topics == [one, other]


@pytest.mark.parametrize("chosen", [3, -1, 2**40, None, "0", 0.0, True])
def test_a_partition_that_does_not_exist_is_refused(mocked: Cluster, chosen: object) -> None:
    topic = mocked.create_topic(3)
    producer = producer_for(mocked, Strategy(lambda *_: chosen))
    match = rf"'test-strategy' .* topic '{topic}' into partition {chosen!r}; the topic has 0 to 2"
    with pytest.raises(MisplacedRecordError, match=match):
        producer.produce(topic, b"value", b"key")
    assert len(producer) == 0


def test_a_batch_is_placed_record_by_record(cluster: Cluster) -> None:
    topic = cluster.create_topic(7)
    producer = producer_for(cluster, Strategy(by_first_byte))
    assert producer.produce_batch(topic, [{"value": b"value", "key": key} for key in KEYS]) == len(KEYS)
    assert producer.flush(GENEROUS_S) == 0
    placed = partition_of_each_key(cluster.bootstrap_servers, topic, len(KEYS))
    assert placed == {key: key[0] % 7 for key in KEYS}


@pytest.mark.parametrize(("own", "call", "expected"), [(1, -1, 1), (1, 2, 1), (None, 2, 2), (None, -1, 3)])
def test_an_explicit_partition_wins_in_a_batch(
    mocked: Cluster, own: int | None, call: int, expected: int
) -> None:
    topic = mocked.create_topic(4)
    producer = producer_for(mocked, Strategy(last))
    message = {"value": b"value"} if own is None else {"value": b"value", "partition": own}
    producer.produce_batch(topic, [message], call)
    producer.flush(GENEROUS_S)
    assert [message.partition() for message in read(mocked.bootstrap_servers, topic, 1)] == [expected]


def test_a_batch_of_explicit_partitions_asks_nothing(mocked: Cluster) -> None:
    strategy = Strategy(last)
    producer = producer_for(mocked, strategy)
    producer.produce_batch(mocked.create_topic(4), [{"value": b"value"}], 2)
    producer.flush(GENEROUS_S)
    assert strategy.topics == []


def test_the_fate_of_a_batch_is_its_own_callbacks_alone(mocked: Cluster) -> None:
    topic = mocked.create_topic(2)
    producer = producer_for(mocked, Strategy(InTurn()))
    reports: list[str | None] = []
    producer.produce_batch(
        topic,
        [{"value": b"value", "partition": 9}] * 3,
        on_delivery=lambda error, _: reports.append(error and error.name()),
    )
    assert producer.flush(GENEROUS_S) == 0  # it raises for records that nobody watches
    assert reports == ["_UNKNOWN_PARTITION"] * 3


def test_what_a_full_queue_refuses_is_marked(mocked: Cluster) -> None:
    topic = mocked.create_topic(2)
    producer = producer_for(mocked, Strategy(InTurn()), queue_buffering_max_messages=4, linger_ms=500)
    messages = [{"value": b"value"} for _ in range(6)]
    assert producer.produce_batch(topic, messages) == 4
    assert ["_error" in message for message in messages].count(True) == 2
    producer.flush(GENEROUS_S)


def test_a_strategy_that_counts_is_told_of_unkeyed_records_it_placed(mocked: Cluster) -> None:
    strategy = CountsBytes()
    producer = producer_for(mocked, strategy)
    topic = mocked.create_topic(4)
    producer.produce(topic, b"x" * 50)
    producer.produce(topic, b"x" * 60, b"key")
    producer.produce(topic, b"x" * 70, partition=2)
    producer.produce(topic, None)
    producer.produce_batch(topic, [{"value": b"x" * 80}])
    producer.flush(GENEROUS_S)
    # length, attributes, time, offset, no key, length of the value, no headers
    assert [size for size, _ in strategy.told] == [
        1 + 1 + 1 + 1 + 1 + 1 + 50 + 1,
        7,
        2 + 1 + 1 + 1 + 1 + 2 + 80 + 1,
    ]


@pytest.mark.parametrize(
    "strategy", ["default", "sticky", "sticky-by-time", "round-robin", "random", "librdkafka"]
)
def test_unkeyed_records_reach_every_partition(mocked: Cluster, strategy: str) -> None:
    topic = mocked.create_topic(4)
    placed: set[int] = set()
    producer = producer_for(mocked, strategy, on_delivery=lambda _, message: placed.add(message.partition()))
    # A strategy stays on a partition for 16 KiB or 10 ms, so these records are a hundred random choices at
    # least: one run in 10^12 leaves a partition out.
    for _ in range(1000):
        producer.produce(topic, bytes(2048))
        time.sleep(0.001)
    assert producer.flush(GENEROUS_S) == 0
    assert placed == {0, 1, 2, 3}


def test_threads_do_not_disturb_a_strategy(mocked: Cluster) -> None:
    topic = mocked.create_topic(4)
    turns = InTurn()
    producer = producer_for(mocked, Strategy(turns))
    threads = [
        threading.Thread(target=lambda: [producer.produce(topic, b"") for _ in range(200)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert producer.flush(GENEROUS_S) == 0
    assert turns.turn == 800


@pytest.mark.parametrize("setting", ["partitioner", "partitioner_cb"])
def test_librdkafkas_own_partitioner_is_refused(setting: str) -> None:
    with pytest.raises(InvalidConfigError, match=f"'{setting}' in the configuration has no effect"):
        PartitioningProducer({setting: "murmur2"}, partitioner="java")


def test_no_time_to_wait_is_refused() -> None:
    with pytest.raises(InvalidConfigError, match="max_block_ms is 0; give more than 0"):
        PartitioningProducer({}, partitioner=Strategy(last), max_block_ms=0)


def test_an_unknown_strategy_is_refused() -> None:
    with pytest.raises(UnknownStrategyError, match=r"jaava.*java"):
        PartitioningProducer({}, partitioner="jaava")


def test_is_a_producer(mocked: Cluster) -> None:
    assert isinstance(producer_for(mocked, "java"), Producer)


@pytest.mark.live
@pytest.mark.parametrize("module", ["confluent", "confluent_aio"])
def test_says_what_to_install_without_confluent_kafka(module: str) -> None:
    code = f"import sys; sys.modules['confluent_kafka'] = None; import partitioning.clients.{module}"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingDependencyError" in result.stderr
    assert re.search(r"install it with: pip install '.*\[kafka\]", result.stderr)
