import asyncio
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer

from partitioning.clients.aiokafka import AiokafkaPartitioner
from partitioning.errors import (
    InvalidConfigError,
    InvalidLayoutError,
    MisplacedRecordError,
    UnknownStrategyError,
)
from tests.partitioning.clients.clusters import Cluster
from tests.partitioning.clients.strategies import CountsBytes, Strategy, by_first_byte, last
from tests.support.records import partition_of_each_key, produce_by_librdkafka

KEYS = [bytes([first, *b"key"]) for first in range(256)]


def produce(cluster: Cluster, topic: str, partitioner: object, *records: dict[str, Any]) -> list[int]:
    """The partition of each record, once all are acknowledged."""

    async def main() -> list[int]:
        settings = {"bootstrap_servers": cluster.bootstrap_servers, "partitioner": partitioner}
        async with AIOKafkaProducer(**settings) as producer:
            futures = [await producer.send(topic, **{"value": b"value", **record}) for record in records]
            return [metadata.partition for metadata in await asyncio.gather(*futures)]

    return asyncio.run(main())


@pytest.mark.live
@pytest.mark.parametrize(
    ("profile", "partitioner"), [("java", "murmur2_random"), ("librdkafka", "consistent_random")]
)
def test_a_profile_places_keys_where_its_client_does(
    cluster: Cluster, profile: str, partitioner: str
) -> None:
    ours, theirs = cluster.create_topic(12), cluster.create_topic(12)
    produce(cluster, ours, AiokafkaPartitioner(ours, profile), *({"key": key} for key in KEYS))
    produce_by_librdkafka(cluster.bootstrap_servers, theirs, KEYS, partitioner)
    servers = cluster.bootstrap_servers
    assert partition_of_each_key(servers, ours, len(KEYS)) == partition_of_each_key(
        servers, theirs, len(KEYS)
    )


@pytest.mark.live
def test_a_plug_in_places_records_and_an_explicit_partition_wins(cluster: Cluster) -> None:
    topic = cluster.create_topic(5)
    strategy = Strategy(by_first_byte)
    records = ({"key": b"\x01"}, {"key": b"\x03"}, {"key": b"\x03", "partition": 2})
    assert produce(cluster, topic, AiokafkaPartitioner(topic, strategy), *records) == [1, 3, 2]
    assert strategy.topics == [topic]


@pytest.mark.parametrize(
    ("available", "seen"), [([2, 0, 1], None), ([], None), ([2, 0], (0, 2))], ids=["all", "none", "some"]
)
def test_the_strategy_sees_which_partitions_have_a_leader(
    available: list[int], seen: tuple[int, ...] | None
) -> None:
    layouts = []
    partitioner = AiokafkaPartitioner("orders", Strategy(lambda _, layout: layouts.append(layout) or 0))
    partitioner(b"key", [2, 0, 1], available)
    assert [(layout.partitions, layout.available) for layout in layouts] == [(3, seen)]


def test_a_topic_that_grew_is_seen_at_once() -> None:
    partitioner = AiokafkaPartitioner("orders", Strategy(last))
    assert [partitioner(b"key", all_, all_) for all_ in ([0, 1], [0, 1, 2])] == [1, 2]


def test_a_strategy_that_counts_is_told_of_typical_records() -> None:
    strategy = CountsBytes()
    partitioner = AiokafkaPartitioner("orders", strategy, value_bytes=50)
    for key in (None, b"key"):
        partitioner(key, [0, 1], [0, 1])
    assert strategy.told == [(1 + 1 + 1 + 1 + 1 + 1 + 50 + 1, True)]


@pytest.mark.parametrize(("name", "key"), [("default", None), ("sticky", None), ("sticky", b"key")])
def test_what_sticks_does_not_stay_for_ever(name: str, key: bytes | None) -> None:
    partitioner = AiokafkaPartitioner("orders", name)
    partitions = list(range(6))
    assert {partitioner(key, partitions, partitions) for _ in range(2000)} == set(partitions)


def test_a_strategy_that_would_wait_for_batches_for_ever_is_refused() -> None:
    with pytest.raises(InvalidConfigError, match="'sticky-per-batch' must be called for every new batch"):
        AiokafkaPartitioner("orders", "sticky-per-batch")


def test_incomplete_metadata_is_refused() -> None:
    with pytest.raises(
        InvalidLayoutError, match=r"topic 'orders': .* has partitions \[0, 2\], not every one"
    ):
        AiokafkaPartitioner("orders", "java")(b"key", [0, 2], [0, 2])


def test_a_partition_that_does_not_exist_is_refused() -> None:
    with pytest.raises(MisplacedRecordError, match="into partition 3; the topic has 0 to 2"):
        AiokafkaPartitioner("orders", Strategy(lambda *_: 3))(b"key", [0, 1, 2], [0, 1, 2])


def test_an_unknown_strategy_is_refused() -> None:
    with pytest.raises(UnknownStrategyError, match="jaava"):
        AiokafkaPartitioner("orders", "jaava")
