"""Write one task's records into its partitions, in transactions that note the progress in the ledger."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import chain, groupby, pairwise
from operator import itemgetter
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any

import confluent_kafka  # only the module, because its classes cannot be pickled
import numpy as np
import pyarrow as pa

from partitioning.clients.contact import machine_faults, pause
from partitioning.clients.delivery import Deliveries, why_failed
from partitioning.clients.ledger import Entry, transactional_id
from partitioning.errors import DeliveryError, FencedError
from spark_integration.errors import RoutingError
from spark_integration.sinks.delivery import send
from spark_integration.sinks.exactly_once.faults import (
    ANSWER_WITHIN_S,
    PATIENCE_S,
    begin,
    call_within,
    check_readable,
    close,
    is_fenced,
    is_passing,
    meaning,
    patiently,
)
from spark_integration.sinks.exactly_once.half_done import SILENT_S, end_dropped, end_elsewhere, end_half_done
from spark_integration.sinks.exactly_once.partitions import (
    drop_clients,
    kept_clients,
    ledger_entries,
    may_hold_records,
)
from spark_integration.sinks.exactly_once.target import (
    Content,
    Target,
    check_begins,
    check_same,
    none_of,
    standing,
)
from spark_integration.sinks.records import HELD_BYTES, records

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

MOST_RECORDS = 1_000_000
MOST_AGE_S = 3.0
"""A transaction ends after `MOST_RECORDS` records or `MOST_AGE_S` seconds, whichever comes first.

Readers of committed records see nothing of a transaction before it ends: its age bounds how long they wait.
"""

SLACK_S = 5.0
"""Seconds that librdkafka may take beyond the limit that it is given."""

_AT_ONCE = 16
"""Number of partitions that one task writes at the same time, each in a thread with its own producer."""

STANDSTILL_S = 20.0
"""Seconds that a fenced task waits while the other task makes no progress; progress starts the wait anew."""


def write_task(batches: Iterable[pa.RecordBatch], target: Target, task: int) -> range:
    """Write a task's records into its partitions by `write_partition`, and return these partitions.

    A task with one partition writes its rows as they arrive. A task with several partitions gets its rows
    sorted by partition. It writes 16 partitions at the same time while it reads on, because a transaction
    spends nearly all of its time waiting for brokers. A partition with more than `HELD_BYTES` of rows is
    written as its rows arrive, before the task reads any further partition.

    Args:
        batches: the task's rows, in the order that they shall have in the topic. If the task has several
            partitions, the rows come in ascending order of the partition.
        target: the version to write.
        task: the number of the Spark partition, from 0.

    Returns:
        The task's partitions: `task`, `task + target.tasks` and so on, below `target.partitions`.

    Raises:
        RoutingError: this task has no partition, or a row belongs to a partition of another task, or the
            rows are not sorted by partition. Some rows before the faulty one may be written already, unless
            it is among the first `HELD_BYTES` of the task's rows.
        ExactlyOnceError, RecordError, DeliveryError: as in `write_partition`.
    """
    _check_task(target, task)
    own = range(task, target.partitions, target.tasks)
    if len(own) == 1:
        write_partition(batches, target, task)
        return own
    runs = _runs(batches, target, task)
    # Read the first rows before anything is written, so that a DataFrame whose first rows are not sorted is
    # refused before anything is written. If a partition were finished and more rows of it came later, the
    # next attempt would find more rows than the ledger counts, and would report changed data.
    ahead = [*_up_to(HELD_BYTES, runs, itemgetter(1))]
    pool, waiting = ThreadPoolExecutor(_AT_ONCE), deque[tuple[int, Future[None]]]()
    rest = set(own)
    try:
        for partition, of_partition in groupby(chain(ahead, runs), itemgetter(0)):
            rest.discard(partition)
            parts = (part for _, part in of_partition)
            held = [*_up_to(HELD_BYTES, parts)]
            size = sum(part.nbytes for part in held)
            if size >= HELD_BYTES:
                write_partition(chain(held, parts), target, partition)
                continue
            waiting.append((size, pool.submit(write_partition, held, target, partition)))
            # The rows of waiting partitions are held in memory, so together they may have `HELD_BYTES`.
            while sum(size for size, _ in waiting) > HELD_BYTES:
                waiting.popleft()[1].result()
        # A partition without rows gets an entry in the ledger too: a missing entry would mean "not written".
        for partition in sorted(rest):
            waiting.append((0, pool.submit(write_partition, (), target, partition)))
        for _, written in waiting:
            written.result()
    finally:
        # A partition whose write has begun is finished first; those that still wait are dropped.
        pool.shutdown(cancel_futures=True)
    return own


def write_partition(batches: Iterable[pa.RecordBatch], target: Target, partition: int) -> None:
    """Write a partition's records, unless they are written already; continue where an earlier attempt ended.

    Another attempt at the same task may fence this one. Then this attempt reads its rows to the end, waits
    for the other attempt, and succeeds if the partition holds exactly these rows.

    Args:
        batches: all records of the partition, in the order that they shall have in the topic.
        target: the version to write.
        partition: the partition's number.

    Raises:
        RoutingError: a row belongs to another partition; nothing of its transaction is written.
        ExactlyOnceError: the ledger forbids to write this version now, or holds other records of it.
        RecordError: a row cannot be a record.
        DeliveryError: the brokers did not accept a record, or do not answer.
    """
    content, held = Content(), none_of(target)
    # The partition may hold the version's first records already. Batches are cut after the last of these:
    # records before the cut are only compared with the ledger's digest, records after it are written.
    rows = _cut(_of_partition(batches, target, partition), lambda: held.records)
    attempt = _Attempt(target, partition, content)
    try:
        held = attempt.begin()
        for batch in rows:
            with attempt.underway():
                content.add(batch)
                if content.records > held.records and not held.done:
                    attempt.produce(batch)
                # All records that the partition holds have been read again. Compare them now, because the
                # records after them may be written only if these are the same.
                elif content.records >= held.records:
                    check_same(target, partition, held, content)
        # If the partition holds more records than this run has rows, this run differs from the earlier one.
        if content.records < held.records:
            check_same(target, partition, held, content)
        if not held.done:
            with attempt.underway():
                attempt.commit(done=True)
    except (confluent_kafka.KafkaException, DeliveryError) as error:
        drop_clients(target)  # the kept clients may be what failed
        reason = attempt.give_up(error)
        if reason is None:
            raise
        if not is_fenced(reason):
            attempt.check_lost()
            raise meaning(reason, target.app_id, target.topic) from error
        for batch in rows:
            content.add(batch)
        check_same(target, partition, attempt.await_the_other(error), content)
    finally:
        attempt.close()


def write_empty(target: Target, partitions: Sequence[int]) -> None:
    """Note in the ledger that a version has no records for these partitions; call it after all its tasks.

    Spark may run fewer tasks than there are partitions: adaptive execution replaces a routed DataFrame
    without rows by an empty one. No record can be missed, because a task refuses rows of other partitions.

    Args:
        target: the version, whose tasks have all ended.
        partitions: the partitions that no task has reported.

    Raises:
        RerunDiffersError: an earlier attempt wrote records of this version to one of the partitions.
        ExactlyOnceError, DeliveryError: as in `write_partition`.
    """
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        # Consume the results, so that an exception of a thread is raised here.
        for _ in pool.map(lambda partition: write_partition((), target, partition), partitions):
            pass


class _Attempt:
    """Owns the producer of one partition, and its open transaction.

    A transaction must not stay open while Spark computes the next rows, so a timer commits it when it reaches
    `MOST_AGE_S`. The task's thread and the timer's thread both use the producer, one at a time: each holds
    `_lock` meanwhile. After the task has failed, the timer commits nothing.

    Attributes:
        _content: the records that the task has read so far; `write_partition` adds to it under the lock.
        _held: the entry that says which records of this version the partition held when the attempt began.
        _failed: the exception that ended the attempt, or None; set under the lock.
        _stuck: True after a call to librdkafka did not return. The producer is not touched after that.
        _timer: commits the open transaction when it is `MOST_AGE_S` old; None while no transaction is open.
        _ends: when the open transaction reaches that age, in seconds of the monotonic clock.
        _begun_at: number of records that `_content` had when the open transaction began.
        _since: the end of committed records in the partition at that time (`Entry.since`).
        _last: the partition's entry in the ledger, of any version, as it was read last; None if it has none.
    """

    def __init__(self, target: Target, partition: int, content: Content) -> None:
        self._target = target
        self._partition = partition
        self._content = content
        self._held = none_of(target)
        self._lock = Lock()
        self._failed: BaseException | None = None
        self._stuck = False
        self._timer: Timer | None = None
        self._ends = 0.0
        self._begun_at = 0
        self._since = -1
        self._last: Entry | None = None
        self._deliveries = Deliveries(target.config, "or more records")
        self._admin, self._group = kept_clients(target)
        own = {
            "transactional.id": transactional_id(target.app_id, target.topic, partition),
            "delivery.report.only.error": True,
            "on_delivery": self._deliveries.report,
        }
        with machine_faults():
            self._producer = confluent_kafka.Producer({**target.config, **own})

    def begin(self) -> Entry:
        """Fence earlier attempts at this partition, and return the entry of the records that they wrote.

        The entry is of this version; it counts no records if they have written none.

        Raises ExactlyOnceError if the ledger forbids to write this version now, and KafkaException if the
        brokers refuse or do not answer.
        """
        admin = self._admin
        self._target = replace(self._target, actual=begin(self._producer, self._target.topic))
        self._held = self._standing(mend=True)
        if not self._held.done:
            end_dropped(admin, self._target, self._partition, self._producer, self._last)
        if self._last is None:
            holds = partial(may_hold_records, admin, self._target, self._partition)
            check_begins(self._target, self._partition, partial(holds, fenced=True))
        return self._held

    @contextmanager
    def underway(self) -> Iterator[None]:
        """Hold the lock while the task works, and note an exception that ends its work in `_failed`."""
        with self._lock:
            try:
                yield
            except BaseException as error:
                self._failed = error
                raise

    def produce(self, batch: pa.RecordBatch) -> None:
        """Write a batch, whose records `_content` counts already; begin a transaction if none is open.

        Commits the transaction if it has `MOST_RECORDS` records or has reached its age. The lock is held.
        """
        self._check_failed()
        if self._timer is None:
            self._open(self._content.records - batch.num_rows)
        target = self._target
        counts = {target.topic: target.partitions}
        columns = records(batch, counts, target.topic, target.partitions, target.rule)
        send(self._producer, self._deliveries, columns)
        self._deliveries.serve(self._producer.poll, 0)
        self._deliveries.check()
        if self._content.records - self._begun_at >= MOST_RECORDS or time.monotonic() >= self._ends:
            self.commit(done=False)

    def commit(self, *, done: bool) -> None:
        """Commit the transaction together with the partition's entry in the ledger. The lock is held.

        Args:
            done: True if the entry shall say that the partition has all records of this version.

        Raises:
            DeliveryError: librdkafka did not return in time; the producer is left alone after that.
            KafkaException: the brokers refuse, or do not answer for the transaction's timeout.
        """
        self._check_failed()
        if self._timer is None:
            self._open(self._content.records)
        target, content = self._target, self._content
        entry = replace(
            self._held,
            records=content.records,
            digest=content.digest(),
            done=done,
            since=self._since,
            added=content.records - self._begun_at,
        )
        place = confluent_kafka.TopicPartition(
            target.topic, self._partition, target.version, metadata=entry.metadata()
        )
        group = self._group.consumer_group_metadata()
        send_offsets, end = self._producer.send_offsets_to_transaction, self._producer.commit_transaction
        # After `transaction.timeout.ms` the cluster aborts the transaction itself: no later try can help.
        limit_s = target.longest_transaction_s
        try:
            for call in (lambda within_s: send_offsets([place], group, within_s), end):
                # The call with the offsets comes first, then the commit. Either call may never return if a
                # coordinator goes away.
                call_within(partial(patiently, call, limit_s), limit_s + SLACK_S)
        except TimeoutError:
            self._stuck = True
            raise DeliveryError(
                f"{target}: the brokers did not end a transaction of partition {self._partition} within "
                f"{limit_s + SLACK_S:g} s; was one of them away? Write this version again: it goes on there"
            ) from None
        self._stop_timer()

    def give_up(self, error: Exception) -> KafkaError | None:
        """Abort the open transaction, and return why it failed, which the first error does not always tell.

        Returns None if `error` itself is the reason.

        Args:
            error: the error that ended the attempt.
        """
        self._stop_timer()
        if self._stuck:
            return None
        reason = None
        if isinstance(error, confluent_kafka.KafkaException):
            reason = why_failed(self._producer, error.args[0])
        try:
            self._producer.abort_transaction(ANSWER_WITHIN_S)
        except confluent_kafka.KafkaException as deeper:
            reason = deeper.args[0] if deeper.args[0].fatal() else reason
        return reason

    def check_lost(self) -> None:
        """Raise DeliveryError if a record was not delivered; a transaction's error does not say which one."""
        self._deliveries.check()

    def await_the_other(self, fenced: Exception) -> Entry:
        """Return the partition's entry of this version once the attempt that fenced this one has finished.

        Raises FencedError if that attempt makes no progress for `STANDSTILL_S`.

        Args:
            fenced: the error by which this attempt learnt that it is fenced.
        """
        before, patience_ends = none_of(self._target), time.monotonic() + STANDSTILL_S
        while time.monotonic() < patience_ends:
            now = self._standing()
            if now.done:
                return now
            if now != before:
                before, patience_ends = now, time.monotonic() + STANDSTILL_S
            pause(0.5)
        raise FencedError(
            f"{self._target}: another writer has taken partition {self._partition} over, or the brokers "
            "ended a transaction for its age, and nobody came further than "
            f"{before.records} records in {STANDSTILL_S:g} s. Do two applications, or two drivers, use "
            f"txnAppId {self._target.app_id!r}? Or did this task stand still for longer than "
            "'kafka.transaction.timeout.ms'? Then write this version again: it goes on there"
        ) from fenced

    def close(self) -> None:
        """Abort an open transaction, and close the producer's connections."""
        with self._lock:  # so that a commit of the timer's thread ends first
            if self._stuck:
                return  # closing would wait for the call that never returns
            if self._timer is not None:
                self._stop_timer()
                with suppress(confluent_kafka.KafkaException):
                    self._producer.abort_transaction(ANSWER_WITHIN_S)
        close(self._producer)

    def _standing(self, *, mend: bool = False) -> Entry:
        """Return the partition's entry of this version, and keep its last entry in the ledger in `_last`.

        If `mend`, a half-done transaction that makes the ledger unreadable is ended first.
        """
        self._last = entry = self._entry(self._partition, mend=mend)
        anchor = None
        if entry is None and self._partition:
            anchor = self._entry(0, mend=mend)
        return standing(self._target, self._partition, entry, anchor)

    def _entry(self, partition: int, *, mend: bool) -> Entry | None:
        """Return a partition's entry in the ledger once no open transaction could change it; None if missing.

        Args:
            partition: this attempt's own partition, or partition 0.
            mend: whether to end a transaction that stays open for `SILENT_S`.

        Raises:
            KafkaException: the entry cannot be read for `PATIENCE_S`.
            LedgerInUseError: another application wrote the entry.
        """
        place = confluent_kafka.TopicPartition(self._target.topic, partition)

        def ask(limit_s: float) -> Sequence[confluent_kafka.TopicPartition]:
            return check_readable(self._group.committed([place], limit_s))

        try:
            offsets = patiently(ask, SILENT_S if mend else PATIENCE_S)
        except confluent_kafka.KafkaException as error:
            if not mend or not is_passing(error.args[0]):
                raise
            if partition == self._partition:
                end_half_done(self._target, partition, self._producer)
            else:
                end_elsewhere(self._target, partition)
            offsets = patiently(ask, PATIENCE_S)
        return ledger_entries(self._target, offsets)[partition]

    def _open(self, begun_at: int) -> None:
        """Begin a transaction, note how far readers of committed records can read, and start its timer.

        Args:
            begun_at: number of records of the version that come before this transaction.
        """
        self._producer.begin_transaction()
        self._begun_at = begun_at
        place = confluent_kafka.TopicPartition(self._target.topic, self._partition)
        self._since = patiently(
            lambda limit_s: self._group.get_watermark_offsets(place, min(limit_s, ANSWER_WITHIN_S)),
            PATIENCE_S,
        )[1]
        self._ends = time.monotonic() + MOST_AGE_S
        self._timer = timer = Timer(MOST_AGE_S, lambda: self._end_for_age(timer))
        timer.daemon = True
        timer.start()

    def _end_for_age(self, timer: Timer) -> None:
        """Commit the open transaction, unless it has ended or the attempt failed; the timer's thread runs it.

        Args:
            timer: the timer that has fired.
        """
        with self._lock:
            # Another transaction may have begun while this thread waited for the lock.
            if self._timer is timer and self._failed is None:
                try:
                    self.commit(done=False)
                except Exception as error:  # noqa: BLE001 - it is raised where the task goes on
                    self._failed = error

    def _check_failed(self) -> None:
        """Raise the error of a commit by the timer that failed while the task waited for its next rows."""
        if self._failed is not None:
            raise self._failed

    def _stop_timer(self) -> None:
        """Cancel the timer and set it to None, which means that no transaction is open."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _check_task(target: Target, task: int) -> None:
    """Raise RoutingError if rows reach a Spark partition to which no Kafka partition is assigned."""
    if task >= target.tasks:
        raise RoutingError(
            f"{target}: task {task} has no partition, as rows were placed for {target.partitions}, in "
            f"{target.tasks} tasks: call route(df, {target.partitions}) last before the write, without lanes"
        )


def _of_partition(
    batches: Iterable[pa.RecordBatch], target: Target, partition: int
) -> Iterator[pa.RecordBatch]:
    """Yield the batches unchanged; raise RoutingError at the first one with a row of another partition."""
    for batch in batches:
        column = batch.column("partition")
        others = set(column.unique().to_pylist()) - {partition}
        if others:
            some = ", ".join(sorted(map(str, others))[:3])
            raise RoutingError(
                f"{target}: task {partition} holds rows of partition {some}; each task writes the partition "
                f"of its own number. Call route(df, {target.partitions}) last before the write: coalesce, "
                "repartition, orderBy, limit, union and joins destroy its layout"
            )
        yield batch


def _runs(
    batches: Iterable[pa.RecordBatch], target: Target, task: int
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield (partition, rows) for each run of neighbouring rows of one partition, partitions ascending.

    A partition comes again if its rows are spread over several batches.

    Raises:
        RoutingError: a row belongs to a partition of another task, or to a lower one than the row before.
    """
    last = -1
    for batch in batches:
        column = batch.column("partition").fill_null(-1).to_numpy()
        edges = np.flatnonzero(column[1:] != column[:-1]) + 1
        for first, end in pairwise([0, *edges.tolist(), len(column)] if len(column) else []):
            partition = int(column[first])
            if not 0 <= partition < target.partitions or partition % target.tasks != task:
                raise RoutingError(
                    f"{target}: task {task} of {target.tasks} holds a row of partition "
                    f"{partition if partition >= 0 else 'null'}, which is not one of its own. Call "
                    f"route(df, {target.partitions}, tasks={target.tasks}) last before the write: coalesce, "
                    "repartition, orderBy, limit, union and joins destroy its layout"
                )
            if partition < last:
                raise RoutingError(
                    f"{target}: task {task} of {target.tasks} gets rows of partition {partition} after those "
                    f"of partition {last}. A task that has several writes one after another: follow "
                    "route() with sortWithinPartitions('partition', ...), or, where nothing sorts, as in "
                    "writeStream, call route() without tasks"
                )
            last = partition
            yield partition, batch.slice(first, end - first)


def _up_to(
    most_bytes: int, items: Iterator[Any], batch_of: Callable[[Any], pa.RecordBatch] = lambda item: item
) -> Iterator[Any]:
    """Yield the next items until their batches have `most_bytes` together; the last one may exceed that.

    Items that are not yielded stay in the iterator.
    """
    size = 0
    while size < most_bytes and (item := next(items, None)) is not None:
        # For a slice of a larger batch, `nbytes` counts the bytes of its own rows only.
        size += batch_of(item).nbytes
        yield item


def _cut(batches: Iterable[pa.RecordBatch], at: Callable[[], int]) -> Iterator[pa.RecordBatch]:
    """Yield the batches that have rows; cut one of them after the record number `at()`, counted from 1.

    Args:
        batches: the rows of a partition.
        at: asked anew for each batch, because the caller learns the number only after it has begun.
    """
    counted = 0
    for batch in batches:
        head = at() - counted
        counted += batch.num_rows
        parts = (batch.slice(0, head), batch.slice(head)) if 0 < head < batch.num_rows else (batch,)
        yield from (part for part in parts if part.num_rows)
