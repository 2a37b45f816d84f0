"""Consumers with our assignors and a cluster with TLS and SCRAM."""

from __future__ import annotations

import asyncio
import gc
import logging
import re
import time
import warnings
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.errors import GroupAuthorizationFailedError, KafkaConnectionError
from aiokafka.helpers import create_ssl_context
from confluent_kafka.admin import AclOperation, AdminClient, ResourceType
from kafka import KafkaConsumer
from kafka.errors import GroupAuthorizationFailedError as KafkaPythonGroupError
from kafka.errors import KafkaTimeoutError

from assignors.clients.aiokafka import aiokafka_assignor
from assignors.clients.kafka_python import KafkaPythonAssignor, finish_rejoin
from tests.assignors.clients.consumer import METADATA_MAX_AGE_MS
from tests.support.encrypted import SECRETS, Encrypted, allowed
from tests.support.tiers import sample
from tests.support.waiting import GENEROUS_S

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

pytestmark = [
    pytest.mark.broker,
    # kafka-python drops a connection without closing it if TLS takes long, as on a busy machine.
    pytest.mark.filterwarnings(
        "ignore:Exception ignored in. <ssl.SSLSocket:pytest.PytestUnraisableExceptionWarning"
    ),
]

GROUP = "readers"
KAFKA_PYTHON_WAITS_MS = 8000  # whatever it hears, as long as its bootstrap_timeout_ms
WRONG_PASSWORD = {"sasl_plain_password": "a-word-that-lets-nobody-in"}
PLAIN = {"security_protocol": "PLAINTEXT"}


@pytest.fixture(scope="module")
def cluster(encrypted: Encrypted) -> Encrypted:
    """Where the user "reader" may be in one group, and in one for each client."""
    admin = AdminClient(encrypted.listeners["plain"])
    groups = (GROUP, *map(group_of, CLIENTS))
    rights = [allowed("reader", ResourceType.GROUP, group, AclOperation.READ) for group in groups]
    for granted in admin.create_acls(rights).values():
        granted.result()
    return encrypted


@pytest.fixture(autouse=True)
def _collect_refused_connections() -> Iterator[None]:
    """Collect what a refused client leaves open in the test that made it, not in one that comes later."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def settings(cluster: Encrypted, group: str, change: dict[str, Any]) -> dict[str, Any]:
    """The settings of both clients."""
    own = {
        "bootstrap_servers": cluster.listeners["users"]["bootstrap.servers"],
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "reader",
        "sasl_plain_password": SECRETS["reader"],
        "group_id": group,
        "heartbeat_interval_ms": 300,
    }
    return own | change


def authority(cluster: Encrypted) -> str:
    return cluster.listeners["users"]["ssl.truststore.location"]


def poll_and_finish(member: KafkaConsumer) -> None:
    """Poll as docs/consumers.md says: without `finish_rejoin`, a leader may forget an answer for good."""
    member.poll(100)
    finish_rejoin(member)


async def kafka_python(cluster: Encrypted, group: str, change: dict[str, Any]) -> list[list[int]]:
    members: list[KafkaConsumer] = []
    try:
        for _ in range(2):
            assignor = KafkaPythonAssignor("cooperative-sticky")
            own = {
                "ssl_cafile": authority(cluster),
                "bootstrap_timeout_ms": KAFKA_PYTHON_WAITS_MS,
                "metadata_max_age_ms": METADATA_MAX_AGE_MS,
            }
            given = settings(cluster, group, change) | own
            members.append(KafkaConsumer(cluster.topic, **given, partition_assignment_strategy=[assignor]))
        return await shared(members, lambda member: asyncio.to_thread(poll_and_finish, member))
    finally:
        for member in members:
            member.close()


async def aiokafka(cluster: Encrypted, group: str, change: dict[str, Any]) -> list[list[int]]:
    members: list[AIOKafkaConsumer] = []
    try:
        for _ in range(2):
            assignor = aiokafka_assignor("sticky")
            more = {"ssl_context": create_ssl_context(cafile=authority(cluster))}
            given = settings(cluster, group, change) | more
            members.append(
                AIOKafkaConsumer(cluster.topic, **given, partition_assignment_strategy=(assignor,))
            )
            await members[-1].start()
        return await shared(members, lambda member: member.getmany(timeout_ms=100))
    finally:
        for member in members:
            await member.stop()


CLIENTS = (kafka_python, aiokafka)


def group_of(client: Callable[..., Any]) -> str:
    """A group of this client alone: the other one's strategy would not be let in."""
    return f"{GROUP}-{client.__name__}"


async def shared(members: list[Any], poll: Callable[[Any], Awaitable[object]]) -> list[list[int]]:
    """Return the partitions of each member, once each member has a partition of its own.

    All members are polled until then: one that is not polled holds up the next rebalance for minutes.

    Raises:
        Exception: the first that a poll raised, after no member is polled any more.
    """
    end = time.monotonic() + GENEROUS_S
    done = asyncio.Event()

    def owned() -> list[list[int]]:
        return [sorted(place.partition for place in member.assignment()) for member in members]

    async def poll_on(member: Any) -> list[list[int]]:
        try:
            while not done.is_set():
                if sorted(now := owned()) == [[0], [1]]:
                    return now
                assert time.monotonic() < end, now
                await poll(member)
        finally:
            done.set()
        return []

    ended = await asyncio.gather(*map(poll_on, members), return_exceptions=True)
    for outcome in ended:
        if isinstance(outcome, BaseException):
            raise outcome
    return next(owned for owned in ended if owned)


# The members of kafka-python's own group take half a minute to agree.
@pytest.mark.parametrize("client", [pytest.param(kafka_python, marks=pytest.mark.slow), aiokafka])
def test_two_members_own_every_partition_once(cluster: Encrypted, client: Callable[..., Any]) -> None:
    owned = asyncio.run(client(cluster, group_of(client), {}))
    assert sorted(owned) == [[0], [1]]


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("client", "group", "change", "error", "said"),
    sample(
        [
            # It drops an answer that comes together with the end of a TLS connection, as on a busy machine.
            (
                kafka_python,
                GROUP,
                WRONG_PASSWORD,
                KafkaTimeoutError,
                "due to invalid credentials|socket disconnected",
            ),
            (aiokafka, GROUP, WRONG_PASSWORD, KafkaConnectionError, "due to invalid credentials"),
            (kafka_python, GROUP, PLAIN, KafkaTimeoutError, "socket disconnected"),
            (aiokafka, GROUP, PLAIN, KafkaConnectionError, "closed"),
            (kafka_python, "others", {}, KafkaPythonGroupError, "others"),
            (aiokafka, "others", {}, GroupAuthorizationFailedError, "others"),
        ],
        before_ci=5,
    ),
)
def test_a_refusal_comes_through_and_shows_no_secret(
    cluster: Encrypted,
    caplog: pytest.LogCaptureFixture,
    client: Callable[..., Any],
    group: str,
    change: dict[str, Any],
    error: type[Exception],
    said: str,
) -> None:
    """The error is the client's own; why it could not come in, both tell their log only."""
    with caplog.at_level(logging.DEBUG), pytest.raises(error) as caught:
        asyncio.run(client(cluster, group, change))
    told = f"{caught.value!r}\n{caplog.text}"
    assert re.search(said, told)
    assert settings(cluster, group, change)["sasl_plain_password"] not in told
