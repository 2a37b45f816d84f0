"""What Spark's calls on the driver ask the cluster."""

from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.admin import AdminClient
from pyspark import cloudpickle
from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

from partitioning.errors import TopicChangedError, UnknownTopicError
from spark_integration.columns import PARTITIONS
from spark_integration.sinks.cluster import WritableTopics
from spark_integration.sinks.options import SinkOptions
from tests.support.broker import Kafka
from tests.support.waiting import GENEROUS_S, wait_until

pytestmark = pytest.mark.needs("data sources")

ROWS = StructType([StructField("value", BinaryType()), StructField("partition", IntegerType())])
OPTIONS = {"kafka.bootstrap.servers": "127.0.0.1:1", "topic": "t"}


waits: list[float] = []
"""Seconds that each question could take."""


@pytest.fixture
def counts_asked(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """How often the cluster was asked, each time for which count; it has no topic of 7 partitions."""
    questions: list[int | None] = []
    waits.clear()

    def answer(_options: SinkOptions, computed_for: int | None, within_s: float) -> WritableTopics:
        questions.append(computed_for)
        waits.append(within_s)
        if computed_for == 7:
            raise UnknownTopicError("there is none")
        return WritableTopics({"t": 6}, {})

    monkeypatch.setattr("spark_integration.sinks.source.checked_topics", answer)
    return questions


def stream_writer(noted: int | None = None) -> Any:
    from spark_integration.sinks.source import KafkaSink

    notes = {} if noted is None else {PARTITIONS: noted}
    rows = StructType([ROWS["value"], StructField("partition", IntegerType(), metadata=notes)])
    return KafkaSink(OPTIONS).streamWriter(schema=rows, overwrite=False)


def test_a_batch_is_checked_before_a_task_starts_and_asks_nothing_when_all_is_written(
    counts_asked: list[int | None],
) -> None:
    from spark_integration.sinks.source import KafkaSink

    writer = KafkaSink(OPTIONS).writer(ROWS, False)
    cloudpickle.dumps(writer)
    writer.commit([None])
    writer.abort([None])
    assert (counts_asked, waits) == ([None], [120.0])


def test_a_micro_batch_asks_once_for_the_writer_of_its_tasks(counts_asked: list[int | None]) -> None:
    writer = stream_writer(6)
    for _ in range(2):  # Spark packs it twice
        cloudpickle.dumps(writer)
    assert writer._destination.topics.counts == {"t": 6}
    assert (counts_asked, waits) == ([6], [120])


def test_to_commit_or_abort_a_micro_batch_nothing_is_asked(counts_asked: list[int | None]) -> None:
    writer = stream_writer(7)
    writer.commit([None], 3)
    writer.abort([None], 3)
    assert counts_asked == []


@pytest.mark.parametrize("micro_batch", [False, True], ids=["batch", "stream"])
def test_a_topic_that_was_created_anew_while_it_was_written_is_no_success(
    broker: Kafka, micro_batch: bool
) -> None:
    from spark_integration.sinks.source import KafkaSink

    topic = broker.create_topic(2)
    sink = KafkaSink({"kafka.bootstrap.servers": broker.bootstrap_servers, "topic": topic})
    writer = sink.streamWriter(ROWS, False) if micro_batch else sink.writer(ROWS, False)
    cloudpickle.dumps(writer)  # as it goes to the tasks
    message = writer.write(iter([pa.record_batch({"value": [b"v"], "partition": pa.array([1], pa.int32())})]))
    commit = partial(writer.commit, [message, None], *([7] if micro_batch else []))
    commit()
    topics = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    topics.delete_topics([topic])[topic].result(GENEROUS_S)
    # The controller has deleted it; the broker that answers still names it for a moment.
    wait_until(lambda: topic not in topics.list_topics(timeout=GENEROUS_S).topics)
    with pytest.raises(TopicChangedError, match=f"topic '{topic}' was deleted while this write ran"):
        commit()
    broker.create_topic(2, name=topic)
    with pytest.raises(TopicChangedError, match=f"'{topic}' was deleted and created anew while this write"):
        commit()


def test_a_micro_batch_that_is_refused_says_so_in_its_tasks_and_asks_once(
    counts_asked: list[int | None],
) -> None:
    writer = stream_writer(7)
    for _ in range(2):
        cloudpickle.dumps(writer)
    with pytest.raises(UnknownTopicError, match="there is none"):
        writer.write(iter([]))
    assert counts_asked == [7]
