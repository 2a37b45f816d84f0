"""What the loop raises, each error as a real cluster, or librdkafka's mock of an old one, answers it."""

from __future__ import annotations

import ctypes
import time
import uuid
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AclBinding, AclBindingFilter, AclOperation, AdminClient, ResourceType
from confluent_kafka.admin import AclPermissionType as Permission
from confluent_kafka.admin import ResourcePatternType as Pattern

from partitioning.clients.read_process_write import ProducerRecord, loop, read_process_write
from partitioning.errors import (
    AccessError,
    BrokerUnreachableError,
    FencedError,
    GaveUpError,
    InvalidConfigError,
    TopicAccessError,
    UnknownTopicError,
    UnsupportedBrokerError,
)
from partitioning.testing.mock_cluster import MockCluster
from tests.support.broker import Kafka
from tests.support.encrypted import allowed
from tests.support.waiting import GENEROUS_S, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.encrypted import Encrypted

# The error that ended the loop is raised; that its transaction cannot be aborted any more is no news.
pytestmark = pytest.mark.filterwarnings("ignore:Producer abort_transaction failed during close")
INIT_PRODUCER_ID, TXN_OFFSET_COMMIT = 22, 28


@pytest.fixture(autouse=True)
def _not_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "_watch", lambda _: None)  # it would end the tests


class Looping:
    """A loop on topics of its own."""

    def __init__(self, servers: str, source: str, target: str, **settings: Any) -> None:
        self.servers, self.source, self.target = servers, source, target
        self.id = uuid.uuid4().hex
        self.settings = {"bootstrap.servers": servers, "log_level": 0, **settings}
        self.stopping = Event()
        self.seen = 0

    def run(
        self,
        meanwhile: Callable[[], object] = lambda: None,
        each_time: Callable[[], object] = lambda: None,
        value: bytes = b"value",
        consumer: dict[str, Any] | None = None,
        producer: dict[str, Any] | None = None,
        calls: int = 2,
        copies: int = 1,
    ) -> None:
        """Have so many records processed; `meanwhile` is called with the first one, `each_time` with each."""

        def process(_: object) -> list[ProducerRecord]:
            self.seen += 1
            if self.seen == 1:
                meanwhile()
            each_time()
            if self.seen == calls:
                self.stopping.set()
            return [ProducerRecord(self.target, value, b"key")] * copies

        read_process_write(
            [self.source],
            process,
            consumer_config=self.settings | {"group.id": self.id} | (consumer or {}),
            producer_config=self.settings | {"transactional.id": self.id} | (producer or {}),
            stopping=self.stopping,
            batch=1,
        )


@pytest.fixture
def looping(broker: Kafka) -> Looping:
    """Two records are in the source."""
    source = broker.create_topic(1)
    fill(broker.bootstrap_servers, source)
    return Looping(broker.bootstrap_servers, source, broker.create_topic(1))


def fill(servers: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": servers, "log_level": 0})
    for _ in range(2):
        producer.produce(topic, b"value", b"key")
    assert producer.flush(GENEROUS_S) == 0


def test_without_a_fault_it_ends_when_it_is_told_to(looping: Looping) -> None:
    looping.run()
    assert looping.seen == 2


def test_more_outputs_than_the_producers_queue_holds(looping: Looping) -> None:
    looping.run(producer={"queue.buffering.max.messages": 10}, copies=500)
    reader = Consumer(looping.settings | {"group.id": "reader", "isolation.level": "read_committed"})
    ends = reader.get_watermark_offsets(TopicPartition(looping.target, 0), GENEROUS_S)
    assert ends[1] >= 1000


def test_another_process_with_the_transactional_id(looping: Looping) -> None:
    def take() -> None:
        Producer(looping.settings | {"transactional.id": looping.id}).init_transactions(GENEROUS_S)

    with pytest.raises(FencedError, match=f"transactional id '{looping.id}': another process"):
        looping.run(take)


def test_another_process_with_the_static_members_name(looping: Looping) -> None:
    static = {"group.instance.id": "one", "session.timeout.ms": 6000}

    def take() -> None:
        own = {"group.id": looping.id, "partition.assignment.strategy": "cooperative-sticky"}
        other = Consumer(looping.settings | static | own)
        other.subscribe([looping.source])
        wait_until(other.assignment, lambda: other.poll(0.1))

    with pytest.raises(FencedError, match=rf"group '{looping.id}': another .*group.instance.id 'one'"):
        looping.run(take, consumer=static)


def test_a_transaction_that_takes_longer_than_its_timeout(
    looping: Looping, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(loop.PartitioningProducer):
        def send_offsets_to_transaction(self, *arguments: Any) -> None:
            self.flush(GENEROUS_S)
            time.sleep(3)
            super().send_offsets_to_transaction(*arguments)

    monkeypatch.setattr(loop, "PartitioningProducer", Slow)
    with pytest.raises(FencedError, match=r"transaction\.timeout\.ms \(1 s\)"):
        looping.run(producer={"transaction.timeout.ms": 1000})


def test_a_batch_that_takes_longer_than_the_group_waits(looping: Looping) -> None:
    impatient = {"session.timeout.ms": 1000, "heartbeat.interval.ms": 200, "max.poll.interval.ms": 1000}
    with pytest.raises(GaveUpError, match=rf"group '{looping.id}'.* took .* max\.poll\.interval\.ms \(1 s\)"):
        looping.run(each_time=lambda: time.sleep(2), consumer=impatient, calls=9)


def test_a_record_that_its_topic_does_not_take(looping: Looping) -> None:
    with pytest.raises(GaveUpError, match=r"5 transactions in a row .*MSG_SIZE_TOO_LARGE.*ValueError"):
        looping.run(value=bytes(2_000_000), producer={"message.max.bytes": 5_000_000}, calls=9)


def test_a_timeout_that_brokers_do_not_allow(looping: Looping) -> None:
    with pytest.raises(InvalidConfigError, match=r"'transaction\.timeout\.ms' is 3600000, above .*lower it"):
        looping.run(producer={"transaction.timeout.ms": 3_600_000})


def test_a_source_that_is_not_there(looping: Looping) -> None:
    looping.source = "nowhere"
    with pytest.raises(UnknownTopicError, match="nowhere"):
        looping.run()


def test_a_target_that_is_not_there(looping: Looping) -> None:
    looping.target = "nowhere"
    with pytest.raises(UnknownTopicError, match="'nowhere'"):
        looping.run()


@pytest.mark.live
def test_no_broker() -> None:
    with pytest.raises(BrokerUnreachableError, match=r"127\.0\.0\.1:1"):
        Looping("127.0.0.1:1", "a", "b").run(producer={"transaction.timeout.ms": 1000})


@pytest.mark.live
@pytest.mark.parametrize(("asked", "least", "most"), [(TXN_OFFSET_COMMIT, 0, 2), (INIT_PRODUCER_ID, -1, -1)])
def test_brokers_that_are_too_old(asked: int, least: int, most: int) -> None:
    with MockCluster() as mock:
        limit = mock._library.rd_kafka_mock_set_apiversion
        limit.argtypes = [ctypes.c_void_p, *[ctypes.c_int16] * 3]
        assert limit(mock._cluster, asked, least, most) == 0
        with pytest.raises(UnsupportedBrokerError, match=r"2\.5"):
            Looping(mock.bootstrap_servers, "a", "b").run()


RIGHTS = {
    "READ on the source": (ResourceType.TOPIC, "source", AclOperation.READ),
    "WRITE on the target": (ResourceType.TOPIC, "target", AclOperation.WRITE),
    "READ on the group": (ResourceType.GROUP, "id", AclOperation.READ),
    "WRITE on the transactional id": (ResourceType.TRANSACTIONAL_ID, "id", AclOperation.WRITE),
}


PATIENT = {"transaction.timeout.ms": 60_000}
"""A busy machine may take more than ten seconds to let a user in."""


def by_a_user(encrypted: Encrypted, *missing: str) -> Looping:
    """A loop by SASL_SSL and SCRAM, with all rights but those."""
    servers = encrypted.listeners["plain"]["bootstrap.servers"]
    kafka = Kafka(servers)
    source, target = kafka.create_topic(1), kafka.create_topic(1)
    fill(servers, source)
    made = Looping(servers, source, target, **encrypted.user("looper"))
    rights = [
        allowed("looper", kind, getattr(made, attribute), operation)
        for name, (kind, attribute, operation) in RIGHTS.items()
        if name not in missing
    ]
    grant(made, *rights)
    return made


def grant(made: Looping, *rights: AclBinding) -> None:
    """Allow it, and wait until the broker knows."""
    admin = AdminClient({"bootstrap.servers": made.servers})
    for granted in admin.create_acls([*rights]).values():
        granted.result()
    every = AclBindingFilter(
        ResourceType.ANY, None, Pattern.ANY, "User:looper", None, AclOperation.ANY, Permission.ANY
    )
    wait_until(lambda: set(rights) <= set(admin.describe_acls(every).result()))


def test_a_user_with_the_rights_that_the_page_lists_gets_through(encrypted: Encrypted) -> None:
    made = by_a_user(encrypted)
    made.run(producer=PATIENT)
    assert made.seen == 2


@pytest.mark.parametrize(
    ("missing", "error", "told"),
    [
        ("READ on the source", TopicAccessError, "topic '{0.source}': this user needs READ on it"),
        ("WRITE on the target", UnknownTopicError, "topic '{0.target}' .*needs Describe on the topic"),
        ("READ on the group", AccessError, "group '{0.id}': this user needs READ on it"),
        (
            "WRITE on the transactional id",
            AccessError,
            "transactional id '{0.id}': this user needs WRITE on it",
        ),
    ],
)
def test_a_missing_right_is_named(
    encrypted: Encrypted, missing: str, error: type[Exception], told: str
) -> None:
    made = by_a_user(encrypted, missing)
    with pytest.raises(error, match=told.format(made)):
        made.run(producer=PATIENT)


def test_a_target_that_may_be_seen_and_not_written(encrypted: Encrypted) -> None:
    made = by_a_user(encrypted, "WRITE on the target")
    grant(made, allowed("looper", ResourceType.TOPIC, made.target, AclOperation.DESCRIBE))
    with pytest.raises(TopicAccessError, match=f"topic '{made.target}': this user needs WRITE on it"):
        made.run(producer=PATIENT)


def test_a_wrong_password(encrypted: Encrypted) -> None:
    wrong = encrypted.user("looper", "wrong")
    made = Looping(wrong["bootstrap.servers"], "a", "b", **wrong)
    with pytest.raises(BrokerUnreachableError, match=r"sasl\.username"):
        made.run()
