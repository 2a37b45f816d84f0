import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from typing import Any

import pytest
from kafka import KafkaProducer
from kafka.partitioner import DefaultPartitioner

from partitioning.clients.kafka_python import KafkaPython2Partitioner, KafkaPythonPartitioner
from partitioning.errors import BrokenPluginError, InvalidLayoutError, MisplacedRecordError, UnknownTopicError
from tests.partitioning.clients.clusters import Cluster
from tests.partitioning.clients.strategies import CountsBytes, InTurn, Strategy, by_first_byte, last
from tests.support.records import partition_of_each_key, produce_by_librdkafka
from tests.support.waiting import GENEROUS_S

KEYS = [bytes([first, *b"key"]) for first in range(256)]

# It cannot make sense of the mock cluster's API versions.
SETTINGS: dict[str, Any] = {"api_version": (2, 0), "linger_ms": 0}


def produce(cluster: Cluster, topic: str, partitioner: object, *records: dict[str, Any]) -> list[int]:
    """The partition of each record, once all are acknowledged."""
    settings = {"bootstrap_servers": cluster.bootstrap_servers, "partitioner": partitioner, **SETTINGS}
    with closing(KafkaProducer(**settings)) as producer:
        futures = [producer.send(topic, **{"value": b"value", **record}) for record in records]
        return [future.get(timeout=GENEROUS_S).partition for future in futures]


@pytest.mark.live
@pytest.mark.parametrize(
    ("profile", "partitioner"), [("java", "murmur2_random"), ("librdkafka", "consistent_random")]
)
def test_a_profile_places_keys_where_its_client_does(
    cluster: Cluster, profile: str, partitioner: str
) -> None:
    ours, theirs = cluster.create_topic(12), cluster.create_topic(12)
    produce(cluster, ours, KafkaPythonPartitioner(profile), *({"key": key} for key in KEYS))
    produce_by_librdkafka(cluster.bootstrap_servers, theirs, KEYS, partitioner)
    servers = cluster.bootstrap_servers
    assert partition_of_each_key(servers, ours, len(KEYS)) == partition_of_each_key(
        servers, theirs, len(KEYS)
    )


@pytest.mark.live
def test_a_plug_in_places_records_and_an_explicit_partition_wins(cluster: Cluster) -> None:
    topic = cluster.create_topic(5)
    records = (
        {"key": b"\x01"},
        {"key": b"\x03"},
        {"key": b"\x03", "partition": 2},
        {"key": bytearray(b"\x04")},
    )
    assert produce(cluster, topic, KafkaPythonPartitioner(Strategy(by_first_byte)), *records) == [1, 3, 2, 4]


@pytest.mark.live
def test_an_unkeyed_record_that_opens_a_batch_counts_once(cluster: Cluster) -> None:
    topic = cluster.create_topic(4)
    settings = {"bootstrap_servers": cluster.bootstrap_servers, **SETTINGS}
    with closing(
        KafkaProducer(partitioner=KafkaPythonPartitioner(Strategy(InTurn())), **settings)
    ) as producer:
        placed = [producer.send(topic, value=b"value").get(timeout=GENEROUS_S).partition for _ in range(8)]
    assert placed == [0, 1, 2, 3, 0, 1, 2, 3]


@pytest.mark.live
def test_a_strategy_that_counts_is_told_of_bytes_and_of_full_batches(cluster: Cluster) -> None:
    topic = cluster.create_topic(3)
    strategy = CountsBytes()
    produce(cluster, topic, KafkaPythonPartitioner(strategy), {}, {"key": b"key"})
    size = 1 + 1 + 1 + 1 + 1 + 1 + len(b"value") + 1
    # It chose partition 0, which had no batch yet; the record went to the next one.
    assert strategy.told == [(size, False), (0, True), (size, False)]


@pytest.mark.live
def test_a_strategy_that_minds_batches_moves_on_with_each(cluster: Cluster) -> None:
    topic = cluster.create_topic(4)
    settings = {"bootstrap_servers": cluster.bootstrap_servers, **SETTINGS}
    with closing(
        KafkaProducer(partitioner=KafkaPythonPartitioner("sticky-per-batch"), **settings)
    ) as producer:
        placed = [producer.send(topic, value=b"value").get(timeout=GENEROUS_S).partition for _ in range(20)]
    assert all(before != after for before, after in pairwise(placed))


class Metadata:
    """As much of kafka-python's cluster metadata as a partitioner sees."""

    def __init__(self, **topics: tuple[set[int], set[int]]) -> None:
        self._topics = topics

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return self._topics[topic][0] if topic in self._topics else None

    def available_partitions_for_topic(self, topic: str) -> set[int] | None:
        return self._topics[topic][1] if topic in self._topics else None


def partition(partitioner: KafkaPythonPartitioner, metadata: Metadata, key: bytes | None = b"key") -> int:
    return partitioner.partition("orders", None, key, None, b"value", metadata)


@pytest.mark.parametrize(
    ("available", "seen"), [({0, 1, 2}, None), (set(), None), ({2, 0}, (0, 2))], ids=["all", "none", "some"]
)
def test_the_strategy_sees_which_partitions_have_a_leader(
    available: set[int], seen: tuple[int, ...] | None
) -> None:
    layouts = []
    partitioner = KafkaPythonPartitioner(Strategy(lambda _, layout: layouts.append(layout) or 0))
    partition(partitioner, Metadata(orders=({0, 1, 2}, available)))
    assert [(layout.partitions, layout.available) for layout in layouts] == [(3, seen)]


def test_a_topic_that_grew_is_seen_at_once() -> None:
    partitioner = KafkaPythonPartitioner(Strategy(last))
    counts = [{0, 1}, {0, 1, 2}]
    assert [partition(partitioner, Metadata(orders=(count, count))) for count in counts] == [1, 2]


def test_incomplete_metadata_is_refused() -> None:
    with pytest.raises(
        InvalidLayoutError, match=r"topic 'orders': .* has partitions \[0, 2\], not every one"
    ):
        partition(KafkaPythonPartitioner("java"), Metadata(orders=({0, 2}, {0, 2})))


def test_an_unknown_topic_is_refused() -> None:
    with pytest.raises(UnknownTopicError, match="no topic 'orders': create it first"):
        partition(KafkaPythonPartitioner("java"), Metadata())


def test_a_partition_that_does_not_exist_is_refused() -> None:
    with pytest.raises(MisplacedRecordError, match="into partition 3; the topic has 0 to 2"):
        partition(KafkaPythonPartitioner(Strategy(lambda *_: 3)), Metadata(orders=({0, 1, 2}, {0})))


def test_a_strategy_that_ends_the_process_is_named() -> None:
    partitioner = KafkaPythonPartitioner(Strategy(lambda *_: sys.exit(0)))
    with pytest.raises(BrokenPluginError, match="'test-strategy' ends the process in `partition`"):
        partition(partitioner, Metadata(orders=({0}, {0})))


def keys_and_answers() -> Iterator[tuple[bytes, int]]:
    """What kafka-python's own partitioner, the same in 2.x and 3.x, says of keys."""
    for key in KEYS:
        metadata = Metadata(orders=(set(range(12)), set(range(12))))
        metadata.topics = lambda: {"orders"}  # type: ignore[attr-defined]
        yield key, DefaultPartitioner().partition("orders", key, key, b"", b"", metadata)


def test_the_callable_of_2_places_keys_as_that_client_does() -> None:
    ours = KafkaPython2Partitioner("orders", "kafka-python")
    answers = dict(keys_and_answers())
    assert {key: ours(key, list(range(12)), list(range(12))) for key in KEYS} == answers
