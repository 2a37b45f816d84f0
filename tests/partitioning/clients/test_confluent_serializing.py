"""SerializingProducer, by a strategy of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import SerializingProducer
from confluent_kafka.error import KeySerializationError, ValueSerializationError
from confluent_kafka.serialization import (
    IntegerSerializer,
    MessageField,
    SerializationContext,
    StringSerializer,
)

from partitioning import partition_for_key
from partitioning.clients.confluent import PartitioningSerializingProducer
from partitioning.errors import DeliveryError, InvalidConfigError, UnknownStrategyError, UnknownTopicError
from tests.partitioning.clients.strategies import Strategy, last
from tests.support.records import read

if TYPE_CHECKING:
    from partitioning.interface import Partitioner
    from tests.partitioning.clients.clusters import Cluster


def serializing(
    cluster: Cluster, partitioner: str | Partitioner = "java", **serializers: Any
) -> PartitioningSerializingProducer:
    settings = {f"{field}.serializer": serializer for field, serializer in serializers.items()}
    config = {"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0, **settings}
    return PartitioningSerializingProducer(config, partitioner=partitioner, max_block_ms=60_000)


def refuse(value: object, context: SerializationContext) -> bytes:
    raise ValueError(f"no {context.field} is like {value!r}")


def test_it_is_one_of_confluents(mocked: Cluster) -> None:
    assert isinstance(serializing(mocked), SerializingProducer)


def test_a_record_goes_where_its_serialized_key_says(cluster: Cluster) -> None:
    topic = cluster.create_topic(12)
    with serializing(cluster, key=IntegerSerializer(), value=StringSerializer()) as producer:
        for number in range(20):
            producer.produce(topic, key=number, value="größe")
    records = read(cluster.bootstrap_servers, topic, 20)
    assert {record.value() for record in records} == {"größe".encode()}
    expected = {number.to_bytes(4): partition_for_key(number.to_bytes(4), 12) for number in range(20)}
    assert {record.key(): record.partition() for record in records} == expected
    assert len(set(expected.values())) > 6


def test_a_key_that_is_serialized_to_nothing_is_none(mocked: Cluster) -> None:
    keys: list[bytes | None] = []
    producer = serializing(mocked, Strategy(lambda key, _: keys.append(key) or 0), key=StringSerializer())
    topic = mocked.create_topic(1)
    producer.produce(topic, key=None, value=b"value")
    producer.produce(topic, key="", value=b"value")
    assert keys == [None, b""]
    producer.close()


def test_serializers_see_topic_field_and_headers(mocked: Cluster) -> None:
    seen = []

    def serialize(value: bytes, context: SerializationContext) -> bytes:
        seen.append((value, context.topic, context.field, context.headers))
        return value

    topic = mocked.create_topic(1)
    with serializing(mocked, key=serialize, value=serialize) as producer:
        producer.produce(topic, key=b"k", value=b"v", headers=[("name", b"h")], timestamp=1_700_000_000_000)
    headers = [("name", b"h")]
    assert seen == [(b"k", topic, MessageField.KEY, headers), (b"v", topic, MessageField.VALUE, headers)]
    [record] = read(mocked.bootstrap_servers, topic, 1)
    assert (record.headers(), record.timestamp()[1]) == (headers, 1_700_000_000_000)


@pytest.mark.parametrize(
    ("field", "error"), [("key", KeySerializationError), ("value", ValueSerializationError)]
)
def test_what_cannot_be_serialized_is_confluents_error(
    mocked: Cluster, field: str, error: type[Exception]
) -> None:
    strategy = Strategy(last)
    with serializing(mocked, strategy, **{field: refuse}) as producer:
        with pytest.raises(error, match=rf"no {field} is like b'{field}'"):
            producer.produce(mocked.create_topic(1), key=b"key", value=b"value")
        assert (len(producer), strategy.topics) == (0, [])


def test_an_explicit_partition_wins(mocked: Cluster) -> None:
    topic = mocked.create_topic(3)
    with serializing(mocked, Strategy(last), key=StringSerializer()) as producer:
        producer.produce(topic, key="key", partition=1)
    assert [record.partition() for record in read(mocked.bootstrap_servers, topic, 1)] == [1]


def test_max_block_ms_is_heeded(mocked: Cluster) -> None:
    producer = PartitioningSerializingProducer(
        {"bootstrap.servers": mocked.bootstrap_servers, "log_level": 0, "allow.auto.create.topics": False},
        max_block_ms=300,
    )
    with pytest.raises(UnknownTopicError, match=r"for 0\.3 s"):
        producer.produce("no-such-topic", key=b"key")
    producer.close()


def test_a_lost_record_does_not_go_unnoticed(mocked: Cluster) -> None:
    topic = mocked.create_topic(1)
    with pytest.raises(DeliveryError, match="1 record"), serializing(mocked) as producer:
        producer.produce(topic, key=b"key", partition=5)


def test_a_lost_record_does_not_hide_what_ended_the_block(mocked: Cluster) -> None:
    def lose(producer: PartitioningSerializingProducer) -> None:
        producer.produce(mocked.create_topic(1), key=b"key", partition=5)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), serializing(mocked) as producer:
        lose(producer)


def test_a_partitioner_of_librdkafka_is_refused(mocked: Cluster) -> None:
    config = {"bootstrap.servers": mocked.bootstrap_servers, "partitioner": "murmur2"}
    with pytest.raises(InvalidConfigError, match="'partitioner'"):
        PartitioningSerializingProducer(config)


def test_an_unknown_strategy_is_refused(mocked: Cluster) -> None:
    with pytest.raises(UnknownStrategyError, match="did you mean java"):
        serializing(mocked, "jav")
