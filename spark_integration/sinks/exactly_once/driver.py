"""The driver asks before a version is written, makes sure after it, and cleans up if it failed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import confluent_kafka.admin  # the modules, since their classes cannot be pickled

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

_admin_api: Any = confluent_kafka.admin  # stubs export not all of it

_SLACK_S = 20.0
"""Seconds to wait for coordinators beyond the timeout of what a dead driver may have left open."""


def look_up(target: Target, admin: AdminClient | None = None) -> Target:
    """Return the target with what the cluster says of its topic, by `admin` if it is there already.

    Args:
        target: the version; its `topic_id` and `actual` are not known yet.
        admin: a client that brokers have answered; None makes one.

    Raises:
        InvalidConfigError: librdkafka refuses the configuration.
        BrokerUnreachableError: no broker answers in time, or it refuses us.
        UnknownTopicError: the cluster has no such topic.
        AccessError: this user may not write to it, or not commit offsets of it.
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
    """Return the same as `look_up`, of a version that may be written now; errors as of `look_up`, and these.

    Raises:
        InvalidConfigError: the brokers refuse so long a transaction.
        PartitionCountError: rows were placed for another count than the topic has.
        ExactlyOnceError: a subclass says why it may not.
        DeliveryError: the cluster does not say what a partition holds.
    """
    admin = _admin(target)
    target = look_up(target, admin)
    check_alone(target, admin)
    ledger = _ledger(admin, target, target.actual)
    anchor = ledger[0]
    if anchor is None:
        # Whether this user may have transactions, and as long ones: else each task would be refused. Where
        # there is an entry the user had some.
        fence_one(target, 0)
    target = _with_begun(target, ledger)
    tasks = range(min(target.partitions, target.actual))
    for partition in tasks:
        # Every partition is asked about before a task runs: one that is refused would leave the others
        # written.
        standing(target, partition, ledger[partition], anchor)
    begins = [partition for partition in tasks if ledger[partition] is None]
    for partition in _ask_while_coordinators_move(target, lambda: with_offsets(admin, target, begins)):
        # The transaction of a task that died may be open still, and comes to nothing.
        holds = partial(may_hold_records, admin, target, partition, fenced=False)
        check_begins(target, partition, partial(_ask_while_coordinators_move, target, holds))
    # A version that is missing in some partition only, because its driver died, must be finished first.
    last = max((entry.version for entry in ledger.values() if entry is not None), default=target.version)
    behind = [partition for partition, entry in ledger.items() if entry and entry.version < last]
    if last < target.version and behind:
        raise HalfWrittenError(
            f"{target}: version {last} is not in partition {_first_few(behind)}: write version {last} again "
            "first, with the same rows"
        )
    return target


def begun_before(target: Target) -> Target:
    """Return the same, `begun` if a part of it is in; asked by the tasks of a stream, which know the version.

    Only where the topic has another partition count than the rows were placed for: a version that was begun
    ends on the partitions that it began with.
    """
    if target.partitions == target.actual:
        return target
    admin, known = _admin(target), range(min(target.partitions, target.actual))
    # What an open transaction would add does not count, for it may come to nothing.
    offsets = _ask_while_coordinators_move(target, lambda: ledger_offsets(admin, target, known, stable=False))
    return _with_begun(target, ledger_entries(target, offsets))


def place_for(target: Target) -> int:
    """For how many partitions the rows have to be placed: as before if this version is there already.

    Errors as of `look_up` and `check_alone`; ExactlyOnceError if the cluster refuses the ledger, or
    somebody else has written to it.
    """
    admin = _admin(target)
    target = look_up(target, admin)
    check_alone(target, admin)
    ledger = _ledger(admin, target, target.actual).values()
    # This version was begun: its rows must lie as they did then, whatever the topic has now.
    again = (entry.partitions for entry in ledger if entry and entry.version == target.version)
    return next(again, target.actual)


def check_after(target: Target) -> None:
    """Raise HalfWrittenError unless the ledger says that this version is in every partition.

    LedgerInUseError if another application has committed to the ledger.

    Called when all tasks have ended well: then only a ledger that was changed from outside can lack a
    partition.

    Args:
        target: the version that was written.
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
    """Raise LedgerInUseError if consumers are in the ledger's group, AccessError if we may not use it.

    Of a stream this is known only once tasks have run.
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
    """Return the target, `begun` if an entry is of its version, placed for as many partitions."""
    begun = [entry for entry in ledger.values() if entry is not None and entry.version == target.version]
    return replace(target, begun=any(entry.partitions == target.partitions for entry in begun))


def _check_replicas(admin: AdminClient, target: Target, in_sync: Mapping[int, int]) -> None:
    """Raise if brokers would refuse records now; not for a user who may not see the topic's settings."""
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
    """Return the entries of so many partitions, once no open transaction could change one.

    A transaction that stays open is ended, as its producer is dead: at that time no task of this version
    runs.

    Args:
        admin: a client that brokers have answered.
        target: the version.
        partitions: how many partitions of the topic to ask about.
    """
    ask = partial(ledger_offsets, admin, target, range(partitions))
    try:
        # First with little patience: a transaction that just ends makes the ledger readable in a moment.
        offsets = patiently(lambda _: check_readable(ask()), SILENT_S)
    except confluent_kafka.KafkaException:
        places = _ask_while_coordinators_move(target, ask)
        # What stays unreadable has an open transaction that nobody ends: only its own id can.
        fence(target, [place.partition for place in places if place.error is not None])
        offsets = _ask_while_coordinators_move(target, lambda: check_readable(ask()))
    return ledger_entries(target, offsets)


def _admin(target: Target) -> AdminClient:
    """Return a client that some broker has answered, the same one for all questions of this process.

    One that is refused says so here, not after a timeout. It is made anew once it had no answer.
    """
    home, of = process_store("admins"), tuple(sorted(target.config.items()))
    admin, errors = home.pop(of, (None, []))
    if admin is None:
        admin = quiet_client(_admin_api.AdminClient, target.config, errors)
    errors.clear()  # of a broker that went away since
    first_answer(admin, target.config, errors, timeout_s=PATIENCE_S, topic=target.topic)
    home[of] = admin, errors
    for other in [*home][:-KEPT]:
        home.pop(other, None)  # another thread may have been first
    return cast("AdminClient", admin)


def _rights(description: Any) -> set[str]:
    """Return what this user may do there; everything where the broker does not say."""
    operations = description.authorized_operations
    return {"READ", "WRITE"} if operations is None else {operation.name for operation in operations}


def _ask_while_coordinators_move(target: Target, ask: Callable[[], Any]) -> Any:
    """Return what the cluster answers, waited for while its coordinators move."""
    try:
        return patiently(lambda _: ask(), target.longest_transaction_s + _SLACK_S)
    except confluent_kafka.KafkaException as error:
        raise meaning(error.args[0], target.app_id, target.topic) from error


def _ask_one(target: Target, ask: Callable[[], Mapping[Any, Any]]) -> Any:
    """Return the only answer to a question about one thing, likewise."""

    def answer() -> Any:
        (future,) = ask().values()
        try:
            return future.result(ANSWER_WITHIN_S)
        except TimeoutError:
            # A busy broker; as librdkafka's own error it is waited for, and named if it stays.
            timed_out = confluent_kafka.KafkaError(confluent_kafka.KafkaError._TIMED_OUT)
            raise confluent_kafka.KafkaException(timed_out) from None

    return _ask_while_coordinators_move(target, answer)


def _first_few(partitions: Collection[int]) -> str:
    return first_of([*map(str, sorted(partitions))], 5)
