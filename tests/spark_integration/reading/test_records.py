"""How a task reads a range, on a mock cluster and without Spark."""

from contextlib import closing
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Producer

from partitioning.errors import BrokerUnreachableError, UnknownTopicError
from partitioning.testing.mock_cluster import MockCluster
from spark_integration.errors import DataLossError, ReadError
from spark_integration.reading import cluster, records
from spark_integration.reading.cluster import ClusterReader, OffsetRange
from spark_integration.reading.options import read_options
from tests.support.waiting import GENEROUS_S

OFFSETS = pa.schema([pa.field("offset", pa.int64())])


def config(servers: str) -> dict[str, str]:
    return dict(read_options({"bootstrap.servers": servers, "subscribe": "any"}, {}).config)


def offsets(mock: MockCluster, wanted: OffsetRange, *, fails: bool = True) -> list[list[int]]:
    """Those of each batch."""
    batches = records.read_ranges([wanted], config(mock.bootstrap_servers), OFFSETS, fail_on_data_loss=fails)
    return [batch["offset"].to_pylist() for batch in batches]


@pytest.fixture(scope="module")
def topic(mock_cluster: MockCluster) -> str:
    mock_cluster.create_topic("read-back", 2)
    producer = Producer({"bootstrap.servers": mock_cluster.bootstrap_servers})
    for _ in range(300):
        producer.produce("read-back", bytes(10_000), partition=1)
    assert producer.flush(GENEROUS_S) == 0
    return "read-back"


def test_a_range_is_read_in_order_and_to_its_end(mock_cluster: MockCluster, topic: str) -> None:
    batches = offsets(mock_cluster, OffsetRange(topic, 1, 10, 290))
    assert [offset for batch in batches for offset in batch] == list(range(10, 290))


def test_ranges_of_several_partitions_are_read_one_after_the_other(
    mock_cluster: MockCluster, topic: str
) -> None:
    mock_cluster.create_topic("few-each", 3)
    producer = Producer({"bootstrap.servers": mock_cluster.bootstrap_servers})
    for row in range(90):
        producer.produce("few-each", b"%d" % row, partition=row % 3)
    assert producer.flush(GENEROUS_S) == 0
    wanted = [
        OffsetRange("few-each", 2, 5, 20),
        OffsetRange(topic, 1, 290, 300),
        OffsetRange("few-each", 0, 0, 30),
    ]
    schema = pa.schema([("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())])
    read = records.read_ranges(wanted, config(mock_cluster.bootstrap_servers), schema, fail_on_data_loss=True)
    found = [tuple(row.values()) for batch in read for row in batch.to_pylist()]
    assert found == [(name, partition, at) for name, partition, *ends in wanted for at in range(*ends)]


@pytest.mark.every_spark
@pytest.mark.needs("data sources")
@pytest.mark.parametrize(
    ("error", "ended"), [(BrokenPipeError, [0]), (ConnectionResetError, [0]), (ValueError, [])]
)
def test_a_worker_ends_without_a_word_if_spark_hangs_up_in_its_middle(
    mock_cluster: MockCluster, topic: str, monkeypatch: pytest.MonkeyPatch, error: type, ended: list[int]
) -> None:
    from pyspark.sql.types import StructType
    from pyspark.sql.worker.plan_data_source_read import records_to_arrow_batches

    codes: list[int] = []
    monkeypatch.setattr(records.os, "_exit", codes.append)
    settings = config(mock_cluster.bootstrap_servers)
    read = records.read_ranges([OffsetRange(topic, 1, 0, 300)], settings, OFFSETS, fail_on_data_loss=True)
    # A worker reads through this generator of Spark's, and closes it while it handles the error.
    through: Any = records_to_arrow_batches(read, 10_000, StructType().add("offset", "long"), None)
    del read
    next(through)
    with pytest.raises(error), closing(through):
        raise error
    assert codes == ended


def test_a_partition_that_is_gone_is_passed_over_and_the_others_are_read(
    mock_cluster: MockCluster, topic: str
) -> None:
    wanted = [OffsetRange(topic, 7, 0, 5), OffsetRange(topic, 1, 1000, 1010), OffsetRange(topic, 0, 0, 0)]
    settings = config(mock_cluster.bootstrap_servers)
    assert [*records.read_ranges(wanted, settings, OFFSETS, fail_on_data_loss=False)] == []


def test_a_batch_is_bounded_in_bytes(
    mock_cluster: MockCluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "BATCH_BYTES", 200_000)
    first, *others = offsets(mock_cluster, OffsetRange(topic, 1, 0, 300))
    assert len(first) <= 100  # nothing is known of the sizes yet
    assert {len(batch) for batch in others[:-1]} == {20}


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (("read-back", 1, 1000, 1010), "no longer has offset 1,000, and offsets 1,000 to 1,009"),
        (("read-back", 7, 0, 10), "partition 7: the cluster no longer has it"),
    ],
    ids=["offset", "partition"],
)
def test_what_is_gone_ends_a_read_or_is_passed_over(
    mock_cluster: MockCluster, topic: str, wanted: tuple, message: str
) -> None:
    with pytest.raises(DataLossError, match=message):
        offsets(mock_cluster, OffsetRange(*wanted))
    assert offsets(mock_cluster, OffsetRange(*wanted), fails=False) == []


def test_a_record_that_does_not_come_is_told(
    mock_cluster: MockCluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "SILENT_S", 1.0)
    with pytest.raises(ReadError, match=r"no record from offset 300 on for 1 s.*up to 304"):
        offsets(mock_cluster, OffsetRange(topic, 1, 299, 305))


@pytest.mark.live
def test_a_cluster_that_does_not_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "ANSWER_WITHIN_S", 1.0)
    with (
        ClusterReader(config("127.0.0.1:1")) as asked,
        pytest.raises(BrokerUnreachableError, match=r"127\.0\.0\.1:1"),
    ):
        asked.places(["orders"])


def test_asking_for_a_topic_does_not_create_it(mock_cluster: MockCluster) -> None:
    with ClusterReader(config(mock_cluster.bootstrap_servers)) as asked:
        for _ in range(2):
            with pytest.raises(UnknownTopicError, match="has no topic 'nobody-made-it'"):
                asked.places(["nobody-made-it"])
