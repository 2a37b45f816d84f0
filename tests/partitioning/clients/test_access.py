"""Producer wrappers and a cluster with TLS and SCRAM: what does not fit is named, and no secret shown."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from partitioning.clients.confluent import PartitioningProducer
from partitioning.clients.confluent_aio import PartitioningAIOProducer
from partitioning.clients.java_settings import librdkafka_security
from partitioning.errors import BrokerUnreachableError, DeliveryError
from tests.support.encrypted import SECRETS, Encrypted
from tests.support.tiers import sample

pytestmark = pytest.mark.broker

QUIET = {"log_level": 0}
PLACED: dict[str, Any] = {"partitioner": "java", "max_block_ms": 10_000}
Send = Callable[[dict[str, str], str, int], str]

Spelled = Callable[[dict[str, str]], dict[str, str]]  # from the settings of Java's clients


def blocking(settings: dict[str, str], topic: str, records: int) -> str:
    """Send so many records with these settings; how the producer shows itself."""
    with PartitioningProducer({**settings, **QUIET}, **PLACED) as producer:
        for number in range(records):
            producer.produce(topic, b"value", str(number).encode())
        return repr(producer)


def by_asyncio(settings: dict[str, str], topic: str, records: int) -> str:
    async def main() -> str:
        async with PartitioningAIOProducer({**settings, **QUIET}, **PLACED) as producer:
            keys = [str(number).encode() for number in range(records)]
            sent = [await producer.produce(topic, b"value", key) for key in keys]
            await producer.flush()
            await asyncio.gather(*sent)
            return repr(producer)

    return asyncio.run(main())


either = pytest.mark.parametrize("send", [blocking, pytest.param(by_asyncio, marks=pytest.mark.slow)])


@either
@pytest.mark.parametrize("spelled", [dict, librdkafka_security])
def test_who_may_write_writes(encrypted: Encrypted, spelled: Spelled, send: Send) -> None:
    before = written(encrypted)
    shown = send(spelled(encrypted.user("writer")), encrypted.topic, 20)
    assert written(encrypted) == before + 20
    assert SECRETS["writer"] not in shown


def written(encrypted: Encrypted) -> int:
    """How many records the topic has."""
    asked = {TopicPartition(encrypted.topic, number): OffsetSpec.latest() for number in range(2)}
    admin = AdminClient(encrypted.listeners["plain"])  # an answer never comes to one that is gone
    return sum(answer.result().offset for answer in admin.list_offsets(asked).values())


@either
@pytest.mark.sampled
@pytest.mark.parametrize(
    ("listener", "change", "fault"),
    sample(
        [
            ("expired", {}, "certificate has expired"),
            ("valid", {"security.protocol": "PLAINTEXT"}, "security.protocol is PLAINTEXT: try SSL"),
            ("plain", {"security.protocol": "SSL"}, "connecting to a PLAINTEXT broker listener"),
        ],
        before_ci=3,
    ),
)
def test_what_does_not_fit_in_tls_is_named(
    encrypted: Encrypted, listener: str, change: dict[str, str], fault: str, send: Send
) -> None:
    with pytest.raises(BrokerUnreachableError, match=fault):
        send(encrypted.listeners[listener] | change, encrypted.topic, 1)


@either
def test_a_wrong_password_is_named_and_not_shown(
    encrypted: Encrypted, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str], send: Send
) -> None:
    refused = pytest.raises(BrokerUnreachableError, match=r"Authentication failed .*sasl\.password")
    with caplog.at_level(logging.DEBUG), refused as caught:
        send(encrypted.user("writer", "hunter2"), encrypted.topic, 1)
    assert "hunter2" not in "".join([str(caught.value), caplog.text, *capfd.readouterr()])


@pytest.mark.parametrize(("send", "error"), [(blocking, DeliveryError), (by_asyncio, KafkaException)])
def test_who_may_only_read_is_told_that_he_may_not_write(
    encrypted: Encrypted, send: Send, error: type[Exception]
) -> None:
    with pytest.raises(error, match=r"may write to no topic|Topic authorization failed") as caught:
        send(encrypted.user("reader"), encrypted.topic, 1)
    assert SECRETS["reader"] not in str(caught.value)
