"""Ask the cluster where partitions end, what the ledger says, and whether partitions hold records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Literal

import confluent_kafka.admin  # only modules, because their classes cannot be pickled

from partitioning.clients.contact import committed_offsets, list_offsets, machine_faults
from partitioning.clients.ledger import Entry, entries, ledger_group
from spark_integration.errors import LedgerInUseError
from spark_integration.sinks.exactly_once.faults import ANSWER_WITHIN_S, patiently
from spark_integration.sinks.exactly_once.target import Target
from spark_integration.sinks.process_store import KEPT, process_store

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

_TIMED_OUT = confluent_kafka.KafkaError._TIMED_OUT

_OPEN_S = 3.0
"""Seconds to wait for a transaction that is open after the records read so far.

If it has not ended by then, its records may still be committed, so the partition counts as one with records.
"""


def admin_client(target: Target) -> AdminClient:
    """Return a new client that can ask for committed offsets and for the ends of partitions."""
    with machine_faults():
        return confluent_kafka.admin.AdminClient({**target.config, "log_level": 0})


def committed_reader(target: Target) -> confluent_kafka.Consumer:
    """Return a new consumer that reads committed records, in the ledger's group; the caller closes it.

    It joins no group. A producer needs its group metadata to commit offsets of the ledger.
    """
    own = {
        "group.id": ledger_group(target.app_id),
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "earliest",
    }
    # The log is off. librdkafka would warn that some settings are for producers only, and that brokers close
    # connections while this client waits for the next task. A request that fails raises all the same.
    with machine_faults():
        return confluent_kafka.Consumer({**target.config, **own, "log_level": 0})


def kept_clients(target: Target) -> tuple[AdminClient, confluent_kafka.Consumer]:
    """Return an admin client and a reader of committed records, which the tasks of this process share.

    They are kept from one task to the next, and from one micro-batch to the next: to connect anew takes a
    quarter of the time that a partition takes. Several threads may use them at once. They are dropped at the
    end of the process, when a write fails (`drop_clients`), and after four writes with other settings.
    """
    home = process_store("ledgers")
    with home.setdefault("lock", Lock()):
        # The pair is taken out and put back, so that the pair used last stands at the end. The oldest pair is
        # dropped first.
        clients = home.pop(_of(target), None) or (admin_client(target), committed_reader(target))
        home[_of(target)] = clients
        # The first item of the store is the lock, so the oldest pair is the second one. A client that is
        # dropped here is closed once no task refers to it any more.
        while len(home) > 1 + KEPT:
            del home[next(islice(home, 1, None))]
    return clients


def drop_clients(target: Target) -> None:
    """Drop the kept clients of a write; the next task makes new ones.

    A client that has lost all its brokers may not find them again.
    """
    process_store("ledgers").pop(_of(target), None)


def _of(target: Target) -> tuple[object, ...]:
    """Return the key under which a write's clients are kept.

    The partition count is a part of it, because clients made before a topic grew do not know its new
    partitions.
    """
    return target.app_id, target.topic_id, target.actual, tuple(sorted(target.config.items()))


def next_record(reader: confluent_kafka.Consumer, within_s: float) -> confluent_kafka.Message | None:
    """Return the next record, or the event that marks the end of the records that this reader may read.

    Args:
        reader: a consumer that is assigned to one partition.
        within_s: seconds to wait.

    Returns:
        A record; or a message whose error is `_PARTITION_EOF`, with the offset of that end; or None if
        neither comes in time.

    Raises:
        KafkaException: the consumer reports another error.
    """
    message = reader.poll(within_s)
    error = None if message is None else message.error()
    if error is not None and error.name() != "_PARTITION_EOF":
        raise confluent_kafka.KafkaException(error)
    return message


def ledger_offsets(
    admin: AdminClient, target: Target, partitions: Iterable[int], *, stable: bool = True
) -> list[confluent_kafka.TopicPartition]:
    """Return the committed offsets of the ledger's group for partitions of the topic, in order.

    Args:
        admin: the client that asks.
        target: names the application and the topic.
        partitions: the partitions' numbers.
        stable: whether a partition's answer is an error while an open transaction would change its offset.
            If False, the answer is the offset that is in force until that transaction commits.

    Raises:
        KafkaException: the group's coordinator does not answer, or refuses.
    """
    group, places = ledger_group(target.app_id), [(target.topic, partition) for partition in partitions]
    return committed_offsets(admin, group, places, stable=stable, within_s=ANSWER_WITHIN_S)


def ledger_entries(
    target: Target, offsets: Iterable[confluent_kafka.TopicPartition]
) -> dict[int, Entry | None]:
    """Return the ledger's entry of each partition, by its number; None for one without a committed offset.

    Raises LedgerInUseError if another application has committed one of these offsets.
    """
    try:
        return entries(offsets)
    except ValueError as error:
        raise LedgerInUseError(f"{target}: {error}") from error


def end_of(admin: AdminClient, target: Target, partition: int, *, committed: bool) -> int:
    """Return the offset after a partition's last record.

    If `committed`, records from the beginning of the first open transaction on do not count, as for readers
    of committed records.
    """
    return _offsets(admin, target, [partition], committed=committed)[0]


def with_offsets(admin: AdminClient, target: Target, partitions: Sequence[int]) -> list[int]:
    """Return the partitions that have ever been written to, even if only by aborted transactions."""
    ends = _offsets(admin, target, partitions)
    return [partition for partition, end in zip(partitions, ends, strict=True) if end]


def may_hold_records(admin: AdminClient, target: Target, partition: int, *, fenced: bool) -> bool:
    """Return whether a partition has, had or may soon have committed records.

    Records of aborted transactions do not count, because they may be all that an earlier attempt left when it
    died in its first transaction.

    Args:
        admin: the client that asks for offsets.
        target: names the topic.
        partition: the partition's number.
        fenced: whether the caller has fenced this application's earlier attempts. If so, a transaction that
            is still open belongs to another application, and its records count. If not, it does not count.

    Raises:
        KafkaException: the brokers do not answer in time, or refuse.
    """
    end = end_of(admin, target, partition, committed=False)
    if not end:
        return False
    # A partition that begins above 0 had records, which retention or a user has deleted.
    if _offsets(admin, target, [partition], "earliest")[0]:
        return True
    with closing(committed_reader(target)) as reader:
        reader.assign([confluent_kafka.TopicPartition(target.topic, partition, 0)])
        message = next_record(reader, ANSWER_WITHIN_S)
        if message is None:
            raise confluent_kafka.KafkaException(confluent_kafka.KafkaError(_TIMED_OUT))
        # The reader may come to an end before `end`: an open transaction begins there. No message within
        # `_OPEN_S` means that this transaction stays open.
        while message is not None and message.error() is not None:
            if not fenced or (message.offset() or 0) >= end:
                return False
            message = next_record(reader, _OPEN_S)
    return True


def _offsets(
    admin: AdminClient,
    target: Target,
    partitions: Iterable[int],
    which: Literal["earliest", "latest"] = "latest",
    *,
    committed: bool = False,
) -> list[int]:
    """Return the first or the end offset of each of these partitions, in order.

    The brokers are asked again while leaders move. Raises KafkaException if a leader has not answered after
    `PATIENCE_S`.
    """
    places = [(target.topic, partition) for partition in partitions]

    def ask(limit_s: float) -> list[int]:
        within_s = min(limit_s, ANSWER_WITHIN_S)
        offsets, refusals = list_offsets(admin, places, which, committed=committed, within_s=within_s)
        for error in refusals.values():
            raise error
        return [offsets[place] for place in places]

    offsets: list[int] = patiently(ask)
    return offsets
