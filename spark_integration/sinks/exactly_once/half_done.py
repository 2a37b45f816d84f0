"""Dead tasks and restarted brokers can leave a transaction open that no producer has any more.

A coordinator of Kafka 4.3 may end a transaction without a marker where it does not know the leader (see
docs/transactions.md). Readers of committed records then stand still there, and an entry of the ledger cannot
be read, until a producer with the same id ends another transaction in the same places.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING

import confluent_kafka  # the module, since its classes cannot be pickled

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

SILENT_S = 3.0
"""Seconds without a readable ledger before a half-done transaction in it is looked for."""


def fence(target: Target, partitions: Sequence[int], *, within_s: float | None = None) -> None:
    """End the transactions that dead tasks have left in these partitions: no reader shall wait for them.

    In waves of 16 partitions. A wave takes a quarter of a second where the brokers answer (160 partitions of
    a local broker 2.2 s), and minutes where they do not. After `within_s` (None: no limit) no wave begins but
    the first. After `target.longest_transaction_s` the brokers have ended themselves what was open.

    Args:
        target: names the topic and the application.
        partitions: those that may have something open.
        within_s: seconds after which no further wave begins.
    """
    began = time.monotonic()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for first in range(0, len(partitions), _AT_ONCE):
            if first and within_s is not None and time.monotonic() - began > within_s:
                return
            wave = partitions[first : first + _AT_ONCE]
            # Iterated over, so that an error of a thread is raised here.
            for _ in pool.map(lambda partition: fence_one(target, partition, mend=True), wave):
                pass


def end_elsewhere(target: Target, partition: int) -> None:
    """End a half-done transaction of another partition, unless its own task ends it in a moment.

    That task may be waiting for the slot that the caller has.
    """
    admin = admin_client(target)
    deadline = time.monotonic() + SILENT_S
    while _is_open(admin, target, partition):
        if time.monotonic() > deadline:
            fence(target, [partition])
            return
        pause(0.1)


def fence_one(target: Target, partition: int, *, mend: bool = False) -> None:
    """End what tasks have left in a partition, and with `mend` what restarted brokers have left half done.

    ExactlyOnceError if the cluster refuses, DeliveryError if it does not answer.
    """
    name = transactional_id(target.app_id, target.topic, partition)
    with machine_faults():
        producer = confluent_kafka.Producer({**target.config, "transactional.id": name})
    try:
        begin(producer, target.topic)
        if mend:
            end_half_done(target, partition, producer)
    except confluent_kafka.KafkaException as error:
        if not is_fenced(error.args[0]):  # another one has come, which fences as well
            raise meaning(error.args[0], target.app_id, target.topic) from error
    finally:
        close(producer)


def end_half_done(target: Target, partition: int, producer: Producer) -> None:
    """Abort what is left of a transaction whose end its ledger does not record, where nobody has read it.

    Nobody has where the partition does not record the end either, or holds just the committed records that
    the ledger's last entry knows of. Its rows are written again. Else nothing is done: records may be in that
    would be written twice. `producer` has this partition's transactional id, is initialised and without a
    transaction, so that every earlier transaction of the id has ended as far as the coordinator knows.
    """
    admin = admin_client(target)
    if not _is_open(admin, target, partition):
        return
    # Where these two ends differ, a transaction is open in the partition itself.
    readable = end_of(admin, target, partition, committed=True)
    if readable == end_of(admin, target, partition, committed=False):
        # The entry that is in force while a transaction that would change it is open.
        offsets = patiently(lambda _: ledger_offsets(admin, target, [partition], stable=False))
        if not _holds_just(target, partition, ledger_entries(target, check_readable(offsets))[partition]):
            return
    else:
        _abort_in_partition(target, partition, producer)
        deadline = time.monotonic() + ANSWER_WITHIN_S
        while end_of(admin, target, partition, committed=True) == readable:
            if time.monotonic() > deadline:
                return  # it was somebody else's
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
    """Abort what is left in a partition of a transaction whose abort its ledger records.

    The next transaction of `producer` (as for `end_half_done`) there would commit it, beside the same rows
    written again. A transaction whose commit the ledger records is not touched: its records are in the last
    entry, and the next transaction does commit them.

    Args:
        admin: asks for the partition's ends.
        target: the version that is to be written.
        partition: the producer's own.
        producer: writes the record that is aborted.
        last: the partition's last entry in the ledger; None if it has none.
    """
    readable, end = (end_of(admin, target, partition, committed=level) for level in (True, False))
    if readable != end and _holds_just(target, partition, last):
        _abort_in_partition(target, partition, producer)


def _abort_in_partition(target: Target, partition: int, producer: Producer) -> None:
    """Abort a transaction with one record in this partition: its marker ends what was left open there."""
    producer.begin_transaction()
    producer.produce(target.topic, key=b"aborted by copartition", partition=partition)
    producer.flush(ANSWER_WITHIN_S)  # what is still queued would be dropped, and the partition told nothing
    producer.abort_transaction(ANSWER_WITHIN_S)


def _is_open(admin: AdminClient, target: Target, partition: int) -> bool:
    """Return whether a transaction that would change an entry of the ledger has not ended."""
    try:
        check_readable(patiently(lambda _: ledger_offsets(admin, target, [partition])))
    except confluent_kafka.KafkaException as error:
        if error.args[0].name() == "UNSTABLE_OFFSET_COMMIT":
            return True
        raise
    return False


def _holds_just(target: Target, partition: int, last: Entry | None) -> bool:
    """Return whether the committed records since the ledger's last transaction began are just that one's."""
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
                return count == expected  # fewer where retention or compaction took some, and hides others
    return False
