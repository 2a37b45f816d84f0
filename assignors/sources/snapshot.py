"""Our own file of a group at one moment: JSON, made to be kept and compared later."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import numpy as np

from assignors.diff.state import GroupState, MemberIdentity
from assignors.errors import SourceError
from assignors.extras import needs
from assignors.limits import MAX_GROUP_PARTITIONS, MAX_ID, MAX_OFFSET, MAX_PARTITION, MAX_TOPIC_NAME
from assignors.sources.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

with needs("a snapshot", "cli"):
    import msgspec

FORMAT_VERSION = "1.0"

_Partition = Annotated[int, msgspec.Meta(ge=0, le=MAX_PARTITION)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_GROUP_PARTITIONS)]
_Lag = Annotated[int, msgspec.Meta(ge=-1, le=MAX_OFFSET)]
_Name = Annotated[str, msgspec.Meta(max_length=MAX_TOPIC_NAME)]
_Id = Annotated[str, msgspec.Meta(max_length=MAX_ID)]


class SnapshotMember(msgspec.Struct, omit_defaults=True):
    """A member and its partitions, by topic."""

    id: _Id
    instance_id: _Id | None = None
    client_id: _Id | None = None
    host: _Id | None = None
    topics: list[_Name] | None = None
    partitions: dict[_Name, list[_Partition]] = {}


class Snapshot(msgspec.Struct, tag_field="kind", tag="group-snapshot", omit_defaults=True):
    """A group; readers ignore keys they do not know, as a newer minor version may add some."""

    format_version: str
    members: list[SnapshotMember]
    group: str | None = None
    state: str | None = None
    topics: dict[_Name, _Count] = {}
    """Partition count of each topic; none where the counts were not known."""
    unassigned: dict[_Name, list[_Partition]] = {}
    """Partitions nobody has; those of topics with a count need not be listed."""
    lag: dict[_Name, dict[_Partition, _Lag]] = {}


def parse_snapshot(content: str | bytes) -> GroupState:
    """The group of a snapshot.

    Raises:
        SourceError: not a snapshot, or of a newer major version; the message carries the path to the fault.
    """
    try:
        snapshot = msgspec.json.decode(content, type=Snapshot)
    except RecursionError:
        raise SourceError("not a group snapshot: it is nested too deeply") from None
    except msgspec.MsgspecError as error:
        raise SourceError(f"not a group snapshot: {error}") from error
    if snapshot.format_version.partition(".")[0] != FORMAT_VERSION.partition(".")[0]:
        raise SourceError(
            f"snapshot of format {snapshot.format_version}; this release reads {FORMAT_VERSION}"
        )
    read = {*snapshot.unassigned, *(topic for member in snapshot.members for topic in member.partitions)}
    complete = bool(snapshot.topics) and read <= snapshot.topics.keys()
    state = _rows(snapshot).state(name=snapshot.group, status=snapshot.state)
    return replace(state.completed(snapshot.topics), complete=complete)


def _rows(snapshot: Snapshot) -> Rows:
    rows = Rows()
    listed: dict[str, set[int]] = {topic: set() for topic in snapshot.lag}

    def add(topic: str, partitions: list[int], owner: str | None, place: str) -> None:
        count = snapshot.topics.get(topic)
        if count is not None and max(partitions, default=-1) >= count:
            raise SourceError(
                f"{topic}-{max(partitions)} does not exist, {topic} has {count} partitions - at `{place}`"
            )
        lags = snapshot.lag.get(topic)
        rows.partitions(topic, partitions, owner, lags and [lags.get(each, -1) for each in partitions])
        if lags:
            listed[topic].update(partitions)

    for number, member in enumerate(snapshot.members):
        topics = None if member.topics is None else tuple(member.topics)
        rows.member(MemberIdentity(member.id, member.instance_id, member.client_id, member.host, topics))
        for topic, partitions in member.partitions.items():
            add(topic, partitions, member.id, f"$.members[{number}].partitions")
    for topic, partitions in snapshot.unassigned.items():
        add(topic, partitions, None, "$.unassigned")
    # Of the partitions that nothing lists, those with a lag; those without are added as columns.
    for topic, count in snapshot.topics.items():
        lags = snapshot.lag.get(topic, {})
        add(topic, [each for each in lags if each < count and each not in listed[topic]], None, "$.topics")
    return rows


def snapshot_bytes(state: GroupState) -> bytes:
    """A state as a snapshot; the same state gives the same bytes."""
    # The last one is nobody's: index -1.
    lists: list[dict[str, list[int]]] = [{} for _ in range(len(state.members) + 1)]
    counts: dict[str, int] = {}
    lag: dict[str, dict[int, int]] = {}
    rank = {name: place for place, name in enumerate(sorted(state.topics))}
    ranks = np.array([rank[name] for name in state.topics], np.int64)
    order = np.lexsort((state.partition, ranks[state.topic]))
    lags: Sequence[int] = [-1] * len(order) if state.lag is None else state.lag[order].tolist()
    columns = (
        state.member[order].tolist(),
        state.topic[order].tolist(),
        state.partition[order].tolist(),
        lags,
    )
    for member, topic, partition, records in zip(*columns, strict=True):
        name = state.topics[topic]
        counts[name] = partition + 1
        lists[member].setdefault(name, []).append(partition)
        if records >= 0:
            lag.setdefault(name, {})[partition] = records
    snapshot = Snapshot(
        FORMAT_VERSION,
        [],
        state.name,
        state.status,
        counts if state.complete else {},
        {} if state.complete else lists[-1],
        lag,
    )
    members = [
        SnapshotMember(
            identity.id,
            identity.instance_id,
            identity.client_id,
            identity.host,
            None if identity.topics is None else list(identity.topics),
            partitions,
        )
        for identity, partitions in zip(state.members, lists[:-1], strict=True)
    ]
    # A line a member reads well and gives small differences under version control.
    lines = b",\n".join(map(msgspec.json.encode, members))
    return (
        msgspec.json.encode(snapshot).replace(b'"members":[]', b'"members":[\n' + lines + b"\n]", 1) + b"\n"
    )
