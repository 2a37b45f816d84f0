"""A group of a running cluster, read and never written."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from assignors.diff.state import MemberIdentity
from assignors.errors import SourceError
from assignors.extras import needs
from assignors.sources.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assignors.diff.state import GroupState

TIMEOUT_S = 10.0


def read_live(group: str, config: Mapping[str, str]) -> tuple[GroupState, GroupState | None]:
    """The group as its coordinator describes it, and its target assignment where it has one (KIP-848).

    Asks for the cluster's topics, the group, its committed offsets and the ends of the partitions.

    Args:
        group: group id.
        config: librdkafka settings; `bootstrap.servers` at least.

    Raises:
        SourceError: no `bootstrap.servers`, a setting that librdkafka refuses, no broker that answers within
            seconds, or no such group.
        MissingDependencyError: confluent-kafka is not installed.
    """
    with needs("live:GROUP", "kafka"):
        from confluent_kafka import KafkaException  # noqa: PLC0415 - an optional package
        from confluent_kafka.admin import AdminClient  # noqa: PLC0415 - an optional package
    servers = config.get("bootstrap.servers")
    if not servers:
        raise SourceError(f"live:{group} needs a cluster; name it with -b HOST:PORT")
    silent = logging.getLogger("copartition.librdkafka")
    silent.addHandler(logging.NullHandler())
    silent.propagate = False
    try:
        admin = AdminClient({"socket.connection.setup.timeout.ms": 5000, **config}, logger=silent)
    except KafkaException as error:
        raise SourceError(f"live:{group}: {error.args[0].str()}") from error
    try:
        counts = {
            name: len(topic.partitions) for name, topic in admin.list_topics(timeout=TIMEOUT_S).topics.items()
        }
    except KafkaException as error:
        raise SourceError(f"live:{group}: no broker answers at {servers} ({error.args[0].str()})") from error
    try:
        return _read(admin, group, counts)
    except KafkaException as error:
        raise SourceError(f"live:{group}: {servers} answers: {error.args[0].str()}") from error


def _read(admin: Any, group: str, counts: Mapping[str, int]) -> tuple[GroupState, GroupState | None]:
    described = admin.describe_consumer_groups([group], request_timeout=TIMEOUT_S)[group].result()
    if described.state.name == "DEAD":
        raise SourceError(f"live:{group}: the cluster has no such group")
    lags = _lags(admin, group)
    current = {member.member_id: _partitions(member.assignment) for member in described.members}
    target = {
        member.member_id: _partitions(member.target_assignment)
        for member in described.members
        if member.target_assignment is not None
    }
    lists = [*current.values(), *target.values()]
    topics = {topic for given in lists for topic, _ in given} | {topic for topic, _ in lags}
    known = {topic: counts[topic] for topic in sorted(topics) if topic in counts}
    state = _state(described, current, known, lags)
    return state, _state(described, target, known, lags) if target else None


def _state(
    described: Any,
    owned: Mapping[str, Iterable[tuple[str, int]]],
    counts: Mapping[str, int],
    lags: Mapping[tuple[str, int], int],
) -> GroupState:
    rows = Rows()
    free = {(topic, partition) for topic, count in counts.items() for partition in range(count)}
    for member in described.members:
        rows.member(
            MemberIdentity(
                member.member_id,
                instance_id=member.group_instance_id,
                client_id=member.client_id or None,
                host=(member.host or "").removeprefix("/") or None,
            )
        )
        for topic, partition in owned.get(member.member_id, ()):
            rows.partition(topic, partition, member.member_id, lags.get((topic, partition), -1))
            free.discard((topic, partition))
    for topic, partition in sorted(free):
        rows.partition(topic, partition, None, lags.get((topic, partition), -1))
    stable = described.state.name == "STABLE"
    return rows.state(
        complete=True,
        name=described.group_id,
        status=described.state.name.replace("_", " ").title().replace(" ", ""),
        warnings=()
        if stable
        else (f"the group is {described.state.name.lower()}, what it has may not last",),
    )


def _partitions(assignment: Any) -> list[tuple[str, int]]:
    return (
        [] if assignment is None else [(each.topic, each.partition) for each in assignment.topic_partitions]
    )


def _lags(admin: Any, group: str) -> dict[tuple[str, int], int]:
    """Records between the committed offset and the end, of every partition with a commit."""
    from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition  # noqa: PLC0415 - an optional package
    from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]  # noqa: PLC0415 - an optional package

    asked = admin.list_consumer_group_offsets(
        [ConsumerGroupTopicPartitions(group)], request_timeout=TIMEOUT_S
    )
    committed = {
        (each.topic, each.partition): each.offset
        for each in asked[group].result().topic_partitions
        if each.offset >= 0
    }
    if not committed:
        return {}
    end = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    latest = admin.list_offsets({TopicPartition(*each): end for each in committed}, request_timeout=TIMEOUT_S)
    ends = {(each.topic, each.partition): answer.result().offset for each, answer in latest.items()}
    return {each: max(0, ends[each] - offset) for each, offset in committed.items()}
