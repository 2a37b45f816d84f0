"""Ask a cluster for ends and commits at the switch, and remove commits on the way back.

`remove_commits` is the only function here that changes anything. It sends the request OffsetDelete itself,
because confluent-kafka has no call for it.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from copartition.audit.topic_state import TopicState
from copartition.groups.live.cluster import Cluster
from copartition.groups.live.wire import check_error, connect_to, failures, short_text
from copartition.reshape.observed import waiting_records
from copartition.reshape.switch import HEADER, EndLook, GroupSwitch
from partitioning.clients.contact import quiet_client
from partitioning.clients.ledger import PREFIX
from partitioning.errors import BrokerUnreachableError, GroupNotFoundError, ReshapeError, SourceError

_OFFSET_DELETE = 47
_POLL_S = 1.0
_PATIENCE = 20
"""Polls without any message after which a partition counts as silent."""
_FIRST_TAIL = 64
"""The number of offsets at the end of a partition in which its last record is looked for at first."""
_ERRORS = {
    68: "the group has members; stop them first",
    86: "a member of the group still subscribes to the topic; stop it first",
}
"""Error code of OffsetDelete (NON_EMPTY_GROUP, GROUP_SUBSCRIBED_TO_TOPIC) -> its meaning."""


def check_target(cluster: Cluster, topic: str, target: str, partitions: int) -> None:
    """Raise an error if the new topic does not exist, or has another partition count than `partitions`.

    Raises:
        ReshapeError: the topic does not exist, and the message has the command that creates it; or it has
            another count.
    """
    found = cluster.counts.get(target)
    if found is None:
        shape = cluster.topic_shape(topic)
        raise ReshapeError(
            f"there is no topic {target!r} yet; make it: kafka-topics.sh --bootstrap-server "
            f"{cluster.config['bootstrap.servers']} --create --topic {target} --partitions {partitions} "
            f"--replication-factor {shape.replicas}"
        )
    if found != partitions:
        raise ReshapeError(f"topic {target!r} has {found:,} partitions, not {partitions:,}; see --partitions")


def look_at_ends(topic: str, config: Mapping[str, str]) -> EndLook:
    """Return the ends and the last stable offsets of a topic's partitions."""
    state = TopicState(topic, config)
    partitions = range(state.num_partitions)
    # Stable offsets are asked for first, because an end that is asked for later is never below them.
    stable = state.ends(partitions, committed=True)
    return EndLook(
        state.ends(partitions, committed=False), {place: end for place, (_, end) in stable.items()}
    )


def committed_groups(cluster: Cluster, topic: str, only: Collection[str] = ()) -> dict[str, dict[int, int]]:
    """Return the groups with commits for a topic: group -> partition -> offset.

    Args:
        cluster: the cluster.
        topic: the topic.
        only: group ids to look at; empty for all.

    Raises:
        SourceError: a group that is named cannot be read.
    """
    found: dict[str, dict[int, int]] = {}
    # Groups without commits are left out, because they have no positions to move. Share groups never have
    # commits.
    for name in sorted(only or cluster.groups()):
        # The ledger of exactly-once writes is stored as the commits of a group; its offsets are versions, and
        # not positions of a reader.
        if name.startswith(PREFIX):
            continue
        if commits := cluster.commits_in(name, topic):
            found[name] = commits
    return found


def group_switches(
    cluster: Cluster,
    target: str,
    ends: EndLook,
    commits: Mapping[str, Mapping[int, int]],
    positions: Sequence[Any],
) -> list[GroupSwitch]:
    """Return the state of each group at the switch, in the order of `commits`.

    Args:
        cluster: the cluster.
        target: the new topic.
        ends: the old topic's ends.
        commits: group -> partition of the old topic -> committed offset.
        positions: a `spark_integration.MappedPosition` for each group and partition of the new topic.
    """
    mapped: dict[str, list[Any]] = {name: [] for name in commits}
    for position in positions:
        mapped[position.group].append(position)
    switches = []
    for name, old in commits.items():
        try:
            members = len(cluster.describe_group(name).members)
        except GroupNotFoundError:
            members = 0  # a group's commits remain for a while after the group is gone
        # The group's commits for the new topic are read from the cluster, not remembered from an earlier run,
        # because they may have changed since.
        switches.append(
            GroupSwitch(
                name,
                members,
                dict(old),
                cluster.commits_in(name, target),
                {position.partition: position.offset for position in mapped[name]},
                sum(position.repeats for position in mapped[name]),
                waiting_records(ends.bounds, old) or 0,
            )
        )
    return switches


def remove_commits(cluster: Cluster, group: str, topic: str, partitions: Collection[int]) -> None:
    """Remove a group's commits for a topic.

    Raises:
        SourceError: the coordinator refuses, because the group has members or this user lacks DELETE on it.
    """
    # Version 0 of the request has no compact types: a text begins with its length in 16 bits, an array with
    # its length in 32 bits.
    numbers = b"".join(struct.pack(">i", number) for number in sorted(partitions))
    body = short_text(group) + struct.pack(">i", 1) + short_text(topic)
    body += struct.pack(">i", len(partitions)) + numbers
    with failures():
        first = next(iter(cluster.brokers.values()))
        with connect_to(first.host, first.port, cluster.config) as connection:
            host, port = connection.coordinator(group)
        with connect_to(host, port, cluster.config) as connection:
            answer = connection.ask(_OFFSET_DELETE, 0, body, flexible=False)
            error = answer.int16()
            check_error(error, _ERRORS.get(error))
            answer.int32()  # for how long the broker throttled us
            for _ in range(answer.int32()):
                answer.string()
                for _ in range(answer.int32()):
                    answer.int32()
                    error = answer.int16()
                    check_error(error, _ERRORS.get(error))


def moved_writers(topic: str, config: Mapping[str, str]) -> list[int]:
    """Return the partitions of the new topic whose last record was not written by the copy.

    Such a record lacks the header `HEADER`, so a writer has moved to the new topic already. Partitions
    without records are left out.

    Raises:
        BrokerUnreachableError: the leader of a partition does not answer.
    """
    state = TopicState(topic, config)
    bounds = state.ends(range(state.num_partitions), committed=True)
    window = _FIRST_TAIL
    left = {place: bound for place, bound in bounds.items() if bound[0] < bound[1]}
    # The last offsets of a partition may be markers of the copy's transactions, which no consumer sees. So
    # the last record is looked for in a tail of offsets.
    moved: list[int] = []
    # If the tail has nothing but markers, a longer tail is read.
    while left:
        starts = {place: max(first, end - window) for place, (first, end) in left.items()}
        last = _last_copied(topic, config, starts)
        moved += [place for place, copied in last.items() if not copied]
        left = {
            place: bound for place, bound in left.items() if place not in last and starts[place] > bound[0]
        }
        window *= 16
    return sorted(moved)


def _last_copied(topic: str, config: Mapping[str, str], starts: Mapping[int, int]) -> dict[int, bool]:
    """Return partition -> whether its last record was written by the copy.

    A partition without a record at or after its offset in `starts` is left out.
    """
    errors: list[Any] = []
    consumer: Any = quiet_client(
        Consumer,
        {
            "group.id": "copartition-reshape",  # librdkafka requires a group id; no broker is asked about it
            **config,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "allow.auto.create.topics": False,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        },
        errors,
    )
    last: dict[int, bool] = {}
    left, silent = {*starts}, 0
    try:
        consumer.assign([TopicPartition(topic, place, offset) for place, offset in starts.items()])
        while left:
            messages = consumer.consume(1_000, _POLL_S)
            silent = 0 if messages else silent + 1
            if silent > _PATIENCE:
                raise BrokerUnreachableError(
                    f"topic {topic!r}: partitions {sorted(left)[:5]} say nothing; do their leaders answer?"
                )
            for message in messages:
                error = message.error()
                if error is None:
                    # The messages of a partition come in order, so the value that remains is that of its last
                    # record.
                    headers = message.headers() or ()
                    last[message.partition()] = any(name == HEADER for name, _ in headers)
                elif error.code() == KafkaError._PARTITION_EOF:
                    left.discard(message.partition())
                else:
                    raise BrokerUnreachableError(f"topic {topic!r}: {error.str()}")
    except KafkaException as error:
        raise SourceError(f"topic {topic!r}: {error.args[0].str()}") from error
    finally:
        consumer.close()
    return last
