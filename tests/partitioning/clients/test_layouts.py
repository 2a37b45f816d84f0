"""When the cluster is asked for the layout of a topic, and who waits for the answer."""

import asyncio
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from partitioning import get_partitioner
from partitioning.clients import topics as module
from partitioning.clients.confluent import PartitioningProducer
from partitioning.clients.confluent_aio import PartitioningAIOProducer
from partitioning.clients.placing import librdkafka_partitioner
from partitioning.clients.topics import Topics
from partitioning.errors import (
    BrokerUnreachableError,
    InvalidConfigError,
    MisplacedRecordError,
    UnknownTopicError,
)
from partitioning.interface import Partitioner, TopicLayout
from partitioning.sticky import Sticky
from tests.partitioning.clients.strategies import Strategy, last
from tests.support.waiting import GENEROUS_S


class Cluster:
    """Answers questions for topics' metadata, or is silent."""

    def __init__(self, partitions: int = 3) -> None:
        self.partitions = partitions
        self.error: int | None = None
        self.leaderless = set[int]()
        self.silent = False
        self.answering = threading.Event()
        self.answering.set()
        self.asked: list[tuple[str, bool]] = []

    def ask(self, name: str, _within_s: float) -> Any:
        in_background = threading.current_thread() is not threading.main_thread()
        self.asked.append((name, in_background))
        assert self.answering.wait(GENEROUS_S)
        if self.silent:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        error = None if self.error is None else KafkaError(self.error)
        numbers = range(self.partitions if error is None else 0)
        leaders = {number: -1 if number in self.leaderless else 1 for number in numbers}
        partitions = {number: SimpleNamespace(leader=leader) for number, leader in leaders.items()}
        return SimpleNamespace(topics={name: SimpleNamespace(error=error, partitions=partitions)})


def topics(partitioner: str | Partitioner = Strategy(last), *, max_age_ms: float = 0) -> Topics:  # noqa: B008
    return Topics({"topic.metadata.refresh.interval.ms": max_age_ms}, partitioner, max_block_ms=50)


def wait_for_refresh(known: Topics) -> None:
    assert known._refreshing.acquire(timeout=GENEROUS_S)
    known._refreshing.release()


def test_a_layout_that_is_due_is_asked_for_in_the_background() -> None:
    cluster, known = Cluster(), topics()
    known.meet("t", cluster.ask)
    cluster.partitions = 5
    cluster.answering.clear()  # whoever waits now waits for ever
    for _ in range(100):
        assert known.current("t", cluster.ask).place(b"key") == 2
    cluster.answering.set()
    wait_for_refresh(known)
    assert cluster.asked == [("t", False), ("t", True)]
    assert known.current("t", cluster.ask).place(b"key") == 4


def test_a_partition_without_a_leader_is_not_available() -> None:
    cluster = Cluster()
    cluster.leaderless = {1}
    layouts = []

    def record(_: bytes | None, layout: TopicLayout) -> int:
        layouts.append(layout)
        return 0

    topics(Strategy(record)).current("t", cluster.ask).place(b"key")
    assert layouts == [TopicLayout(3, available=(0, 2))]


@pytest.fixture
def _long_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silent brokers are left alone for longer than a slow machine needs for a test."""
    monkeypatch.setattr(module, "_REFRESH_AGAIN_S", 3600.0)


@pytest.mark.usefixtures("_long_silence")
def test_silent_brokers_are_asked_once_for_all_topics() -> None:
    cluster, known = Cluster(), topics()
    names = [f"t{number}" for number in range(12)]
    for name in names:
        known.current(name, cluster.ask)
        wait_for_refresh(known)
    cluster.asked.clear()
    cluster.silent = True
    for name in names * 10:
        known.current(name, cluster.ask)
        wait_for_refresh(known)
    assert len(cluster.asked) == 1


def test_a_refresh_that_failed_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_REFRESH_AGAIN_S", 0.0)
    cluster, known = Cluster(), topics(max_age_ms=50)
    known.current("t", cluster.ask)
    cluster.silent = True
    deadline = time.monotonic() + GENEROUS_S
    while len(cluster.asked) < 4 and time.monotonic() < deadline:
        assert known.current("t", cluster.ask).place(b"key") == 2
    cluster.silent, cluster.partitions = False, 5
    while known.current("t", cluster.ask).place(b"key") != 4 and time.monotonic() < deadline:
        pass
    assert known.current("t", cluster.ask).place(b"key") == 4


@pytest.mark.parametrize(
    "code", [KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_OR_PART]
)
def test_where_a_partition_is_gone_the_next_record_waits(code: int) -> None:
    cluster, known = Cluster(), topics(max_age_ms=-1)
    known.current("t", cluster.ask)
    cluster.partitions = 2
    known.on_error("t", KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
    assert known.current("t", cluster.ask).place(b"key") == 2
    known.on_error("t", KafkaError(code))
    assert known.current("t", cluster.ask).place(b"key") == 1
    assert cluster.asked == [("t", False), ("t", False)]


@pytest.mark.usefixtures("_long_silence")
def test_silent_brokers_keep_a_partition_that_may_be_gone() -> None:
    cluster, known = Cluster(), topics(max_age_ms=-1)
    known.current("t", cluster.ask)
    cluster.silent = True
    for _ in range(10):
        known.on_error("t", KafkaError(KafkaError._UNKNOWN_PARTITION))
        assert known.current("t", cluster.ask).place(b"key") == 2
    assert len(cluster.asked) == 2


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (KafkaError.UNKNOWN_TOPIC_OR_PART, "has had no topic 't'"),
        (KafkaError.LEADER_NOT_AVAILABLE, "has had no topic 't'"),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "'t' cannot be used: .* needs Describe on the topic, which"),
    ],
)
def test_a_topic_that_went_away_is_told_to_the_next_record(code: int, says: str) -> None:
    cluster, known = Cluster(), topics("java")
    known.current("t", cluster.ask)
    assert known.hashed == {"t"}
    cluster.error = code
    wait_for_refresh(known)
    known.current("t", cluster.ask)
    wait_for_refresh(known)
    assert known.hashed == set()
    with pytest.raises(UnknownTopicError, match=says):
        known.current("t", cluster.ask)


@pytest.mark.parametrize(("silent_after_s", "error"), [(7, UnknownTopicError), (3, BrokerUnreachableError)])
def test_a_topic_is_unknown_if_brokers_said_so_in_the_second_half_of_the_time(
    monkeypatch: pytest.MonkeyPatch, silent_after_s: float, error: type[Exception]
) -> None:
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(module, "monotonic", lambda: clock.now)
    monkeypatch.setattr(module, "sleep", lambda _: None)
    cluster, known = Cluster(), Topics({}, Strategy(last), max_block_ms=10_000)
    cluster.error = KafkaError.UNKNOWN_TOPIC_OR_PART

    def ask(name: str, within_s: float) -> Any:
        clock.now += 1
        cluster.silent = clock.now > silent_after_s
        return cluster.ask(name, within_s)

    with pytest.raises(error):
        known.current("t", ask)


def test_a_leader_that_is_being_elected_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "sleep", lambda _: None)
    cluster, known = Cluster(), Topics({}, Strategy(last), max_block_ms=GENEROUS_S * 1000)
    cluster.error = KafkaError.LEADER_NOT_AVAILABLE
    answer = cluster.ask

    def ask(name: str, within_s: float) -> Any:
        found = answer(name, within_s)
        cluster.error = None
        return found

    assert known.current("t", ask).place(b"key") == 2
    assert len(cluster.asked) == 2


@pytest.mark.parametrize("error", [RuntimeError("Producer has been closed"), None])
def test_a_producer_that_ends_meanwhile_ends_the_question(error: Exception | None) -> None:
    cluster, known = Cluster(), topics()
    known.current("t", cluster.ask)
    wait_for_refresh(known)

    def ask(_name: str, _within_s: float) -> Any:
        raise error or module.CancelledError

    known._refresh_soon(ask)
    known.close()
    wait_for_refresh(known)
    assert known.known_topic("t", ask)


def test_a_producer_ends_after_the_answer_to_its_question() -> None:
    cluster, known = Cluster(), topics()
    known.current("t", cluster.ask)
    cluster.answering.clear()
    known.current("t", cluster.ask)
    closing = threading.Thread(target=known.close)
    closing.start()
    closing.join(0.05)
    assert closing.is_alive()
    cluster.answering.set()
    closing.join(GENEROUS_S)
    assert not closing.is_alive()


def test_librdkafka_hashes_for_a_strategy_that_hashes_alike() -> None:
    native = {
        name: librdkafka_partitioner(get_partitioner(name))
        for name in ("default", "java", "librdkafka", "sarama", "sticky", "round-robin", "platformatic")
    }
    assert native == {
        "default": "murmur2_random",
        "java": "murmur2_random",
        "librdkafka": "consistent_random",
        "sarama": "fnv1a_random",
        "sticky": None,
        "round-robin": None,
        "platformatic": None,
    }


def test_a_subclass_may_place_otherwise() -> None:
    class Elsewhere(Sticky):
        pass

    assert librdkafka_partitioner(Elsewhere(keyed="java")) is None
    assert librdkafka_partitioner(Strategy(last)) is None


@pytest.mark.parametrize("partition", [True, 1.0, "1", None])
def test_an_explicit_partition_is_a_number(partition: Any) -> None:
    unused: Any = None  # a producer is not asked before
    refused = pytest.raises(
        MisplacedRecordError, match=f"^a record of topic 't' has partition {partition!r}; "
    )
    with refused:
        PartitioningProducer.produce(unused, "t", b"value", partition=partition)
    with refused:
        PartitioningProducer.produce_batch(unused, "t", [{"value": b"value", "partition": partition}])
    with refused:
        asyncio.run(PartitioningAIOProducer.produce(unused, "t", b"value", partition=partition))


@pytest.mark.parametrize("time_ms", ["1_000", "1e3", 1.5, True])
def test_a_time_is_read_as_librdkafka_reads_it(time_ms: object) -> None:
    with pytest.raises(InvalidConfigError, match=r"'topic\.metadata\.refresh\.interval\.ms' is"):
        Topics({"topic.metadata.refresh.interval.ms": time_ms}, Strategy(last), 5000)
