"""Names what is written where, and reads what the ledger says of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from partitioning.clients.delivery import time_setting
from partitioning.clients.ledger import FORMAT, Entry
from partitioning.errors import InvalidConfigError, TopicChangedError
from partitioning.keys import key_column
from spark_integration.errors import (
    HalfWrittenError,
    LedgerAheadError,
    LedgerMissingError,
    PartitionCountError,
    RerunDiffersError,
)
from spark_integration.sinks.options import SinkOptions
from spark_integration.sinks.placement import KeyRule
from spark_integration.sinks.records import ARROW_TYPES

_NO_TIME = -(2**63)


class Content:
    """The records of one partition so far: how many they are, and a digest of exactly these.

    Of each column the lengths are hashed for themselves and the bytes for themselves: whole columns at a
    time, without a loop over records, and with the same result wherever a batch is cut. A column that is
    missing is one of nulls.

    Attributes:
        records: how many records there are so far.
        _streams: a hash for each column's lengths and for its bytes, by name.
    """

    def __init__(self) -> None:
        self.records = 0
        self._streams: dict[str, Any] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        """Take note of the next records."""
        for name in ("key", "value", "headers", "timestamp"):
            present = name in batch.schema.names
            self._add(name, batch.column(name) if present else pa.nulls(batch.num_rows, ARROW_TYPES[name]))
        self.records += batch.num_rows

    def digest(self) -> str:
        """Return the digest of the records so far."""
        whole = sha256()
        for name in sorted(self._streams):
            whole.update(name.encode() + b"=" + self._streams[name].digest())
        return whole.hexdigest()

    def _add(self, name: str, column: pa.Array) -> None:
        """Hash one column: its lengths, -1 for a null, then its bytes; of headers both fields likewise."""
        # Microseconds as they are: a null gets a number that no time has.
        if pa.types.is_timestamp(column.type):
            self._hash(name, column.cast(pa.int64()).fill_null(_NO_TIME).to_numpy())
            return
        nested = pa.types.is_nested(column.type)
        lengths = (pc.list_value_length if nested else pc.binary_length)(column)
        self._hash(f"{name}.length", lengths.cast(pa.int64()).fill_null(-1).to_numpy())
        # A null slot may hide bytes, which another batch would not have.
        present = column.drop_null() if column.null_count else column
        if nested:
            for field in ("key", "value"):
                self._add(f"{name}.{field}", pc.struct_field(present.flatten(), field))
            return
        self._hash(f"{name}.data", key_column(present).data)

    def _hash(self, name: str, data: Any) -> None:
        """Feed bytes to the hash of this name."""
        self._streams.setdefault(name, sha256()).update(data)


@dataclass(frozen=True, slots=True)
class Target:
    """One version of an application's records, on its way to a topic.

    Attributes:
        topic_id: the topic's id in the cluster.
        actual: how many partitions it has.
        partitions: for how many the rows were placed.
        rule: where keyed rows have to be; None if that is not known.
        first_version: the version that begins a ledger, whatever records there are; None if none is said
            to, so that version 0 begins one in partitions without records.
        config: librdkafka's producer settings.
        topic: its name.
        app_id: who writes.
        version: number of this version, 0 or more.
        begun: whether a part of this version is in already, placed for as many partitions as `partitions`.
        shared_by: how many tasks write it, if fewer than partitions; task i then has the partitions p with
            p % shared_by == i. None for a task each.
    """

    config: Mapping[str, str] = field(repr=False)  # it may hold a password
    topic: str
    topic_id: str
    actual: int
    partitions: int
    rule: KeyRule | None
    app_id: str
    version: int
    first_version: int | None
    begun: bool = False
    shared_by: int | None = None

    @property
    def tasks(self) -> int:
        """Number of tasks that have a partition."""
        return min(self.partitions, self.shared_by or self.partitions)

    @property
    def longest_transaction_s(self) -> float:
        """Seconds that a transaction that no producer ends stays open at the brokers."""
        return time_setting(self.config, "transaction.timeout.ms", 60_000, 2**31 - 1) / 1000

    def __str__(self) -> str:
        return f"version {self.version} of {self.app_id!r} in topic {self.topic!r}"


def target_of(
    options: SinkOptions,
    placed_for: int | None,
    rule: KeyRule | None,
    *,
    stream: bool,
    tasks: int | None = None,
) -> Target:
    """Return what was asked for, before the cluster is; `placed_for` is the rows' partition count, if known.

    InvalidConfigError if there is no topic, no name for what is written, or no `placed_for`.

    Args:
        options: of the write.
        placed_for: for how many partitions rows were placed; None if it is not known.
        rule: where keyed rows have to be.
        stream: whether a stream asks, whose versions are its micro-batches.
        tasks: in how many Spark partitions the rows are laid out; None for one for each Kafka partition.
    """
    once = options.once
    if once is None or once.stream != stream:
        raise InvalidConfigError(
            "a stream's versions are its micro-batches: give 'exactlyOnce' for writeStream, and 'txnAppId' "
            "with 'txnVersion' for df.write and in foreachBatch"
        )
    if options.topic is None:
        raise InvalidConfigError("an exactly-once write goes to one topic: give the option 'topic'")
    if placed_for is None:
        raise InvalidConfigError(
            "an exactly-once write needs to know for how many partitions its rows were placed: compute "
            "column 'partition' with kafka_partition(), which notes it, or give the option 'partitions'"
        )
    return Target(
        config=options.config,
        topic=options.topic,
        topic_id="",
        actual=0,
        partitions=placed_for,
        shared_by=tasks,
        rule=rule,
        app_id=once.app_id,
        version=once.version,
        first_version=once.first_version,
    )


def none_of(target: Target, before: int = 0) -> Entry:
    """Return the entry of a version of which a partition holds nothing; `before` as in `Entry`."""
    return Entry(
        version=target.version,
        records=0,
        digest="",
        done=False,
        partitions=target.partitions,
        before=before,
        topic_id=target.topic_id,
        format=FORMAT,
    )


def standing(target: Target, partition: int, entry: Entry | None, anchor: Entry | None) -> Entry:
    """Return what a partition holds of a version, by its entry in the ledger and partition 0's (`anchor`).

    A version may follow any lower one that is done, and may be run again until a higher one begins. The first
    version finds no ledger; after that only a partition that the topic has grown by has none. Either asks
    that no records are in such a partition: `check_begins`.

    Raises:
        ExactlyOnceError: a subclass that names why this version cannot be written now.
        PartitionCountError: rows were placed for another count than the topic has.
    """
    for last in (entry, anchor):
        if last is not None:
            _check_follows(target, partition if last is entry else 0, last)
    if (last := entry or anchor) is not None and last.version == target.version:
        _check_count_again(target, last, done=last.done and last is entry)
    elif not target.begun:
        _check_count(target)
    if entry is None:
        return none_of(target, _before(target, partition, anchor))
    return none_of(target, entry.partitions) if entry.version < target.version else entry


def check_begins(target: Target, partition: int, holds_records: Callable[[], bool]) -> None:
    """Raise LedgerMissingError if a version may be in a partition of which the ledger says nothing.

    Whether it holds records is asked where nobody said that this is the first version.
    """
    if target.version != target.first_version and holds_records():
        raise LedgerMissingError(
            f"{target}: partition {partition} has records, or had some, of which the ledger says nothing. "
            "They are somebody else's; or they are this version's, and its ledger was forgotten, or expired "
            "after offsets.retention.minutes without a new version (7 days unless set). Read the partition "
            "with isolation.level=read_committed to find out. If no record of this version is there, say so "
            f"for this one write with the option txnFirstVersion={target.version}"
        )


def _check_follows(target: Target, partition: int, entry: Entry) -> None:
    """Raise unless this version may follow what an entry of the ledger says.

    Args:
        target: the version.
        partition: whose entry it is.
        entry: what that partition holds.
    """
    where = f"partition {partition}"
    if entry.topic_id != target.topic_id:
        raise TopicChangedError(
            f"{target}: the ledger is of a deleted topic of this name; {where} held version "
            f"{entry.version} of it. Forget it with 'copartition ledger forget', or give another txnAppId"
        )
    if entry.version > target.version:
        raise LedgerAheadError(
            f"{target}: {where} holds version {entry.version} already, so this one would be skipped. A "
            "checkpoint that was lost, an id in use elsewhere, or a number that went back? Go on with "
            f"version {entry.version} or higher; a stream without its old checkpoint begins anew, behind "
            "what it has written, with another txnAppId and the option txnFirstVersion=0"
        )
    if entry.version < target.version and not entry.done:
        raise HalfWrittenError(
            f"{target}: {where} holds only {entry.records} records of version {entry.version}, which was not "
            f"finished. Write version {entry.version} again first, with the same rows: it goes on there"
        )
    if entry.version == target.version and entry.format != FORMAT:
        raise HalfWrittenError(
            f"{target}: {where} holds {entry.records} records of it, noted in format {entry.format} by "
            f"another release of this package, and this one compares format {FORMAT}: finish this version "
            "with that release, and go on with the next"
        )


def _check_count(target: Target) -> None:
    """Raise PartitionCountError if a new version's rows were placed for another count than the topic has."""
    if target.partitions != target.actual:
        raise PartitionCountError(
            f"{target}: rows were placed for {target.partitions} partitions, and the topic has "
            f"{target.actual}: compute column 'partition' with kafka_partition(key, {target.actual})"
        )


def _check_count_again(target: Target, begun: Entry, *, done: bool) -> None:
    """Raise TopicChangedError unless a version that is in, or a part of it, comes placed as it was.

    The topic may have grown since: then the version ends on the partitions that it began with, where it would
    be if the topic had grown after it.
    """
    if begun.partitions == target.partitions:
        return
    what = f"{target}: {'all' if done else 'a part'} of it is in, placed for {begun.partitions} partitions"
    if done:
        raise TopicChangedError(
            f"{what}, and now its rows are placed for {target.partitions}. Place them for {begun.partitions} "
            "once more, to have them compared, or go on with the next version"
        )
    raise TopicChangedError(
        f"{what}; now its rows are placed for {target.partitions}, and the topic has {target.actual}: the "
        "rest of a key's records would lie elsewhere than the first. Finish it on the "
        f"{begun.partitions} that it began with, by kafka_partition(key, {begun.partitions}), as "
        "write_exactly_once() does by itself; the next version goes to all partitions. Or begin anew: write "
        "all of it to a new topic"
    )


def _before(target: Target, partition: int, anchor: Entry | None) -> int:
    """Return the partition count before this version, for a partition that the ledger does not know."""
    if target.version == (target.first_version or 0) and (anchor is None or anchor.version == target.version):
        return 0
    if anchor is not None:
        before = anchor.before if anchor.version == target.version else anchor.partitions
        if partition >= before:
            return before
    rest = "" if anchor is None else "forget the rest of it with 'copartition ledger forget', and "
    raise LedgerMissingError(
        f"{target}: the ledger says nothing of partition {partition}, and only version "
        f"{target.first_version or 0} begins one. The broker forgets it after offsets.retention.minutes "
        "without a new version (7 days unless set) and when the topic is deleted. Read the topic: if the "
        f"version before is in and this one is not, {rest}begin a new ledger with the option "
        f"txnFirstVersion={target.version}"
    )


def check_same(target: Target, partition: int, held: Entry, content: Content) -> None:
    """Raise RerunDiffersError unless a rerun begins with the records that are in.

    Args:
        target: the version.
        partition: the one that is written.
        held: what the ledger says that it holds of the version.
        content: what the task has read so far.
    """
    if content.records == held.records and (not held.records or content.digest() == held.digest):
        return
    if content.records != held.records:
        what = f"now it has {content.records}{' or more' if content.records > held.records else ''}"
    else:
        what = "now as many come first, but others, or in another order"
    raise RerunDiffersError(
        f"{target}: {'all' if held.done else 'the first'} {held.records} records of partition {partition} "
        f"are in, and {what}. A version must be the same each time it is computed: sort by a total order "
        "after route(), and leave out rand(), current_timestamp() and sources that change"
    )
