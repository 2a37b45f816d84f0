"""What Spark's calls on the driver ask the cluster."""

from collections.abc import Mapping
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

from partitioning.errors import UnknownTopicError
from spark_integration.columns import PARTITIONS
from spark_integration.sinks.options import SinkOptions

pytestmark = pytest.mark.needs("data sources")

ROWS = StructType([StructField("value", BinaryType()), StructField("partition", IntegerType())])
OPTIONS = {"kafka.bootstrap.servers": "127.0.0.1:1", "topic": "t"}


@pytest.fixture
def counts_asked(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """How often the cluster was asked, each time for which count; it has no topic of 7 partitions."""
    questions: list[int | None] = []

    def answer(_options: SinkOptions, computed_for: int | None) -> Mapping[str, int]:
        questions.append(computed_for)
        if computed_for == 7:
            raise UnknownTopicError("there is none")
        return {"t": 6}

    monkeypatch.setattr("spark_integration.sinks.source.checked_counts", answer)
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
    assert counts_asked == [None]


def test_a_micro_batch_asks_once_for_the_writer_of_its_tasks(counts_asked: list[int | None]) -> None:
    writer = stream_writer(6)
    for _ in range(2):  # Spark packs it twice
        cloudpickle.dumps(writer)
    assert writer._destination.counts == {"t": 6}
    assert counts_asked == [6]


def test_to_commit_or_abort_a_micro_batch_nothing_is_asked(counts_asked: list[int | None]) -> None:
    writer = stream_writer(7)
    writer.commit([None], 3)
    writer.abort([None], 3)
    assert counts_asked == []


def test_a_micro_batch_that_is_refused_says_so_in_its_tasks_and_asks_once(
    counts_asked: list[int | None],
) -> None:
    writer = stream_writer(7)
    for _ in range(2):
        cloudpickle.dumps(writer)
    with pytest.raises(UnknownTopicError, match="there is none"):
        writer.write(iter([]))
    assert counts_asked == [7]
