"""Ask a coordinator about share groups and Streams groups over our own connection: confluent-kafka cannot.

The layouts are those of Kafka's message definitions: ShareGroupDescribe version 1, DescribeShareGroupOffsets
versions 0 and 1 (1 adds the lag, KIP-1226), StreamsGroupDescribe versions 0 and 1 (1 adds the assignor).
Fields must be read in the order of their layout, so unused ones are read and ignored. Each element of a list
ends with tagged fields (`tags`, KIP-482).
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
    """Holds the offsets of a share group, by (topic, partition).

    Attributes:
        starts: the start offset of each partition; -1 if the coordinator keeps none.
        lags: number of records that are not processed, -1 if unknown; None if the broker does not count them
            (before Kafka 4.2).
    """

    starts: dict[Place, int]
    lags: dict[Place, int] | None


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
    """Return a share group as ShareGroupDescribe describes it, without offsets and settings.

    Raises:
        CoordinatorMovesError: the broker does not coordinate the group now.
        ProtocolError: the broker refuses, or its answer cannot be read.
    """
    # The request names one group, and does not ask which operations this user may do.
    answer = connection.ask(_SHARE_DESCRIBE, 1, compact_array([compact_text(group)]) + b"\0" + NO_TAGS)
    answer.int32()  # the throttle time
    answer.items()  # one group
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
    """Return the offsets of all partitions of a share group, by DescribeShareGroupOffsets.

    Args:
        connection: a connection to the group's coordinator.
        group: the group's id.
        version: version of the request, 0 or 1.

    Raises:
        CoordinatorMovesError, ProtocolError: as in `_share_group`.
    """
    # A null array of topics asks for all topics of the group.
    asked = compact_text(group) + b"\0" + NO_TAGS
    answer = connection.ask(_SHARE_OFFSETS, version, compact_array([asked]) + NO_TAGS)
    answer.int32()  # the throttle time
    starts, lags = {}, {}
    for _ in answer.items():
        answer.text()  # the group's id
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
                # A partition with an error is left out, so its offset is unknown.
                if not error:
                    starts[place], lags[place] = start, lag
            answer.tags()
        check_error(answer.int16(), answer.compact())
        answer.tags()
    return ShareOffsets(starts, lags if version else None)


def _streams_group(connection: Connection, group: str, version: int) -> StreamsGroup:
    """Return a Streams group as StreamsGroupDescribe describes it, without offsets and settings.

    Args:
        connection: a connection to the group's coordinator.
        group: the group's id.
        version: version of the request, 0 or 1.

    Raises:
        CoordinatorMovesError, ProtocolError: as in `_share_group`.
    """
    # The request names one group. It asks neither which operations this user may do nor, in version 1, for a
    # description of the topology.
    body = compact_array([compact_text(group)]) + b"\0" + (b"\0" if version else b"") + NO_TAGS
    answer = connection.ask(_STREAMS_DESCRIBE, version, body)
    answer.int32()  # the throttle time
    answer.items()  # one group
    check_error(answer.int16(), answer.compact())
    name, state, epoch, assigned = answer.text(), answer.text(), answer.int32(), answer.int32()
    topology_epoch, subtopologies = _topology(answer)
    members = tuple(_streams_member(answer) for _ in answer.items())
    answer.skip(4)  # what this user may do
    strategy = None
    if version:
        # The description of the topology (KIP-1331) was not asked for: it is null, and its status is 0.
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
    """Return the epoch of a topology and its subtopologies by id; None for what the coordinator lacks."""
    # A struct that may be null has a byte before it: 1 if it follows, below 0 for null.
    if answer.int8() != _TRUE:
        return None, None
    # `items` would not tell a null array from an empty one, so the length is read here: 0 is null, any other
    # number is one more than the number of elements.
    epoch, size = answer.int32(), answer.uvarint()
    if not size:
        answer.tags()
        return epoch, None
    found = {}
    for _ in range(size - 1):
        name = answer.text()
        sources = tuple(answer.text() for _ in answer.items())
        for _ in answer.items():
            answer.text()  # a repartition topic to which the subtopology writes
        changelogs, repartitions = _topic_infos(answer), _topic_infos(answer)
        answer.tags()
        found[name] = Subtopology(sources, repartitions, changelogs)
    answer.tags()
    return epoch, {name: found[name] for name in sorted(found)}


def _topic_infos(answer: AnswerReader) -> tuple[str, ...]:
    """Return the names of a list of internal topics; their settings are read and ignored."""
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
    """Return the next member in an answer of StreamsGroupDescribe."""
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
    """Return the active, standby and warm-up tasks of the next assignment in an answer, each sorted."""
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
