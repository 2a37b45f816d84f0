"""What a partition holds: where it ends, and whether readers of committed records find any there."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import confluent_kafka.admin  # the modules, since their classes cannot be pickled

from partitioning.clients.contact import list_offsets
from partitioning.clients.ledger import Entry, entries, ledger_group
from spark_integration.errors import LedgerInUseError
from spark_integration.sinks.exactly_once.faults import ANSWER_WITHIN_S, patiently
from spark_integration.sinks.exactly_once.target import Target

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

_admin_api: Any = confluent_kafka.admin  # stubs export not all of it
_TIMED_OUT = confluent_kafka.KafkaError._TIMED_OUT

_OPEN_S = 3.0
"""How long a transaction may be open before it counts as one that nobody ends soon."""


def admin_client(target: Target) -> AdminClient:
    """A client that asks what committed offsets and partitions' ends are."""
    return confluent_kafka.admin.AdminClient({**target.config, "log_level": 0})


@contextmanager
def committed_reader(target: Target) -> Iterator[confluent_kafka.Consumer]:
    """A reader of committed records that can name the ledger's group."""
    own = {
        "group.id": ledger_group(target.app_id),
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "earliest",
    }
    reader = confluent_kafka.Consumer({**target.config, **own, "log_level": 3})
    try:
        yield reader
    finally:
        reader.close()


def committed(admin: AdminClient, target: Target, partitions: Iterable[int], *, stable: bool = True) -> Any:
    """The offsets of the ledger's group for partitions of the topic; KafkaException where nobody says.

    Of a partition where an open transaction would change it, an error, unless `stable` is False.
    """
    group = ledger_group(target.app_id)
    places = [confluent_kafka.TopicPartition(target.topic, partition) for partition in partitions]
    request = confluent_kafka.ConsumerGroupTopicPartitions(group, places)
    answer: Any = admin.list_consumer_group_offsets([request], require_stable=stable)[group]
    return answer.result(ANSWER_WITHIN_S).topic_partitions


def ledger_entries(
    target: Target, offsets: Iterable[confluent_kafka.TopicPartition]
) -> dict[int, Entry | None]:
    """The ledger's entries among committed offsets; LedgerInUseError where another application has some."""
    try:
        return entries(offsets)
    except ValueError as error:
        raise LedgerInUseError(f"{target}: {error}") from error


def end_of(admin: AdminClient, place: confluent_kafka.TopicPartition, *, committed: bool) -> int:
    """The end of a partition, as readers of committed records see it or as it is."""
    return _offsets(admin, [place], committed=committed)[0]


def with_offsets(admin: AdminClient, target: Target, partitions: Sequence[int]) -> list[int]:
    """Those of the partitions to which anybody has ever written, be it in vain."""
    places = [confluent_kafka.TopicPartition(target.topic, partition) for partition in partitions]
    ends = _offsets(admin, places)
    return [partition for partition, end in zip(partitions, ends, strict=True) if end]


def may_hold_records(admin: AdminClient, target: Target, partition: int, *, fenced: bool) -> bool:
    """Whether committed records are in a partition, or were, or may come to be by an open transaction.

    Records of aborted transactions do not count: an attempt may have died in its first one. If `fenced`, this
    application has no transaction open there any more, so that one that is open is somebody else's.
    """
    place = confluent_kafka.TopicPartition(target.topic, partition)
    end = end_of(admin, place, committed=False)
    if not end:
        return False
    if _offsets(admin, [place], "earliest")[0]:
        return True  # deleted by age or by hand
    with committed_reader(target) as reader:
        reader.assign([confluent_kafka.TopicPartition(target.topic, partition, 0)])
        read_to, deadline = -1, time.monotonic() + ANSWER_WITHIN_S
        while time.monotonic() < deadline:
            message = reader.poll(0.1)
            if message is None:
                continue
            error = message.error()
            if error is None:
                return True
            if error.name() != "_PARTITION_EOF":
                raise confluent_kafka.KafkaException(error)
            if not fenced or (message.offset() or 0) >= end:
                return False
            if read_to < 0:
                deadline = time.monotonic() + _OPEN_S
            read_to = message.offset() or 0
    if read_to < 0:
        raise confluent_kafka.KafkaException(confluent_kafka.KafkaError(_TIMED_OUT))
    return True


def _offsets(
    admin: AdminClient,
    places: Sequence[confluent_kafka.TopicPartition],
    which: Literal["earliest", "latest"] = "latest",
    *,
    committed: bool = False,
) -> list[int]:
    spec: Any = getattr(_admin_api.OffsetSpec, which)()
    level = confluent_kafka.IsolationLevel
    isolation = level.READ_COMMITTED if committed else level.READ_UNCOMMITTED

    def ask(limit_s: float) -> list[int]:
        specs, within_s = dict.fromkeys(places, spec), min(limit_s, ANSWER_WITHIN_S)
        offsets, refusals = list_offsets(admin, specs, isolation, within_s)
        for error in refusals.values():
            raise error
        return [offsets[place] for place in places]

    offsets: list[int] = patiently(ask)
    return offsets
