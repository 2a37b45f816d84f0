"""End transactions that dead tasks and restarted brokers have left open.

A coordinator of Kafka 4.3 may end a transaction without writing its marker to a partition whose leader it
does not know (see docs/transactions.md). Such a transaction is half done: it has ended for the coordinator,
and is still open in that partition. Readers of committed records then stand still there, or an entry of the
ledger cannot be read, until a producer with the same id ends another transaction in the same partitions.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING

import confluent_kafka  # only the module, because its classes cannot be pickled

from partitioning.clients.contact import machine_faults, pause
from partitioning.clients.ledger import Entry, transactional_id
from spark_integration.sinks.exactly_once.faults import (
    ANSWER_WITHIN_S,
    begin,
    check_readable,
    close,
    is_fenced,
    meaning,
    patiently,
)
from spark_integration.sinks.exactly_once.partitions import (
    admin_client,
    committed_reader,
    end_of,
    ledger_entries,
    ledger_offsets,
    next_record,
)
from spark_integration.sinks.exactly_once.target import Target

if TYPE_CHECKING:
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient

_AT_ONCE = 16
"""Number of partitions that are fenced at the same time, each with a producer of its own."""

SILENT_S = 3.0
"""Seconds that an entry of the ledger may be unreadable before a half-done transaction is looked for."""


def fence(target: Target, partitions: Sequence[int], *, within_s: float | None = None) -> None:
    """End the transactions that dead tasks have left in these partitions, for which readers would wait.

    The partitions are fenced in waves of 16. A wave takes a quarter of a second if the brokers answer (160
    partitions of a local broker took 2.2 s), and minutes if they do not.

    Args:
        target: names the topic and the application.
        partitions: the partitions that may have an open transaction.
        within_s: seconds after which no further wave begins; the first wave always begins. None: no limit.
            After `target.longest_transaction_s` the brokers themselves have ended these transactions.

    Raises:
        LedgerInUseError, AccessError, InvalidConfigError, UnknownTopicError, DeliveryError: see `fence_one`.
    """
    began = time.monotonic()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for first in range(0, len(partitions), _AT_ONCE):
            if first and within_s is not None and time.monotonic() - began > within_s:
                return
            wave = partitions[first : first + _AT_ONCE]
            # Consume the results, so that an exception of a thread is raised here.
            for _ in pool.map(lambda partition: fence_one(target, partition, mend=True), wave):
                pass


def end_elsewhere(target: Target, partition: int) -> None:
    """End a half-done transaction of another partition, unless its own task ends it within `SILENT_S`.

    The caller cannot wait for that task: it may not run before the caller's task ends and frees its core.

    Args:
        target: names the topic and the application.
        partition: the other partition, whose entry in the ledger the caller needs.
    """
    admin = admin_client(target)
    deadline = time.monotonic() + SILENT_S
    while _is_open(admin, target, partition):
        if time.monotonic() > deadline:
            fence(target, [partition])
            return
        pause(0.1)


def fence_one(target: Target, partition: int, *, mend: bool = False) -> None:
    """End the transaction that a dead task has left open in a partition.

    Args:
        target: names the topic and the application.
        partition: the partition's number.
        mend: whether to end a half-done transaction as well.

    Raises:
        AccessError, InvalidConfigError, UnknownTopicError: the cluster refuses, as `faults.meaning` says.
        DeliveryError: the brokers do not answer, or refuse for another reason.
        LedgerInUseError: another application wrote the ledger's entry; only if `mend`.
    """
    name = transactional_id(target.app_id, target.topic, partition)
    with machine_faults():
        producer = confluent_kafka.Producer({**target.config, "transactional.id": name})
    try:
        begin(producer, target.topic)
        if mend:
            end_half_done(target, partition, producer)
    except confluent_kafka.KafkaException as error:
        # If this producer was fenced itself, a newer one has ended the transaction: nothing is left to do.
        if not is_fenced(error.args[0]):
            raise meaning(error.args[0], target.app_id, target.topic) from error
    finally:
        close(producer)


def end_half_done(target: Target, partition: int, producer: Producer) -> None:
    """Abort a half-done transaction that is still open in the ledger's partition, if nobody has read it.

    Nobody has read its records if the transaction is also still open in the partition of the records, or if
    that partition has only the committed records that the ledger's last entry counts. Then the transaction is
    aborted, and its rows are written again. Otherwise nothing is done, because its records may be committed
    and would be written twice.

    Args:
        target: names the topic and the application.
        partition: the partition's number.
        producer: has this partition's transactional id, is initialised, and has no open transaction. So
            every earlier transaction of the id has ended as far as the coordinator knows.

    Raises:
        KafkaException: the brokers refuse, or do not answer in time.
        LedgerInUseError: another application wrote the ledger's entry.
    """
    admin = admin_client(target)
    if not _is_open(admin, target, partition):
        return
    # If these two ends differ, a transaction is open in the partition itself, not only in the ledger.
    readable = end_of(admin, target, partition, committed=True)
    if readable == end_of(admin, target, partition, committed=False):
        # `stable` is False to get the entry of the last transaction that committed. A stable read would fail
        # here, because the half-done transaction is still open in the ledger.
        offsets = patiently(lambda _: ledger_offsets(admin, target, [partition], stable=False))
        if not _holds_just(target, partition, ledger_entries(target, check_readable(offsets))[partition]):
            return
    else:
        _abort_in_partition(target, partition, producer)
        deadline = time.monotonic() + ANSWER_WITHIN_S
        while end_of(admin, target, partition, committed=True) == readable:
            if time.monotonic() > deadline:
                return  # the transaction that is open there belongs to another application
            pause(0.05)
    place = confluent_kafka.TopicPartition(target.topic, partition, 0)
    with closing(committed_reader(target)) as group:
        producer.begin_transaction()
        # The offset is never committed: the abort that follows ends the open transaction in the ledger's
        # partition.
        producer.send_offsets_to_transaction([place], group.consumer_group_metadata(), ANSWER_WITHIN_S)
        producer.abort_transaction(ANSWER_WITHIN_S)


def end_dropped(
    admin: AdminClient, target: Target, partition: int, producer: Producer, last: Entry | None
) -> None:
    """Abort a transaction that is aborted in the ledger, and still open in the partition of its records.

    If it stayed open, the marker of the producer's next commit in that partition would commit its records,
    too, although the same rows are written again. A transaction that is committed in the ledger is not
    touched: the ledger's last entry counts its records, and it is right that the next commit's marker commits
    them.

    Args:
        admin: asks for the partition's ends.
        target: the version that is to be written.
        partition: the partition's number.
        producer: as in `end_half_done`; it writes one record, which is aborted.
        last: the partition's last entry in the ledger; None if it has none.
    """
    readable, end = (end_of(admin, target, partition, committed=level) for level in (True, False))
    if readable != end and _holds_just(target, partition, last):
        _abort_in_partition(target, partition, producer)


def _abort_in_partition(target: Target, partition: int, producer: Producer) -> None:
    """Abort a transaction with one record in this partition; its marker ends the transaction left open."""
    producer.begin_transaction()
    producer.produce(target.topic, key=b"aborted by copartition", partition=partition)
    # Without the flush, the abort would drop the queued record, and the partition would get no marker.
    producer.flush(ANSWER_WITHIN_S)
    producer.abort_transaction(ANSWER_WITHIN_S)


def _is_open(admin: AdminClient, target: Target, partition: int) -> bool:
    """Return whether an open transaction would change this partition's entry in the ledger."""
    try:
        check_readable(patiently(lambda _: ledger_offsets(admin, target, [partition])))
    except confluent_kafka.KafkaException as error:
        if error.args[0].name() == "UNSTABLE_OFFSET_COMMIT":
            return True
        raise
    return False


def _holds_just(target: Target, partition: int, last: Entry | None) -> bool:
    """Return whether a partition has exactly the committed records that its last entry counts.

    Records count from the offset `last.since`, at which the transaction of that entry began.

    Args:
        target: names the topic.
        partition: the partition's number.
        last: the partition's last entry in the ledger; None if it has none, so that no record is expected.

    Returns:
        True or False. False also if this is unknown, because the entry is of an earlier release or the broker
        does not answer.
    """
    expected = 0 if last is None else last.added
    since = 0 if last is None else last.since
    if since < 0:
        return False
    with closing(committed_reader(target)) as reader:
        reader.assign([confluent_kafka.TopicPartition(target.topic, partition, since)])
        for count in range(expected + 1):
            message = next_record(reader, ANSWER_WITHIN_S)
            if message is None:
                return False  # the broker does not answer
            if message.error() is not None:
                # The partition ends here. If it has fewer records than expected, retention or compaction has
                # removed some. Then other records may hide among the rest, so the answer is no.
                return count == expected
    return False
