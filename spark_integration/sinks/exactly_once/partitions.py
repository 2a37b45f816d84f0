"""Asks where a partition ends, and whether readers of committed records find any there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Literal

import confluent_kafka.admin  # the modules, since their classes cannot be pickled

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
"""Seconds that a transaction may be open before it counts as one that no producer ends soon."""


def admin_client(target: Target) -> AdminClient:
    """Return a client that asks what committed offsets and partitions' ends are."""
    with machine_faults():
        return confluent_kafka.admin.AdminClient({**target.config, "log_level": 0})


def committed_reader(target: Target) -> confluent_kafka.Consumer:
    """Return a reader of committed records that can name the ledger's group; the caller closes it."""
    own = {
        "group.id": ledger_group(target.app_id),
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "earliest",
    }
    # What it would say is about settings that are a producer's own, and of brokers that hang up on a client
    # that waits for the next task; a question that fails raises.
    with machine_faults():
        return confluent_kafka.Consumer({**target.config, **own, "log_level": 0})


def kept_clients(target: Target) -> tuple[AdminClient, confluent_kafka.Consumer]:
    """Return clients that ask about partitions and the ledger, which tasks of this process share.

    They stay from one task to the next, and from one micro-batch to the next: new ones cost each partition a
    quarter of its time. Threads may share them. They end with the process, when a write fails
    (`drop_clients`), and when four other writes have had theirs since.
    """
    home = process_store("ledgers")
    with home.setdefault("lock", Lock()):
        clients = home.pop(_of(target), None) or (admin_client(target), committed_reader(target))
        home[_of(target)] = clients
        # The lock stands first; what no task holds any more is closed by its last reference.
        while len(home) > 1 + KEPT:
            del home[next(islice(home, 1, None))]
    return clients


def drop_clients(target: Target) -> None:
    """Have the next task make clients anew: one that has lost its brokers may not find them again."""
    process_store("ledgers").pop(_of(target), None)


def _of(target: Target) -> tuple[object, ...]:
    """Return by what clients are kept: once a topic has grown, old ones do not know its new partitions."""
    return target.app_id, target.topic_id, target.actual, tuple(sorted(target.config.items()))


def next_record(reader: confluent_kafka.Consumer, within_s: float) -> confluent_kafka.Message | None:
    """Return a record, or with an error the end that readers of committed records come to.

    None if none comes.
    """
    message = reader.poll(within_s)
    error = None if message is None else message.error()
    if error is not None and error.name() != "_PARTITION_EOF":
        raise confluent_kafka.KafkaException(error)
    return message


def ledger_offsets(
    admin: AdminClient, target: Target, partitions: Iterable[int], *, stable: bool = True
) -> list[confluent_kafka.TopicPartition]:
    """Return the offsets of the ledger's group for partitions of the topic; KafkaException if nobody says.

    Of a partition where an open transaction would change it, an error, unless `stable` is False.
    """
    group, places = ledger_group(target.app_id), [(target.topic, partition) for partition in partitions]
    return committed_offsets(admin, group, places, stable=stable, within_s=ANSWER_WITHIN_S)


def ledger_entries(
    target: Target, offsets: Iterable[confluent_kafka.TopicPartition]
) -> dict[int, Entry | None]:
    """Return the ledger's entries among committed offsets.

    LedgerInUseError if another application has some.
    """
    try:
        return entries(offsets)
    except ValueError as error:
        raise LedgerInUseError(f"{target}: {error}") from error


def end_of(admin: AdminClient, target: Target, partition: int, *, committed: bool) -> int:
    """Return the end of a partition, as readers of committed records see it or as it is."""
    return _offsets(admin, target, [partition], committed=committed)[0]


def with_offsets(admin: AdminClient, target: Target, partitions: Sequence[int]) -> list[int]:
    """Return those of the partitions to which anybody has ever written, be it in vain."""
    ends = _offsets(admin, target, partitions)
    return [partition for partition, end in zip(partitions, ends, strict=True) if end]


def may_hold_records(admin: AdminClient, target: Target, partition: int, *, fenced: bool) -> bool:
    """Return whether committed records are in a partition, or were, or may come to be by an open transaction.

    Records of aborted transactions do not count: an attempt may have died in its first one. If `fenced`, this
    application has no transaction open there any more, so that one that is open is somebody else's.
    """
    end = end_of(admin, target, partition, committed=False)
    if not end:
        return False
    # A partition that begins above 0 has lost records.
    if _offsets(admin, target, [partition], "earliest")[0]:
        return True  # deleted by age or by hand
    with closing(committed_reader(target)) as reader:
        reader.assign([confluent_kafka.TopicPartition(target.topic, partition, 0)])
        message = next_record(reader, ANSWER_WITHIN_S)
        if message is None:
            raise confluent_kafka.KafkaException(confluent_kafka.KafkaError(_TIMED_OUT))
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
    """Return the first or last offset of these partitions, in order; waits while leaders move."""
    places = [(target.topic, partition) for partition in partitions]

    def ask(limit_s: float) -> list[int]:
        within_s = min(limit_s, ANSWER_WITHIN_S)
        offsets, refusals = list_offsets(admin, places, which, committed=committed, within_s=within_s)
        for error in refusals.values():
            raise error
        return [offsets[place] for place in places]

    offsets: list[int] = patiently(ask)
    return offsets
