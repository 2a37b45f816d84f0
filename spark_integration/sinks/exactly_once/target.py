"""Describe the target of an exactly-once write, and decide by the ledger whether it may be written."""

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
"""The number that is hashed for a null timestamp, in microseconds since 1970."""


class Content:
    """Counts the records of one partition that have been read so far, and computes a digest of them.

    The lengths of a column's values go into one hash, and their bytes into another. So whole columns are
    hashed without a loop over records, and the digest does not depend on where batches are cut. A missing
    column counts as a column of nulls.

    Attributes:
        records: number of records that have been added so far.
        _streams: the hashes by name, such as "key.length" and "key.data".
    """

    def __init__(self) -> None:
        self.records = 0
        self._streams: dict[str, Any] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        """Add the next records, in the order of the partition."""
        for name in ("key", "value", "headers", "timestamp"):
            present = name in batch.schema.names
            self._add(name, batch.column(name) if present else pa.nulls(batch.num_rows, ARROW_TYPES[name]))
        self.records += batch.num_rows

    def digest(self) -> str:
        """Return the digest of the records so far, in hexadecimal; more records may be added after that."""
        whole = sha256()
        # The names are sorted, because the order of the dict depends on which columns were hashed first.
        for name in sorted(self._streams):
            whole.update(name.encode() + b"=" + self._streams[name].digest())
        return whole.hexdigest()

    def _add(self, name: str, column: pa.Array) -> None:
        """Hash one column: the lengths of its values (-1 for a null), then their bytes.

        Headers are hashed as two columns, their keys and their values.

        Args:
            name: name of the column, or of a field within it.
            column: the column's values: bytes, text, times or lists of headers.
        """
        # Times have no lengths: their microseconds are hashed, and for a null a number that no time has.
        if pa.types.is_timestamp(column.type):
            self._hash(name, column.cast(pa.int64()).fill_null(_NO_TIME).to_numpy())
            return
        nested = pa.types.is_nested(column.type)
        lengths = (pc.list_value_length if nested else pc.binary_length)(column)
        self._hash(f"{name}.length", lengths.cast(pa.int64()).fill_null(-1).to_numpy())
        # In an Arrow array a null may stand over bytes that are left from something else. Two runs may differ
        # in these, so nulls are taken out before bytes are hashed.
        present = column.drop_null() if column.null_count else column
        if nested:
            for field in ("key", "value"):
                self._add(f"{name}.{field}", pc.struct_field(present.flatten(), field))
            return
        self._hash(f"{name}.data", key_column(present).data)

    def _hash(self, name: str, data: Any) -> None:
        """Add bytes to the hash of this name, which is created if it is new."""
        self._streams.setdefault(name, sha256()).update(data)


@dataclass(frozen=True, slots=True)
class Target:
    """Describes one version of an application's records and the topic that it is written to.

    It is pickled for the tasks. `topic_id` is "" and `actual` is 0 until `driver.look_up` asks the cluster.

    Attributes:
        config: librdkafka's producer settings.
        topic: the topic's name.
        topic_id: the topic's id in the cluster.
        actual: number of partitions that the topic has.
        partitions: the partition count for which the rows were placed.
        rule: the rule that says where keyed rows belong; None if it is not known.
        app_id: the application's id, part of each transactional id and of the ledger's group.
        version: number of this version, 0 or more.
        first_version: the version that may begin a ledger, whatever records the topic has. None if the user
            named none: then version 0 may begin one, in partitions without records.
        begun: whether a part of this version is written already, placed for the count `partitions`.
        shared_by: number of tasks that write the version, if it is below `partitions`. Task i then writes
            each partition p with p % shared_by == i. None if each partition has a task of its own.
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
        """Number of tasks that write a partition, at most `partitions`."""
        return min(self.partitions, self.shared_by or self.partitions)

    @property
    def longest_transaction_s(self) -> float:
        """Seconds after which brokers abort a transaction that its producer does not end."""
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
    """Return the target that a write's options describe; the cluster is not asked yet.

    Args:
        options: the write's options.
        placed_for: the partition count for which the rows were placed; None if it is not known.
        rule: the rule that says where keyed rows belong; None if it is not known.
        stream: whether a stream is written, whose versions are its micro-batches.
        tasks: number of Spark partitions in which the rows are laid out; None for one per Kafka partition.

    Raises:
        InvalidConfigError: the options name no topic or no version, or `placed_for` is None.
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
    """Return the entry of a version that has no records in a partition; `before` as in `Entry`."""
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
    """Return a partition's entry of the target's version; raise unless the version may be written now.

    A version may follow any lower version that is done. It may be run again until a higher version begins.
    The first version finds no entries. After that only a partition that was added to the topic has no entry.
    In both cases the caller must check that the partition has no records (`check_begins`).

    Args:
        target: the version to write.
        partition: the partition's number.
        entry: the partition's own entry in the ledger; None if it has none.
        anchor: the entry of partition 0, which tells the ledger's last version and partition count if `entry`
            is None; None if partition 0 has no entry, or if it is not needed.

    Returns:
        `entry` if it is of this version, else an entry of this version without records.

    Raises:
        ExactlyOnceError: a subclass says why this version cannot be written now.
        TopicChangedError: the ledger is of a deleted topic, or this version was begun with another count.
        PartitionCountError: the rows were placed for another count than the topic has.
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
    """Raise LedgerMissingError if a partition without an entry in the ledger may hold this version already.

    Args:
        target: the version to write.
        partition: the partition, which has no entry.
        holds_records: asks the cluster whether the partition has records. It is called only if the user has
            not named this version as the first one.
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
    """Raise ExactlyOnceError or TopicChangedError unless this version may follow an entry of the ledger.

    Args:
        target: the version to write.
        partition: the partition of the entry.
        entry: the entry, which may be of the same version or of another topic with the same name.
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
    """Raise TopicChangedError if a rerun's rows are placed for another count than the rows written before.

    The topic may have grown since the version began. Then the version is finished on the partitions that it
    began with. Its records lie where they would lie if the topic had grown after the version.

    Args:
        target: the version that runs again.
        begun: an entry of this version.
        done: whether the partition has all of the version's records.
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
    """Return the partition count of the version before, for a partition without an entry in the ledger.

    The count is 0 if this version is the first one. Raises LedgerMissingError if the partition existed when
    the version before was written: then its entry is lost, and nobody knows what the partition holds.
    """
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
    """Raise RerunDiffersError unless the rows read so far are the records that the partition holds.

    Args:
        target: the version to write.
        partition: the partition's number.
        held: the partition's entry of this version.
        content: the rows that the task has read so far, normally as many as `held.records`.
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
