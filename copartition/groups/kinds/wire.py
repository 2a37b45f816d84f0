"""Ask a coordinator for share groups and Streams groups over a connection of our own: confluent-kafka cannot.

The layouts are those of Kafka's message definitions: ShareGroupDescribe version 1, DescribeShareGroupOffsets
versions 0 and 1 (1 adds the lag, KIP-1226), StreamsGroupDescribe versions 0 and 1 (1 adds the assignor).
"""

from collections.abc import Mapping
from typing import NamedTuple

from copartition.groups.kinds.model import (
    ShareGroup,
    ShareMember,
    StreamsGroup,
    StreamsMember,
    Subtopology,
    Tasks,
)
from copartition.groups.live.wire import (
    NO_TAGS,
    AnswerReader,
    Connection,
    ask_coordinator,
    check_error,
    compact_array,
    compact_text,
)
from copartition.kit.places import Place

_SHARE_DESCRIBE, _STREAMS_DESCRIBE, _SHARE_OFFSETS = 77, 89, 90
_TRUE = 1


class ShareOffsets(NamedTuple):
    """The offsets of a share group, by (topic, partition), -1 where its coordinator keeps none."""

    starts: dict[Place, int]
    lags: dict[Place, int] | None  # None: the broker does not count it, as before Kafka 4.2


def ask_share_group(group: str, config: Mapping[str, str]) -> tuple[ShareGroup, ShareOffsets]:
    """Return a share group with its members, and its offsets.

    Raises:
        SourceError: no broker answers, or one refuses.
    """
    return ask_coordinator(
        group,
        config,
        lambda connection, versions: (
            _share_group(connection, group),
            _share_offsets(connection, group, min(versions.get(_SHARE_OFFSETS, 0), 1)),
        ),
    )


def ask_streams_group(group: str, config: Mapping[str, str]) -> StreamsGroup:
    """Return a Streams group with its members and their tasks, and its topology.

    Raises:
        SourceError: no broker answers, or one refuses.
    """
    return ask_coordinator(
        group,
        config,
        lambda connection, versions: _streams_group(
            connection, group, min(versions.get(_STREAMS_DESCRIBE, 0), 1)
        ),
    )


def _share_group(connection: Connection, group: str) -> ShareGroup:
    """Return what ShareGroupDescribe tells."""
    # One group, and no list of what this user may do.
    answer = connection.ask(_SHARE_DESCRIBE, 1, compact_array([compact_text(group)]) + b"\0" + NO_TAGS)
    answer.int32()
    answer.items()
    check_error(answer.int16(), answer.compact())
    name, state, epoch, assigned, strategy = (
        answer.text(),
        answer.text(),
        answer.int32(),
        answer.int32(),
        answer.text(),
    )
    members = []
    for _ in answer.items():
        member, rack, member_epoch = answer.text(), answer.compact(), answer.int32()
        client, host = answer.text(), answer.text()
        topics = tuple(sorted(answer.text() for _ in answer.items()))
        partitions: dict[str, list[int]] = {}
        for _ in answer.items():
            answer.skip(16)  # the topic's id
            topic = answer.text()
            partitions[topic] = sorted(answer.int32() for _ in answer.items())
            answer.tags()
        answer.tags()  # of the assignment
        answer.tags()
        members.append(
            ShareMember(
                member,
                client or None,
                host.removeprefix("/") or None,
                rack=rack or None,
                epoch=member_epoch,
                topics=topics,
                partitions={topic: partitions[topic] for topic in sorted(partitions)},
            )
        )
    return ShareGroup(
        name=name,
        status=state or None,
        strategy=strategy or None,
        group_epoch=epoch,
        assignment_epoch=assigned,
        members=tuple(members),
    )


def _share_offsets(connection: Connection, group: str, version: int) -> ShareOffsets:
    """Return what DescribeShareGroupOffsets tells of all partitions of a group."""
    # A null array of topics asks for all that the group has.
    asked = compact_text(group) + b"\0" + NO_TAGS
    answer = connection.ask(_SHARE_OFFSETS, version, compact_array([asked]) + NO_TAGS)
    answer.int32()
    starts, lags = {}, {}
    for _ in answer.items():
        answer.text()
        for _ in answer.items():
            topic = answer.text()
            answer.skip(16)  # the topic's id
            for _ in answer.items():
                place, start = (topic, answer.int32()), answer.int64()
                answer.skip(4)  # the leader's epoch
                lag = answer.int64() if version else -1
                error = answer.int16()
                answer.compact()
                answer.tags()
                # A partition that could not be asked for is left out, and so unknown.
                if not error:
                    starts[place], lags[place] = start, lag
            answer.tags()
        check_error(answer.int16(), answer.compact())
        answer.tags()
    return ShareOffsets(starts, lags if version else None)


def _streams_group(connection: Connection, group: str, version: int) -> StreamsGroup:
    """Return what StreamsGroupDescribe tells."""
    body = compact_array([compact_text(group)]) + b"\0" + (b"\0" if version else b"") + NO_TAGS
    answer = connection.ask(_STREAMS_DESCRIBE, version, body)
    answer.int32()
    answer.items()
    check_error(answer.int16(), answer.compact())
    name, state, epoch, assigned = answer.text(), answer.text(), answer.int32(), answer.int32()
    topology_epoch, subtopologies = _topology(answer)
    members = tuple(_streams_member(answer) for _ in answer.items())
    answer.skip(4)  # what this user may do
    strategy = None
    if version:
        # No description was asked for (KIP-1331), so it is null and its status 0.
        answer.skip(2)
        strategy = answer.compact()
    return StreamsGroup(
        name=name,
        status=state or None,
        strategy=strategy,
        group_epoch=epoch,
        assignment_epoch=assigned,
        members=members,
        topology_epoch=topology_epoch,
        subtopologies=subtopologies,
        described=True,
    )


def _topology(answer: AnswerReader) -> tuple[int | None, dict[str, Subtopology] | None]:
    """Return the epoch of a topology and its subtopologies by id; None for what the coordinator has not."""
    # A struct that may be null has a byte before it: below 0 for null.
    if answer.int8() != _TRUE:
        return None, None
    epoch, size = answer.int32(), answer.uvarint()
    if not size:
        answer.tags()
        return epoch, None
    found = {}
    for _ in range(size - 1):
        name = answer.text()
        sources = tuple(answer.text() for _ in answer.items())
        for _ in answer.items():
            answer.text()  # a repartition topic that it writes to
        changelogs, repartitions = _topic_infos(answer), _topic_infos(answer)
        answer.tags()
        found[name] = Subtopology(sources, repartitions, changelogs)
    answer.tags()
    return epoch, {name: found[name] for name in sorted(found)}


def _topic_infos(answer: AnswerReader) -> tuple[str, ...]:
    """Return the names of internal topics; their settings are passed over."""
    names = []
    for _ in answer.items():
        names.append(answer.text())
        answer.skip(4 + 2)  # partitions, replication factor
        for _ in answer.items():
            answer.text(), answer.text()
            answer.tags()
        answer.tags()
    return tuple(names)


def _streams_member(answer: AnswerReader) -> StreamsMember:
    """Return the next member of the answer."""
    member, epoch, instance, rack = answer.text(), answer.int32(), answer.compact(), answer.compact()
    client, host, topology_epoch, process = answer.text(), answer.text(), answer.int32(), answer.text()
    if answer.int8() == _TRUE:  # the endpoint for interactive queries
        answer.text()
        answer.skip(2)
        answer.tags()
    for _ in answer.items():  # client tags
        answer.text(), answer.text()
        answer.tags()
    for _ in range(2):  # offsets of changelogs, and their ends
        for _ in answer.items():
            answer.text()
            answer.skip(4 + 8)
            answer.tags()
    active, standby, warmup = _assignment(answer)
    target_active, target_standby, _ = _assignment(answer)
    classic = answer.int8() == _TRUE
    answer.tags()
    return StreamsMember(
        member,
        client or None,
        host.removeprefix("/") or None,
        instance,
        rack or None,
        epoch,
        process=process or None,
        topology_epoch=topology_epoch,
        classic=classic,
        active=active,
        standby=standby,
        warmup=warmup,
        target_active=target_active,
        target_standby=target_standby,
    )


def _assignment(answer: AnswerReader) -> tuple[Tasks, Tasks, Tasks]:
    """Return the active, standby and warm-up tasks of an assignment."""
    roles = []
    for _ in range(3):
        tasks: Tasks = {}
        for _ in answer.items():
            name = answer.text()
            tasks[name] = sorted(answer.int32() for _ in answer.items())
            answer.tags()
        roles.append({name: tasks[name] for name in sorted(tasks)})
    answer.tags()
    active, standby, warmup = roles
    return active, standby, warmup
