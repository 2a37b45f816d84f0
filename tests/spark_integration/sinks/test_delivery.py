"""One task's delivery, without Spark."""

import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from partitioning.clients import delivery as patience
from partitioning.errors import BrokerUnreachableError, DeliveryError, InvalidConfigError, UnknownTopicError
from partitioning.testing.mock_cluster import MockCluster
from spark_integration import PartitionCountError, RecordError, partition_count
from spark_integration.sinks.cluster import existing_topics
from spark_integration.sinks.delivery import KEPT, deliver
from spark_integration.sinks.options import read_sink_options
from tests.support.reading import read_topic

pytestmark = [pytest.mark.live, pytest.mark.needs("time")]


@pytest.fixture
def cluster(no_idle_producers: pytest.MonkeyPatch) -> Iterator[MockCluster]:
    with MockCluster() as mock:
        mock.create_topic("t", 2)
        yield mock


def config(cluster: MockCluster, **settings: str) -> dict[str, str]:
    options = {f"kafka.{name.replace('_', '.')}": value for name, value in settings.items()}
    return dict(
        read_sink_options({"kafka.bootstrap.servers": cluster.bootstrap_servers, **options}, {}).config
    )


def batch(*partitions: int) -> pa.RecordBatch:
    return pa.record_batch(
        {"value": pa.array([b"v"] * len(partitions)), "partition": pa.array(partitions, pa.int32())}
    )


def batch_then(error: Exception) -> Iterator[pa.RecordBatch]:
    """A batch, and then an error."""
    yield batch(0, 1)
    raise error


def around_the_end_of(cluster: MockCluster) -> Iterator[pa.RecordBatch]:
    """A batch that the broker writes, and one after it went away.

    It goes away only then, because by librdkafka's source a partition that joins a broker handle just as the
    handle is destroyed stays without a broker, and what is queued for such a partition never times out. A new
    producer's first batch takes half a second or a whole one: its id is asked for every 500 ms. On a machine
    that stalls, that batch may be given up before it is written, which is a failure as good as the other.
    """
    yield batch(0, 1)
    # A batch that was given up is never written: not too long a wait.
    deadline = time.monotonic() + 10
    while len(read_topic(cluster.bootstrap_servers, "t")) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    cluster.close()
    yield batch(0, 1)


def test_a_broker_that_goes_away_meanwhile_fails_the_task(cluster: MockCluster) -> None:
    # Once in many runs librdkafka never says so itself.
    said = r"not acknowledged; the first: topic 't' partition \d: |neither acknowledged nor given up"
    with pytest.raises(DeliveryError, match=said):
        deliver(around_the_end_of(cluster), config(cluster, delivery_timeout_ms="3000"), {"t": 2}, "t")


def test_a_task_ends_soon_after_its_first_failure(cluster: MockCluster) -> None:
    taken: list[int] = []

    def batches() -> Iterator[pa.RecordBatch]:
        yield from around_the_end_of(cluster)
        for number in range(100):
            yield batch(0, 1)
            taken.append(number)
            time.sleep(0.1)

    with pytest.raises(DeliveryError, match="were not acknowledged; the first"):
        deliver(batches(), config(cluster, delivery_timeout_ms="3000"), {"t": 2}, "t")
    assert len(taken) < 100


def test_a_record_that_no_queue_holds_is_refused(cluster: MockCluster) -> None:
    small = config(cluster, queue_buffering_max_kbytes="1024", message_max_bytes="4000000")
    rows = pa.record_batch({"value": pa.array([b"v" * 2_000_000])})
    with pytest.raises(DeliveryError, match="a record of topic 't' is larger than all that may be queued"):
        deliver(iter([rows]), small, {"t": 2}, "t")


def test_a_task_does_not_wait_for_ever_where_librdkafka_does(
    cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "SLACK_S", -59.0)
    with pytest.raises(DeliveryError, match=r"\d records were neither acknowledged nor given up within 1 s"):
        deliver(around_the_end_of(cluster), config(cluster, delivery_timeout_ms="60000"), {"t": 2}, "t")


@pytest.fixture
def producers(no_idle_producers: pytest.MonkeyPatch) -> list[Any]:
    """The producers that tasks made."""
    producers: list[Any] = []

    class NotedProducer(Producer):
        closed = False

        def __init__(self, settings: dict[str, Any]) -> None:
            super().__init__(settings)
            producers.append(self)

        def close(self) -> None:
            super().close()
            self.closed = True

    no_idle_producers.setattr("confluent_kafka.Producer", NotedProducer)
    return producers


def test_the_next_task_of_a_worker_has_the_producer_of_the_last(
    cluster: MockCluster, producers: list[Any]
) -> None:
    settings = config(cluster)
    for _ in range(2):
        deliver(iter([batch(0, 1)]), settings, {"t": 2}, "t")
    assert (len(read_topic(cluster.bootstrap_servers, "t")), len(producers)) == (4, 1)


def test_a_producer_that_failed_serves_no_other_task(cluster: MockCluster, producers: list[Any]) -> None:
    deliver(iter([batch(0)]), config(cluster), {"t": 2}, "t")
    with pytest.raises(RuntimeError, match="of the input"):
        deliver(batch_then(RuntimeError("of the input")), config(cluster), {"t": 2}, "t")
    deliver(iter([batch(0)]), config(cluster), {"t": 2}, "t")
    assert len(producers) == 2


def test_a_producer_that_failed_while_it_was_idle_serves_no_task(
    cluster: MockCluster, producers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fenced(Producer):
        idle = False

        def poll(self, seconds: float) -> int:
            if self.idle:
                raise KafkaException(KafkaError(KafkaError._FATAL, fatal=True))
            return super().poll(seconds)

    first = Fenced(config(cluster) | {"on_delivery": lambda *_: None})
    producers.append(first)
    monkeypatch.setattr("confluent_kafka.Producer", lambda _settings: first)
    deliver(iter([batch(0)]), config(cluster), {"t": 2}, "t")
    monkeypatch.undo()
    first.idle = True
    deliver(iter([batch(0)]), config(cluster), {"t": 2}, "t")
    assert len(read_topic(cluster.bootstrap_servers, "t")) == 2


def test_each_configuration_has_a_producer_of_its_own_and_a_worker_keeps_a_few(
    cluster: MockCluster, producers: list[Any]
) -> None:
    assert KEPT == 4
    for linger in (10, 11, 12, 13, 14, 10, 14):
        deliver(iter([batch(0)]), config(cluster, linger_ms=str(linger)), {"t": 2}, "t")
    assert [producer.closed for producer in producers] == [True, True, False, False, False, False]


@pytest.mark.parametrize(("columns", "refused"), [(["value", "partition"], True), (["value"], False)])
def test_a_topic_that_grew_since_the_write_began_fails_a_task_that_names_partitions(
    cluster: MockCluster, columns: list[str], refused: bool
) -> None:
    said = (
        "topic 't' had 1 partitions when this write began and has 2 now: .* with kafka_partition\\(key, 2\\)"
    )
    with pytest.raises(PartitionCountError, match=said) if refused else nullcontext():
        deliver(iter([batch(0).select(columns)]), config(cluster), {"t": 1}, "t")
    assert len(read_topic(cluster.bootstrap_servers, "t")) == (0 if refused else 1)


class Later(Producer):
    """A producer that has another answer, `later(topic)`, once its records have been waited for."""

    later: Any
    flushed = False

    def flush(self, timeout: float = -1) -> int:
        self.flushed = True
        return super().flush(timeout)

    def list_topics(self, topic: str, timeout: float) -> Any:
        return self.later(topic) if self.flushed else super().list_topics(topic, timeout)


class Silent(Later):
    def later(self, topic: str) -> Any:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))


class Grown(Later):
    def later(self, topic: str) -> Any:
        return SimpleNamespace(topics={topic: SimpleNamespace(partitions=range(5))}, orig_broker_id=1)


class Timed(Producer):
    """A producer that notes how long it may wait for the answer to each question."""

    waits: ClassVar[list[float]] = []

    def list_topics(self, topic: str, timeout: float) -> Any:
        self.waits.append(timeout)
        return super().list_topics(topic, timeout)


def test_the_first_question_of_a_task_waits_as_long_as_its_records(
    cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("confluent_kafka.Producer", Timed)
    deliver(iter([batch(0, 1)]), config(cluster) | {"delivery.timeout.ms": "73000"}, {"t": 2}, "t")
    assert (Timed.waits[0], Timed.waits[-1]) == (73, 10)


def test_brokers_that_are_silent_when_all_is_acknowledged_fail_no_task(
    cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("confluent_kafka.Producer", Silent)
    deliver(iter([batch(0, 1)]), config(cluster), {"t": 2}, "t")
    assert len(read_topic(cluster.bootstrap_servers, "t")) == 2


@pytest.mark.parametrize("topic", ["t", None])
def test_a_topic_that_grew_while_a_task_ran_fails_it(
    cluster: MockCluster, monkeypatch: pytest.MonkeyPatch, topic: str | None
) -> None:
    monkeypatch.setattr("confluent_kafka.Producer", Grown)
    rows = batch(0, 1).append_column("topic", pa.array(["t", "t"]))
    with pytest.raises(PartitionCountError, match="had 2 partitions when this write began and has 5 now"):
        deliver(iter([rows]), config(cluster), {"t": 2}, topic)


def threads_of_clients() -> set[str]:
    """The main threads of librdkafka's clients in this process, by their numbers."""
    names = {}
    for thread in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # threads of earlier tests end meanwhile
            names[thread.name] = (thread / "comm").read_text()
    return {number for number, name in names.items() if name == "rdk:main\n"}


def test_no_producer_outlives_a_task_that_fails() -> None:
    nowhere = {"bootstrap.servers": "127.0.0.1:1", "delivery.timeout.ms": "500"}
    before = threads_of_clients()
    with pytest.raises(DeliveryError) as caught:
        deliver(iter([batch(0)]), nowhere, {"t": 2}, "t")
    # Clients of earlier tests may end meanwhile.
    assert threads_of_clients() <= before, f"{caught.value} holds one"


def test_a_task_without_rows_asks_no_broker() -> None:
    batches = iter([batch()])
    deliver(batches, {"bootstrap.servers": "127.0.0.1:1"}, {"t": 2}, "t")
    assert list(batches) == []


def test_an_error_of_the_input_is_passed_on_and_what_was_queued_is_dropped(cluster: MockCluster) -> None:
    with pytest.raises(RuntimeError, match="of the input"):
        deliver(batch_then(RuntimeError("of the input")), config(cluster, linger_ms="60000"), {"t": 2}, "t")
    assert read_topic(cluster.bootstrap_servers, "t") == []


class ToldLate(Producer):
    """A producer that tells of a fatal error only while it is emptied."""

    purged = False

    def purge(self, *args: bool) -> None:
        self.purged = True
        super().purge(*args)

    def flush(self, *args: float) -> int:
        left = super().flush(*args)
        if self.purged:
            raise KafkaException(KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED, fatal=True))
        return left


@pytest.mark.parametrize(
    ("error", "told", "message"),
    [
        (DeliveryError("not acknowledged"), DeliveryError, "This user may write to no topic"),
        (KafkaException(KafkaError(KafkaError._FATAL)), DeliveryError, "This user may write to no topic"),
        (RuntimeError("of the input"), RuntimeError, "of the input"),
    ],
)
def test_a_fatal_error_that_is_told_late_is_why_records_failed(
    cluster: MockCluster,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    told: type[Exception],
    message: str,
) -> None:
    monkeypatch.setattr("confluent_kafka.Producer", ToldLate)
    with pytest.raises(told, match=message):
        deliver(batch_then(error), config(cluster), {"t": 2}, "t")


def test_no_row_of_a_batch_is_sent_if_one_has_no_place(cluster: MockCluster) -> None:
    with pytest.raises(RecordError, match="partition 2 of topic 't', which has 2 partitions"):
        deliver(iter([batch(0, 1, 2)]), config(cluster), {"t": 2}, "t")
    assert read_topic(cluster.bootstrap_servers, "t") == []


def test_the_cluster_says_how_many_partitions_a_topic_has(cluster: MockCluster) -> None:
    assert partition_count("t", {"bootstrap.servers": cluster.bootstrap_servers}) == 2


@pytest.mark.parametrize("settings", [{}, {"bootstrap.servers": ""}])
def test_settings_without_a_broker_are_refused_at_once(settings: dict[str, str]) -> None:
    with pytest.raises(InvalidConfigError, match=r"the settings name no broker: give 'bootstrap.servers'"):
        partition_count("t", settings)


def test_the_other_name_of_the_brokers_setting_is_one_too(cluster: MockCluster) -> None:
    assert partition_count("t", {"metadata.broker.list": cluster.bootstrap_servers}) == 2
    with pytest.raises(UnknownTopicError, match=f"{cluster.bootstrap_servers}' has no topic 'nowhere'"):
        partition_count("nowhere", {"metadata.broker.list": cluster.bootstrap_servers})


@pytest.mark.slow
def test_a_topic_does_not_come_to_be_by_being_asked_for(cluster: MockCluster) -> None:
    settings = {"bootstrap.servers": cluster.bootstrap_servers}
    for _ in range(2):
        with pytest.raises(UnknownTopicError, match="no topic 'nowhere' we may see"):
            partition_count("nowhere", settings)
    assert existing_topics(settings).counts == {"t": 2}


def test_a_setting_librdkafka_does_not_know_is_reported(cluster: MockCluster) -> None:
    with pytest.raises(InvalidConfigError, match='No such configuration property: "linger"'):
        partition_count("t", {"bootstrap.servers": cluster.bootstrap_servers, "linger": "5"})


def test_an_address_without_a_broker_is_told_soon_and_reported_at_the_end(
    cluster: MockCluster, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("partitioning.clients.contact.PATIENCE_S", 0.0)  # its first try is told, however slow
    servers = cluster.bootstrap_servers
    cluster.close()
    with pytest.raises(BrokerUnreachableError, match=r"given up to 3 s: .*Connection refused") as caught:
        existing_topics({"bootstrap.servers": servers}, 3)
    assert str(caught.value).count("Connection refused") == 1  # librdkafka says so at each of its tries
    [told] = caplog.messages
    assert told.startswith(f"copartition: no broker of '{servers}' answers yet, given 3 s: ")
    assert "Connection refused" in told
