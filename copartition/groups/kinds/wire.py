"""Ask a coordinator about share groups and Streams groups over our own connection.

confluent-kafka has no requests for these groups. `messages.toml` of `groups.live` describes the answers.
"""

from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any, NamedTuple

from copartition.groups.kinds.model import (
    ShareGroupState,
    ShareMemberState,
    StreamsGroupState,
    StreamsMemberState,
    SubtopologyTopics,
)
from copartition.groups.live.wire import (
    NO_TAGS,
    Connection,
    ask_coordinator,
    check_error,
    compact_array,
    compact_text,
)
from copartition.kit.places import Place


class ShareOffsets(NamedTuple):
    """Holds the offsets of a share group, by (topic, partition).

    Attributes:
        starts: the start offset of each partition; -1 if the coordinator keeps none.
        lags: number of records that are not processed, -1 if unknown; None if the broker does not count them
            (before Kafka 4.2).
    """

    starts: dict[Place, int]
    lags: dict[Place, int] | None


def ask_share_group(group: str, config: Mapping[str, str]) -> tuple[ShareGroupState, ShareOffsets]:
    """Return a share group with its members, and its offsets.

    Raises:
        SourceError: no broker answers, or one refuses.
    """
    return ask_coordinator(
        group,
        config,
        lambda connection: (_share_group(connection, group), _share_offsets(connection, group)),
    )


def ask_streams_group(group: str, config: Mapping[str, str]) -> StreamsGroupState:
    """Return a Streams group with its members and their tasks, and its topology.

    Raises:
        SourceError: no broker answers, or one refuses.
    """
    return ask_coordinator(group, config, lambda connection: _streams_group(connection, group))


def _share_group(connection: Connection, group: str) -> ShareGroupState:
    """Return a share group as ShareGroupDescribe describes it, without offsets and settings.

    Raises:
        CoordinatorMovesError: the broker does not coordinate the group now.
        ProtocolError: the broker refuses, or its answer cannot be read.
    """
    # The request names one group, and does not ask which operations this user may do.
    body = compact_array([compact_text(group)]) + b"\0" + NO_TAGS
    [described] = connection.request("ShareGroupDescribe", body, 1)["groups"]
    check_error(described["error"], described["message"])
    return ShareGroupState(
        name=described["id"],
        status=described["state"] or None,
        strategy=described["assignor"] or None,
        group_epoch=described["epoch"],
        assignment_epoch=described["assignment_epoch"],
        members=tuple(
            ShareMemberState(
                **_identity(member),
                topics=tuple(sorted(member["topics"])),
                partitions=_by_name(member["assignment"]["topics"]),
            )
            for member in described["members"]
        ),
    )


def _identity(member: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `KindMember` that the descriptions of both kinds have; empty texts are None."""
    return {
        "id": member["id"],
        "client_id": member["client"] or None,
        "host": member["host"].removeprefix("/") or None,
        "rack": member["rack"] or None,
        "epoch": member["epoch"],
    }


def _by_name(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[int]]:
    """Return the partitions of topics, or of subtopologies, by name; names and numbers are sorted."""
    return {row["name"]: sorted(row["partitions"]) for row in sorted(rows, key=itemgetter("name"))}


def _share_offsets(connection: Connection, group: str) -> ShareOffsets:
    """Return the offsets of all partitions of a share group, by DescribeShareGroupOffsets.

    Raises:
        CoordinatorMovesError, ProtocolError: as in `_share_group`.
    """
    version = connection.choose_version("DescribeShareGroupOffsets")
    # A null array of topics asks for all topics of the group.
    body = compact_array([compact_text(group) + b"\0" + NO_TAGS]) + NO_TAGS
    starts, lags = {}, {}
    for described in connection.request("DescribeShareGroupOffsets", body, version)["groups"]:
        for topic in described["topics"]:
            for partition in topic["partitions"]:
                # A partition with an error is left out, so its offset is unknown.
                if not partition["error"]:
                    place = topic["name"], partition["number"]
                    starts[place], lags[place] = partition["start"], partition.get("lag", -1)
        check_error(described["error"], described["message"])
    return ShareOffsets(starts, lags if version else None)


def _streams_group(connection: Connection, group: str) -> StreamsGroupState:
    """Return a Streams group as StreamsGroupDescribe describes it, without offsets and settings.

    Raises:
        CoordinatorMovesError, ProtocolError: as in `_share_group`.
    """
    version = connection.choose_version("StreamsGroupDescribe")
    # The request names one group. It asks neither which operations this user may do nor, in version 1, for a
    # description of the topology.
    body = compact_array([compact_text(group)]) + b"\0" + (b"\0" if version else b"") + NO_TAGS
    [described] = connection.request("StreamsGroupDescribe", body, version)["groups"]
    check_error(described["error"], described["message"])
    topology = described["topology"] or {}
    parts = topology.get("subtopologies")
    return StreamsGroupState(
        name=described["id"],
        status=described["state"] or None,
        strategy=described.get("assignor"),
        group_epoch=described["epoch"],
        assignment_epoch=described["assignment_epoch"],
        members=tuple(map(_streams_member, described["members"])),
        topology_epoch=topology.get("epoch"),
        subtopologies=None if parts is None else _subtopologies(parts),
        described=True,
    )


def _subtopologies(parts: Iterable[Mapping[str, Any]]) -> dict[str, SubtopologyTopics]:
    """Return the subtopologies of an answer by id, sorted."""
    return {
        part["id"]: SubtopologyTopics(
            tuple(part["sources"]),
            tuple(topic["name"] for topic in part["repartition_sources"]),
            tuple(topic["name"] for topic in part["changelogs"]),
        )
        for part in sorted(parts, key=itemgetter("id"))
    }


def _streams_member(member: Mapping[str, Any]) -> StreamsMemberState:
    """Return a member in an answer of StreamsGroupDescribe."""
    now, target = member["assignment"], member["target"]
    return StreamsMemberState(
        **_identity(member),
        instance_id=member["instance_id"],
        process=member["process"] or None,
        topology_epoch=member["topology_epoch"],
        classic=member["classic"] == 1,
        active=_by_name(now["active"]),
        standby=_by_name(now["standby"]),
        warmup=_by_name(now["warmup"]),
        target_active=_by_name(target["active"]),
        target_standby=_by_name(target["standby"]),
    )
