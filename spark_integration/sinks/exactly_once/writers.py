"""Implement Spark's writer interfaces (Spark 4.0 and newer) for exactly-once writes and for streams."""

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
"""The local property of a task in which Spark passes the number of the micro-batch."""

# Since Spark 4.1 a stream's writer gets Arrow batches; in older versions it gets rows.
_StreamWriterBase: Any = getattr(datasource, "DataSourceStreamArrowWriter", datasource.DataSourceStreamWriter)


@dataclass(frozen=True)
class _WrittenPartitions(datasource.WriterCommitMessage):
    """Tells the driver which Kafka partitions a task has written, those without rows included."""

    partitions: range


class OnceBatchWriter(datasource.DataSourceArrowWriter):
    """Writes one version of a batch exactly once.

    Spark makes it on the driver, pickles it for the tasks, and calls `commit` or `abort` on the driver.
    """

    def __init__(self, target: Target) -> None:
        # The cluster is asked in `__init__`, which Spark calls on the driver: an error here fails the query
        # before any task runs.
        self._target = prepare(target)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> datasource.WriterCommitMessage:
        """Write one task's rows; Spark calls it in the task. Errors are as in `write_task`."""
        return _WrittenPartitions(write_task(as_batches(iterator), self._target, _task().partitionId()))

    def commit(self, messages: list[datasource.WriterCommitMessage | None]) -> None:
        """Finish the version after all tasks have succeeded, and check that the ledger has all of it."""
        write_empty(self._target, _unwritten(self._target, messages))
        check_after(self._target)

    def abort(self, messages: list[datasource.WriterCommitMessage | None]) -> None:
        """End the transactions of failed tasks; Spark calls it after a task's last attempt failed."""
        _fence_rest(self._target, messages)


class StreamWriter(_StreamWriterBase):  # type: ignore[misc]
    """Writes the micro-batches of a stream.

    Spark makes two instances: one that it pickles for the tasks, and one in another process that commits or
    aborts. Only the first one calls `_ask`, when it is pickled. So if the cluster does not answer, the
    micro-batch fails before its tasks write, and not after all of them have written.

    Attributes:
        _refused: the error that `_ask` raised, which each task raises again; None if there was none.
    """

    _refused: CopartitionError | None = None

    def __getstate__(self) -> dict[str, Any]:
        try:
            if self._refused is None:
                self._ask()
        except CopartitionError as error:
            # The error is kept for the tasks to raise: if it were raised here, Spark would report a failure
            # to pickle.
            self._refused = error
        return self.__dict__

    def write(self, iterator: Iterator[Any]) -> datasource.WriterCommitMessage:
        """Write one task's rows; raise instead if the cluster refused the write before the task began."""
        if self._refused is not None:
            raise self._refused
        return self._take(iterator)

    @abstractmethod
    def _ask(self) -> None:
        """Ask the cluster for the facts that the tasks need, and keep them in this writer."""

    @abstractmethod
    def _take(self, items: Iterator[Any]) -> datasource.WriterCommitMessage:
        """Write one task's rows, and return the facts about them that the driver needs."""


class OnceStreamWriter(StreamWriter):
    """Writes each micro-batch exactly once; its version is the micro-batch's number."""

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
        # The writer is made without the number of the micro-batch: only tasks, `commit` and `abort` get it.
        target = begun_before(replace(self._target, version=int(batch)))
        return _WrittenPartitions(write_task(as_batches(items), target, task.partitionId()))

    def commit(self, messages: list[datasource.WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Finish a micro-batch after all tasks have succeeded, and check that the ledger has all of it."""
        target = replace(self._target, version=batchId)
        if left_out := _unwritten(target, messages):
            write_empty(begun_before(look_up(target)), left_out)
        # A batch checks this before its tasks. A stream checks it here, because nothing of a micro-batch runs
        # on the driver before the tasks.
        check_alone(target)
        check_after(target)

    def abort(self, messages: list[datasource.WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """End the transactions of failed tasks; Spark calls it after a task's last attempt failed."""
        _fence_rest(replace(self._target, version=batchId), messages)


def _fence_rest(target: Target, messages: Iterable[datasource.WriterCommitMessage | None]) -> None:
    """End the transactions that tasks without a report have left open.

    This stops after the transaction timeout: by then the brokers have ended those transactions themselves.
    """
    fence(target, _unwritten(target, messages), within_s=target.longest_transaction_s)


def _task() -> TaskContext:
    """Return Spark's context of this task."""
    return cast(TaskContext, TaskContext.get())


def _unwritten(target: Target, messages: Iterable[datasource.WriterCommitMessage | None]) -> list[int]:
    """Return the partitions that no task has reported as written, ascending."""
    # `cast` is used, not isinstance(): this package is pickled by value for the tasks, so a task's message is
    # of another class than `_WrittenPartitions` here.
    tasks = [cast(_WrittenPartitions, message).partitions for message in messages if message is not None]
    return sorted(set(range(target.partitions)).difference(*tasks))
