import gc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition, cimpl
from numpy.random import mtrand

from partitioning.errors import InvalidConfigError, InvalidPartitionCountError, MissingDependencyError
from partitioning.testing import mock_cluster
from partitioning.testing.mock_cluster import MockCluster, MockClusterError
from tests.support.waiting import GENEROUS_S

pytestmark = pytest.mark.live

BUNDLED = mock_cluster._candidates(cimpl)[1:]

READ_BACK = """
import sys
from confluent_kafka import Consumer, TopicPartition
servers, topic, partitions = sys.argv[1], sys.argv[2], int(sys.argv[3])
consumer = Consumer({"bootstrap.servers": servers, "group.id": "reader"})
consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
for message in consumer.consume(partitions, timeout=600):
    assert message.error() is None, message.error()
    print(message.partition(), message.value().decode())
consumer.close()
"""


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with MockCluster() as cluster:
        yield cluster


def partition_count(bootstrap_servers: str, topic: str) -> int:
    """How many partitions the cluster says that the topic has."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "log_level": 0})
    return len(producer.list_topics(topic, timeout=GENEROUS_S).topics[topic].partitions)


def test_another_process_reads_each_record_where_it_was_put(cluster: MockCluster) -> None:
    cluster.create_topic("flights", 12)
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
    for partition in range(12):
        producer.produce("flights", value=f"record {partition}", partition=partition)
    assert producer.flush(GENEROUS_S) == 0
    answer = subprocess.run(
        [sys.executable, "-c", READ_BACK, cluster.bootstrap_servers, "flights", "12"],
        capture_output=True,
        text=True,
        check=True,
        timeout=GENEROUS_S,
    )
    assert sorted(answer.stdout.splitlines()) == sorted(f"{p} record {p}" for p in range(12))


@pytest.mark.parametrize("partitions", [1, 3, 12, 1000])
def test_a_topic_has_as_many_partitions_as_asked(cluster: MockCluster, partitions: int) -> None:
    cluster.create_topic("topic", partitions)
    assert partition_count(cluster.bootstrap_servers, "topic") == partitions


def test_a_topic_that_nobody_created_has_four(cluster: MockCluster) -> None:
    assert partition_count(cluster.bootstrap_servers, "typo") == 4


def test_a_full_partition_drops_its_oldest_records(cluster: MockCluster) -> None:
    cluster.create_topic("full", 1)
    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0, "batch.size": 200_000}
    )
    for _ in range(8):
        producer.produce("full", value=bytes(900_000), partition=0)
    assert producer.flush(GENEROUS_S) == 0
    consumer = Consumer(
        {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "reader", "log_level": 0}
    )
    oldest, end = consumer.get_watermark_offsets(TopicPartition("full", 0), timeout=GENEROUS_S)
    consumer.close()
    assert (oldest, end) == (3, 8)


def test_several_brokers_lead_the_partitions_between_them() -> None:
    with MockCluster(brokers=3) as cluster:
        cluster.create_topic("topic", 100)  # librdkafka draws each leader
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
        partitions = producer.list_topics("topic", timeout=GENEROUS_S).topics["topic"].partitions.values()
        assert len({partition.leader for partition in partitions}) == 3
        assert {len(partition.replicas) for partition in partitions} == {3}


@pytest.mark.parametrize("partitions", [0, -1, 100_001, 2**31])
def test_refuses_a_partition_count(cluster: MockCluster, partitions: int) -> None:
    with pytest.raises(InvalidPartitionCountError, match=f"'topic' cannot have {partitions} partitions"):
        cluster.create_topic("topic", partitions)


def test_refuses_a_topic_twice(cluster: MockCluster) -> None:
    cluster.create_topic("topic", 2)
    with pytest.raises(MockClusterError, match=r"topic 'topic' with 3 partitions .* already exists"):
        cluster.create_topic("topic", 3)


def test_refuses_to_have_no_broker() -> None:
    with pytest.raises(InvalidConfigError, match="at least 1 broker, not 0"):
        MockCluster(brokers=0)


def test_a_closed_cluster_answers_nobody(cluster: MockCluster) -> None:
    cluster.close()
    with pytest.raises(KafkaException):
        Producer({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0}).list_topics(timeout=0.5)


def test_closing_twice_does_no_harm(cluster: MockCluster) -> None:
    cluster.close()
    cluster.close()
    with pytest.raises(MockClusterError, match="is closed"):
        cluster.create_topic("topic", 2)


@pytest.mark.skipif(
    not Path("/proc/self").exists(), reason="counts threads and files in /proc, which only Linux has"
)
def test_neither_closing_nor_forgetting_leaves_threads_or_files_behind() -> None:
    def threads_and_files() -> tuple[int, int]:
        return len(list(Path("/proc/self/task").iterdir())), len(list(Path("/proc/self/fd").iterdir()))

    gc.collect()
    before = threads_and_files()
    for turn in range(10):
        cluster = MockCluster(brokers=2)
        if turn % 2:
            cluster.close()
        del cluster
    # Clients of earlier tests open and close a few meanwhile; five clusters that leak have dozens more.
    assert all(now - then < 5 for now, then in zip(threads_and_files(), before, strict=True))


def test_says_what_to_install_without_confluent_kafka(monkeypatch: pytest.MonkeyPatch) -> None:
    mock_cluster._librdkafka.cache_clear()
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(MissingDependencyError, match=r"pip install '.*\[kafka\]'"):
        MockCluster()


def test_says_so_where_librdkafka_has_no_mock(monkeypatch: pytest.MonkeyPatch) -> None:
    other_library = mtrand.__file__
    mock_cluster._librdkafka.cache_clear()
    monkeypatch.setattr(mock_cluster, "_candidates", lambda _: ["no such file", other_library])
    with pytest.raises(MissingDependencyError, match="has no mock cluster"):
        MockCluster()


@pytest.mark.skipif(not BUNDLED, reason="this confluent-kafka is linked to a librdkafka outside its package")
def test_finds_the_bundled_library_where_the_extension_does_not_show_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mock_cluster._librdkafka.cache_clear()
    monkeypatch.setattr(mock_cluster, "_candidates", lambda _: BUNDLED)
    with MockCluster() as cluster:
        cluster.create_topic("topic", 2)
        assert partition_count(cluster.bootstrap_servers, "topic") == 2


def test_importing_it_does_not_import_confluent_kafka() -> None:
    code = "import sys, partitioning.testing.mock_cluster; sys.exit('confluent_kafka' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
