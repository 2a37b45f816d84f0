"""Check on the driver whether a version may be written, and after its tasks whether it is written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import confluent_kafka.admin  # only modules, because their classes cannot be pickled

from copartition.kit.words import first_of
from partitioning.clients.contact import quiet_client
from partitioning.clients.ledger import Entry, ledger_group
from partitioning.errors import AccessError, NotEnoughReplicasError
from spark_integration.errors import HalfWrittenError, LedgerInUseError
from spark_integration.sinks.cluster import first_answer
from spark_integration.sinks.exactly_once.faults import (
    ANSWER_WITHIN_S,
    PATIENCE_S,
    check_readable,
    group_refusal,
    meaning,
    patiently,
    topic_refusal,
)
from spark_integration.sinks.exactly_once.half_done import SILENT_S, fence, fence_one
from spark_integration.sinks.exactly_once.partitions import (
    ledger_entries,
    ledger_offsets,
    may_hold_records,
    with_offsets,
)
from spark_integration.sinks.exactly_once.target import Target, check_begins, standing
from spark_integration.sinks.process_store import KEPT, process_store

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

_admin_api: Any = confluent_kafka.admin  # its type stubs lack some names

_SLACK_S = 20.0
"""Seconds to wait for coordinators, beyond the timeout of a transaction that a dead driver has left open."""


def look_up(target: Target, admin: AdminClient | None = None) -> Target:
    """Return the target with the id and the partition count of its topic, as the cluster has them now.

    Args:
        target: the version; its `topic_id` and `actual` are replaced.
        admin: a client that a broker has answered; None takes the one that this process keeps.

    Raises:
        InvalidConfigError: librdkafka refuses the configuration.
        BrokerUnreachableError: no broker answers in time, or it refuses us.
        UnknownTopicError: the cluster has no such topic.
        AccessError: this user may not write to the topic, or may not commit offsets of it.
        NotEnoughReplicasError: too few replicas of a partition are in sync.
    """
    admin = _admin(target) if admin is None else admin
    topics = confluent_kafka.TopicCollection([target.topic])
    description = _ask_one(target, lambda: admin.describe_topics(topics, include_authorized_operations=True))
    if not _rights(description) >= {"READ", "WRITE"}:
        raise topic_refusal(target.topic)
    _check_replicas(admin, target, {partition.id: len(partition.isr) for partition in description.partitions})
    return replace(target, topic_id=str(description.topic_id), actual=len(description.partitions))


def prepare(target: Target) -> Target:
    """Check that every partition may take this version, and return the target as `look_up` does.

    Args:
        target: the version of a batch that is to be written.

    Raises:
        InvalidConfigError: librdkafka refuses the configuration, or the brokers refuse so long a transaction.
        BrokerUnreachableError, UnknownTopicError, AccessError, NotEnoughReplicasError: as in `look_up`.
        PartitionCountError: rows were placed for another count than the topic has.
        ExactlyOnceError: a subclass says why the version may not be written.
        DeliveryError: the cluster does not answer, or refuses for a reason that has no error of its own.
    """
    admin = _admin(target)
    target = look_up(target, admin)
    check_alone(target, admin)
    ledger = _ledger(admin, target, target.actual)
    anchor = ledger[0]
    if anchor is None:
        # This makes a transactional producer as a trial. If the user has no right to transactions, or asks
        # for a longer timeout than brokers allow, the error comes here, and not in every task. If the ledger
        # has an entry, this user's transactions have worked before.
        fence_one(target, 0)
    target = _with_begun(target, ledger)
    tasks = range(min(target.partitions, target.actual))
    for partition in tasks:
        # Every partition is checked before a task runs. Otherwise one partition could be refused after the
        # others are written.
        standing(target, partition, ledger[partition], anchor)
    begins = [partition for partition in tasks if ledger[partition] is None]
    for partition in _ask_while_coordinators_move(target, lambda: with_offsets(admin, target, begins)):
        # `fenced` is False, because a transaction that is open here may be that of a dead task, which will be
        # aborted.
        holds = partial(may_hold_records, admin, target, partition, fenced=False)
        check_begins(target, partition, partial(_ask_while_coordinators_move, target, holds))
    # A version whose driver died may be missing in some partitions only. It must be finished before the next
    # version is written.
    last = max((entry.version for entry in ledger.values() if entry is not None), default=target.version)
    behind = [partition for partition, entry in ledger.items() if entry and entry.version < last]
    if last < target.version and behind:
        raise HalfWrittenError(
            f"{target}: version {last} is not in partition {_first_few(behind)}: write version {last} again "
            "first, with the same rows"
        )
    return target


def begun_before(target: Target) -> Target:
    """Return the target with `begun` set if a part of its version is written already.

    The tasks of a stream call this, because only they know the version. The cluster is asked only if the
    topic has another partition count than the rows were placed for: only then `begun` matters, because a
    version is finished on the partitions that it began with.

    Errors are as in `_ledger`.
    """
    if target.partitions == target.actual:
        return target
    admin, known = _admin(target), range(min(target.partitions, target.actual))
    # `stable` is False, because an entry in an open transaction does not count: it may still be aborted.
    offsets = _ask_while_coordinators_move(target, lambda: ledger_offsets(admin, target, known, stable=False))
    return _with_begun(target, ledger_entries(target, offsets))


def place_for(target: Target) -> int:
    """Return the count for which rows have to be placed: the earlier one if this version was begun before.

    Errors are as in `look_up`, `check_alone` and `_ledger`.
    """
    admin = _admin(target)
    target = look_up(target, admin)
    check_alone(target, admin)
    ledger = _ledger(admin, target, target.actual).values()
    # This version was begun: its rows must lie as they did then, whatever the topic has now.
    again = (entry.partitions for entry in ledger if entry and entry.version == target.version)
    return next(again, target.actual)


def check_after(target: Target) -> None:
    """Raise HalfWrittenError unless the ledger has this version as done in every partition.

    Called after all tasks have succeeded. Then an entry can be missing only if another program changed the
    ledger.

    Args:
        target: the version that was written.

    Raises:
        HalfWrittenError: the ledger lacks the version in some partitions, which the message names.
        LedgerInUseError: another application has committed to the ledger.
        DeliveryError: the cluster does not answer, or refuses for a reason that has no error of its own.
    """
    ledger = _ledger(_admin(target), target, target.partitions)
    lacking = [
        partition
        for partition in range(target.partitions)
        if (entry := ledger[partition]) is None or entry.version != target.version or not entry.done
    ]
    if lacking:
        raise HalfWrittenError(
            f"{target}: all tasks ended, and by the ledger it is not in partition {_first_few(lacking)}. "
            "Write it again, with the same rows"
        )


def check_alone(target: Target, admin: AdminClient | None = None) -> None:
    """Raise LedgerInUseError if the ledger's group has members, whose commits would overwrite the ledger.

    Raises AccessError if this user may not read the group. `OnceStreamWriter` calls this after its tasks.

    Args:
        target: names the application.
        admin: a client that a broker has answered; None takes the one that this process keeps.
    """
    admin = _admin(target) if admin is None else admin
    group = ledger_group(target.app_id)
    description = _ask_one(
        target, lambda: admin.describe_consumer_groups([group], include_authorized_operations=True)
    )
    if description.members:
        raise LedgerInUseError(
            f"{target}: its ledger is group {group!r}, in which {len(description.members)} consumers are. "
            "Their commits would overwrite it: stop them, or have them use another group"
        )
    if "READ" not in _rights(description):
        raise group_refusal(target.app_id)


def _with_begun(target: Target, ledger: Mapping[int, Entry | None]) -> Target:
    """Return the target with `begun` set if an entry of its version was placed for the same count."""
    begun = [entry for entry in ledger.values() if entry is not None and entry.version == target.version]
    return replace(target, begun=any(entry.partitions == target.partitions for entry in begun))


def _check_replicas(admin: AdminClient, target: Target, in_sync: Mapping[int, int]) -> None:
    """Raise NotEnoughReplicasError if brokers would refuse records of a partition now.

    Nothing is checked if this user may not see the topic's settings.

    Args:
        admin: a client that a broker has answered.
        target: names the topic.
        in_sync: the number of replicas in sync, by partition.
    """
    resource = _admin_api.ConfigResource(_admin_api.ConfigResource.Type.TOPIC, target.topic)
    try:
        settings = _ask_one(target, lambda: admin.describe_configs([resource]))
    except AccessError:
        return
    # Without this check the write would wait for `delivery.timeout.ms` in every task and then fail.
    least = int(settings["min.insync.replicas"].value)
    if behind := [partition for partition, count in in_sync.items() if count < least]:
        raise NotEnoughReplicasError(
            f"topic {target.topic!r} asks for {least} replicas in sync (min.insync.replicas), and partition "
            f"{_first_few(behind)} has fewer: brokers would take no record. Wait for the others, or lower it"
        )


def _ledger(admin: AdminClient, target: Target, partitions: int) -> Mapping[int, Entry | None]:
    """Return the ledger's entry of each partition, once no open transaction could change one.

    A transaction that stays open is ended. Its producer is dead, because this is called only while no task
    of this version runs.

    Args:
        admin: a client that a broker has answered.
        target: the version.
        partitions: number of partitions to ask about; they are numbered from 0 on.

    Returns:
        Partition number -> entry; None for a partition without one.

    Raises:
        LedgerInUseError: another application wrote an entry.
        AccessError: the cluster refuses this user.
        DeliveryError: the cluster does not answer.
    """
    ask = partial(ledger_offsets, admin, target, range(partitions))
    try:
        # Wait a short time first: a transaction that is just ending makes the ledger readable in a moment.
        offsets = patiently(lambda _: check_readable(ask()), SILENT_S)
    except confluent_kafka.KafkaException:
        places = _ask_while_coordinators_move(target, ask)
        # An entry that stays unreadable has an open transaction that nobody ends. Only a producer with the
        # same transactional id can end it.
        fence(target, [place.partition for place in places if place.error is not None])
        offsets = _ask_while_coordinators_move(target, lambda: check_readable(ask()))
    return ledger_entries(target, offsets)


def _admin(target: Target) -> AdminClient:
    """Return an admin client that a broker has answered; this process keeps it for its later questions.

    A client whose connection is refused fails here at once, not after a timeout in a later call. A client
    that got no answer is not kept, so the next call makes a new one.
    """
    home, of = process_store("admins"), tuple(sorted(target.config.items()))
    admin, errors = home.pop(of, (None, []))
    if admin is None:
        admin = quiet_client(_admin_api.AdminClient, target.config, errors)
    errors.clear()  # errors from before, such as those of a broker that was away for a while
    first_answer(admin, target.config, errors, timeout_s=PATIENCE_S, topic=target.topic)
    home[of] = admin, errors
    for other in [*home][:-KEPT]:
        home.pop(other, None)  # with a default, because another thread may have removed it
    return cast("AdminClient", admin)


def _rights(description: Any) -> set[str]:
    """Return the names of the operations that this user may do; READ and WRITE if the broker does not say."""
    operations = description.authorized_operations
    return {"READ", "WRITE"} if operations is None else {operation.name for operation in operations}


def _ask_while_coordinators_move(target: Target, ask: Callable[[], Any]) -> Any:
    """Return the cluster's answer; ask again while its coordinators move.

    Raises the error of `faults.meaning` if the cluster refuses, or has not answered `_SLACK_S` after the
    longest transaction.
    """
    try:
        return patiently(lambda _: ask(), target.longest_transaction_s + _SLACK_S)
    except confluent_kafka.KafkaException as error:
        raise meaning(error.args[0], target.app_id, target.topic) from error


def _ask_one(target: Target, ask: Callable[[], Mapping[Any, Any]]) -> Any:
    """Return the only result of a request about one resource, as `_ask_while_coordinators_move` does.

    Args:
        target: names the write in error messages.
        ask: sends the request, and returns a mapping with one future.
    """

    def answer() -> Any:
        (future,) = ask().values()
        try:
            return future.result(ANSWER_WITHIN_S)
        except TimeoutError:
            # The broker is busy. librdkafka's own timeout error is raised instead, after which the request is
            # sent again. If the broker stays busy, the message names this error.
            timed_out = confluent_kafka.KafkaError(confluent_kafka.KafkaError._TIMED_OUT)
            raise confluent_kafka.KafkaException(timed_out) from None

    return _ask_while_coordinators_move(target, answer)


def _first_few(partitions: Collection[int]) -> str:
    return first_of([*map(str, sorted(partitions))], 5)
