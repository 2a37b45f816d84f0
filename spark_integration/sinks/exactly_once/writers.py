"""Spark's interface around an exactly-once write, since Spark 4.0, and what writers of streams share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import datasource

from partitioning.errors import CopartitionError, InvalidConfigError
from spark_integration.sinks.exactly_once.driver import (
    begun_before,
    check_after,
    check_alone,
    look_up,
    prepare,
)
from spark_integration.sinks.exactly_once.half_done import fence
from spark_integration.sinks.exactly_once.target import Target
from spark_integration.sinks.exactly_once.writing import write_empty, write_task
from spark_integration.sinks.records import as_batches

_BATCH_ID = "streaming.sql.batchId"
"""Under which name a stream's tasks find their micro-batch."""

# Arrow batches reach a stream's writer since Spark 4.1, rows before.
_StreamWriterBase: Any = getattr(datasource, "DataSourceStreamArrowWriter", datasource.DataSourceStreamWriter)


@dataclass(frozen=True)
class _WrittenPartitions(datasource.WriterCommitMessage):
    """Tells the driver which partitions a task wrote."""

    partitions: range


class OnceBatchWriter(datasource.DataSourceArrowWriter):
    """Writes one version, exactly once."""

    def __init__(self, target: Target) -> None:
        # In `__init__`: Spark makes the writer on the driver, and an error here fails the query before any
        # task.
        self._target = prepare(target)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> datasource.WriterCommitMessage:
        """Write one task's rows."""
        return _WrittenPartitions(write_task(as_batches(iterator), self._target, _task().partitionId()))

    def commit(self, messages: list[datasource.WriterCommitMessage | None]) -> None:
        """All tasks have ended."""
        write_empty(self._target, _unwritten(self._target, messages))
        check_after(self._target)

    def abort(self, messages: list[datasource.WriterCommitMessage | None]) -> None:
        """A task has failed for good."""
        _fence_rest(self._target, messages)


class StreamWriter(_StreamWriterBase):  # type: ignore[misc]
    """Spark makes one that goes to the tasks, and another, in another process, to commit or to abort.

    Only what goes to the tasks asks the cluster. That cannot fail a micro-batch whose rows are all there.
    """

    _refused: CopartitionError | None = None

    def __getstate__(self) -> dict[str, Any]:
        try:
            if self._refused is None:
                self._ask()
        except CopartitionError as error:
            self._refused = error  # Spark would show an error of here as one of pickling
        return self.__dict__

    def write(self, iterator: Iterator[Any]) -> datasource.WriterCommitMessage:
        """Write one task's rows."""
        if self._refused is not None:
            raise self._refused
        return self._take(iterator)

    @abstractmethod
    def _ask(self) -> None:
        """Ask the cluster what the tasks need to know."""

    @abstractmethod
    def _take(self, items: Iterator[Any]) -> datasource.WriterCommitMessage:
        """Write one task's rows."""


class OnceStreamWriter(StreamWriter):
    """Writes a micro-batch, exactly once; tasks read its number from Spark."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def _ask(self) -> None:
        self._target = look_up(self._target)

    def _take(self, items: Iterator[Any]) -> datasource.WriterCommitMessage:
        task = _task()
        batch = task.getLocalProperty(_BATCH_ID)
        if not batch:
            raise InvalidConfigError(
                "this Spark does not pass the micro-batch to a stream's tasks, which 'exactlyOnce' needs: "
                "write in foreachBatch, with write_exactly_once()"
            )
        # A stream's writer is made once; the micro-batch is known to its tasks only.
        target = begun_before(replace(self._target, version=int(batch)))
        return _WrittenPartitions(write_task(as_batches(items), target, task.partitionId()))

    def commit(self, messages: list[datasource.WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """All tasks have ended."""
        target = replace(self._target, version=batchId)
        if left_out := _unwritten(target, messages):
            write_empty(begun_before(look_up(target)), left_out)
        # Of a stream this is asked at the end, as nothing runs on the driver before the tasks.
        check_alone(target)
        check_after(target)

    def abort(self, messages: list[datasource.WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """A task has failed for good."""
        _fence_rest(replace(self._target, version=batchId), messages)


def _fence_rest(target: Target, messages: Iterable[datasource.WriterCommitMessage | None]) -> None:
    """End what tasks that did not report have left open, for as long as the brokers would take to do so."""
    fence(target, _unwritten(target, messages), within_s=target.longest_transaction_s)


def _task() -> TaskContext:
    """Return Spark's context of this task."""
    return cast(TaskContext, TaskContext.get())


def _unwritten(target: Target, messages: Iterable[datasource.WriterCommitMessage | None]) -> list[int]:
    """Return the partitions that no task has written, ascending."""
    # The classes of what was pickled by value are not the same here.
    tasks = [cast(_WrittenPartitions, message).partitions for message in messages if message is not None]
    return sorted(set(range(target.partitions)).difference(*tasks))
