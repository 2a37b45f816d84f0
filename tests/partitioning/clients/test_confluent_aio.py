import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from confluent_kafka import KafkaException

from partitioning.clients.confluent_aio import PartitioningAIOProducer
from partitioning.errors import (
    BrokerUnreachableError,
    InvalidConfigError,
    MisplacedRecordError,
    UnknownTopicError,
)
from partitioning.interface import Partitioner
from tests.partitioning.clients.clusters import Cluster
from tests.partitioning.clients.strategies import CountsBytes, InTurn, Strategy, by_first_byte, last
from tests.support.broker import Kafka, free_ports
from tests.support.records import partition_of_each_key, produce_by_librdkafka
from tests.support.waiting import GENEROUS_S

KEYS = [bytes([first, *b"key"]) for first in range(256)]


def run(
    bootstrap_servers: str,
    partitioner: str | Partitioner,
    use: Callable[[PartitioningAIOProducer], Awaitable[Any]],
    max_block_ms: int = round(GENEROUS_S * 1000),
) -> Any:
    """Return what `use` returns for a producer that is closed afterwards."""

    async def main() -> Any:
        config = {"bootstrap.servers": bootstrap_servers, "log_level": 0}
        producer = PartitioningAIOProducer(
            config, partitioner=partitioner, max_block_ms=max_block_ms, batch_size=50
        )
        try:
            return await use(producer)
        finally:
            await producer.close()

    return asyncio.run(main())


async def produce(producer: PartitioningAIOProducer, topic: str, *records: dict[str, Any]) -> list[int]:
    """The partition of each record, once all are acknowledged."""
    futures = [await producer.produce(topic, b"value", **record) for record in records]
    await producer.flush()
    return [message.partition() for message in await asyncio.gather(*futures)]


@pytest.mark.parametrize(
    ("profile", "partitioner"), [("java", "murmur2_random"), ("librdkafka", "consistent_random")]
)
def test_a_profile_places_keys_where_its_client_does(
    cluster: Cluster, profile: str, partitioner: str
) -> None:
    ours, theirs = cluster.create_topic(12), cluster.create_topic(12)
    servers = cluster.bootstrap_servers
    run(servers, profile, lambda producer: produce(producer, ours, *({"key": key} for key in KEYS)))
    produce_by_librdkafka(servers, theirs, KEYS, partitioner)
    assert partition_of_each_key(servers, ours, len(KEYS)) == partition_of_each_key(
        servers, theirs, len(KEYS)
    )


def test_a_plug_in_places_records_and_an_explicit_partition_wins(mocked: Cluster) -> None:
    topic = mocked.create_topic(5)
    records = ({"key": b"\x01"}, {"key": b"\x03"}, {"key": b"\x03", "partition": 2}, {"key": "\x04"})
    placed = run(
        mocked.bootstrap_servers, Strategy(by_first_byte), lambda producer: produce(producer, topic, *records)
    )
    assert placed == [1, 3, 2, 4]


def test_the_positional_partition_counts(mocked: Cluster) -> None:
    topic = mocked.create_topic(5)

    async def use(producer: PartitioningAIOProducer) -> int:
        future = await producer.produce(topic, b"value", b"key", 3)
        await producer.flush()
        return (await future).partition()

    assert run(mocked.bootstrap_servers, Strategy(last), use) == 3


def test_tasks_at_the_same_time_ask_for_a_topic_once(mocked: Cluster) -> None:
    topic = mocked.create_topic(4)
    asked = []

    async def use(producer: PartitioningAIOProducer) -> list[int]:
        answer = producer.list_topics
        producer.list_topics = lambda *args: [asked.append(args[0]), answer(*args)][1]
        tasks = (producer.produce(topic, b"value") for _ in range(100))
        futures = await asyncio.gather(*tasks)
        await producer.flush()
        return [message.partition() for message in await asyncio.gather(*futures)]

    placed = run(mocked.bootstrap_servers, Strategy(InTurn()), use)
    assert sorted(placed) == sorted([0, 1, 2, 3] * 25)
    assert asked == [topic]


def test_a_layout_that_is_due_is_asked_for_while_records_go_on(mocked: Cluster) -> None:
    asked: list[str | None] = []

    async def main() -> None:
        answering = asyncio.Event()

        class Asks(PartitioningAIOProducer):
            async def list_topics(self, topic: str | None = None, timeout: float = -1) -> Any:
                asked.append(topic)
                if len(asked) > 1:
                    await answering.wait()
                return await super().list_topics(topic, timeout)

        topic = mocked.create_topic(3)
        config = {"bootstrap.servers": mocked.bootstrap_servers, "topic.metadata.refresh.interval.ms": 10}
        async with Asks(config, partitioner=Strategy(last)) as producer:
            while len(asked) < 2:
                await producer.produce(topic, b"value")
                await asyncio.sleep(0.01)
            for _ in range(100):
                await producer.produce(topic, b"value")
            assert asked == [topic, topic]
            answering.set()

    asyncio.run(asyncio.wait_for(main(), GENEROUS_S))


@pytest.mark.live
def test_the_event_loop_goes_on_while_a_broker_is_awaited() -> None:
    [port] = free_ports(1)

    async def use(producer: PartitioningAIOProducer) -> int:
        task = asyncio.create_task(producer.produce("orders", b"value", b"key"))
        turns = 0
        while not task.done():
            await asyncio.sleep(0.05)
            turns += 1
        with pytest.raises(
            BrokerUnreachableError, match=r"topic 'orders': no broker returned its partitions"
        ):
            task.result()
        return turns

    assert run(f"127.0.0.1:{port}", "java", use, max_block_ms=1000) >= 3


def test_an_unknown_topic_is_an_error_soon(broker: Kafka) -> None:
    def use(producer: PartitioningAIOProducer) -> Awaitable[Any]:
        return producer.produce("no-such-topic", b"value")

    with pytest.raises(UnknownTopicError, match="has had no topic 'no-such-topic' for 3 s"):
        run(broker.bootstrap_servers, "java", use, max_block_ms=3000)


def test_a_partition_that_does_not_exist_is_refused(mocked: Cluster) -> None:
    topic = mocked.create_topic(3)
    with pytest.raises(MisplacedRecordError, match="into partition 3; the topic has 0 to 2"):
        run(
            mocked.bootstrap_servers,
            Strategy(lambda *_: 3),
            lambda producer: producer.produce(topic, b"value"),
        )


def test_a_failed_delivery_is_in_the_future(mocked: Cluster) -> None:
    topic = mocked.create_topic(3)
    with pytest.raises(KafkaException, match="_UNKNOWN_PARTITION"):
        run(mocked.bootstrap_servers, "java", lambda producer: produce(producer, topic, {"partition": 7}))


@pytest.mark.parametrize("option", [{"headers": {"a": b"b"}}, {"timestamp": 1}, {"on_delivery": print}])
def test_what_the_base_cannot_send_is_refused(mocked: Cluster, option: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{next(iter(option))}'"):
        run(mocked.bootstrap_servers, "java", lambda producer: producer.produce("topic", b"", **option))


def test_a_strategy_that_counts_is_told_of_unkeyed_records(mocked: Cluster) -> None:
    strategy = CountsBytes()
    topic = mocked.create_topic(3)
    run(mocked.bootstrap_servers, strategy, lambda producer: produce(producer, topic, {}, {"key": b"key"}))
    assert [size for size, _ in strategy.told] == [1 + 1 + 1 + 1 + 1 + 1 + len(b"value") + 1]


def test_librdkafkas_own_partitioner_is_refused() -> None:
    with pytest.raises(InvalidConfigError, match="'partitioner' in the configuration has no effect"):
        PartitioningAIOProducer({"partitioner": "murmur2"}, partitioner="java")
