"""Write and read snapshots and records as JSON.

A snapshot is a group at one moment. A record is a file with one snapshot on each line.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from operator import itemgetter
from os import PathLike
from typing import Annotated, Any, NamedTuple, TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from assignors.files import read_text
from assignors.state import UNKNOWN_LAG, GroupState, MemberIdentity
from copartition.groups.rows import Rows
from copartition.kit.places import by_topic
from partitioning.errors import SourceError
from partitioning.kit.limits import MAX_GROUP_PARTITIONS, MAX_ID, MAX_OFFSET, MAX_PARTITION, MAX_TOPIC_NAME
from partitioning.kit.packages import needs

with needs("a snapshot", "cli"):
    import msgspec

FORMAT_VERSION = "1.5"
"""Version of snapshots that are written. All versions with the same number before the dot can be read."""

_IN_COMMON = (
    *("members_complete", "unlisted", "strategy", "protocol", "generation", "leading_client", "clients"),
    *("group_version", "warnings", "assumed"),
)
"""Fields that `Snapshot` and `GroupState` have under the same names."""

_T = TypeVar("_T")
_Partition = Annotated[int, msgspec.Meta(ge=0, le=MAX_PARTITION)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_GROUP_PARTITIONS)]
_Lag = Annotated[int, msgspec.Meta(ge=-MAX_OFFSET, le=MAX_OFFSET)]
_Name = Annotated[str, msgspec.Meta(max_length=MAX_TOPIC_NAME)]
_Time = Annotated[datetime, msgspec.Meta(tz=True)]
_Id = Annotated[str, msgspec.Meta(max_length=MAX_ID)]


class SnapshotMember(msgspec.Struct, omit_defaults=True):
    """Holds a member, its partitions by topic, and its target assignment (KIP-848)."""

    id: _Id
    instance_id: _Id | None = None
    client_id: _Id | None = None
    host: _Id | None = None
    rack: _Id | None = None
    protocol: _Id | None = None
    """The protocol that the member was seen to speak: "consumer", "classic" or "cooperative"."""
    topics: tuple[_Name, ...] | None = None
    partitions: dict[_Name, list[_Partition]] = {}
    target: dict[_Name, list[_Partition]] = {}


class Snapshot(msgspec.Struct, tag_field="kind", tag="group-snapshot", omit_defaults=True):
    """Holds a group. Readers ignore unknown keys, because a newer minor version may add some."""

    format_version: str
    members: list[SnapshotMember]
    group: str | None = None
    state: str | None = None
    topics: dict[_Name, _Count] = {}
    """Partition count of each topic; empty if the counts are not known."""
    unassigned: dict[_Name, list[_Partition]] = {}
    """Partitions without an owner. If `topics` has the count of their topic, they need not be listed."""
    lag: dict[_Name, dict[_Partition, _Lag]] = {}
    ends: dict[_Name, dict[_Partition, Annotated[int, msgspec.Meta(ge=0, le=MAX_OFFSET)]]] = {}
    """The offset of each partition's next record, in a record of several snapshots."""
    members_complete: bool = True
    unlisted: _Count = 0
    """Number of members that the source counts but does not list; none of them has a partition."""
    strategy: str | None = None
    protocol: str | None = None
    topic_ids: dict[_Name, UUID] = {}
    racks: dict[_Name, tuple[tuple[_Id, ...], ...]] = {}
    """The racks of the replicas of each partition."""
    assumed: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    has_target: bool = False
    """True if the members' targets are known. A known target may be empty."""
    target_unassigned: dict[_Name, list[_Partition]] = {}
    generation: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """A lower bound for the group's generation."""
    leading_client: _Id | None = None
    """The client library of the member that made the assignments."""
    clients: tuple[_Id, ...] = ()
    """The client libraries of the members, as far as they are known."""
    group_version: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """The cluster's level of the feature group.version."""
    at: _Time | None = None
    """In a record: the time at which the group was first seen in this state."""
    since: _Time | None = None
    """In a record: the time at which the group was last seen in the state of the line before."""


def parse_snapshot(content: str | bytes) -> tuple[GroupState, GroupState | None]:
    """Return the group of a snapshot, and its target assignment if the snapshot has one (KIP-848).

    Raises:
        SourceError: the content is no snapshot, has another major version, or contradicts itself (see
            `snapshot_states`). If a field is wrong, the message has the path to it.
    """
    return snapshot_states(decode_snapshot(content))


def decode_snapshot(content: str | bytes) -> Snapshot:
    """Return the fields of a snapshot. Each is checked, but not yet against other fields.

    Raises:
        SourceError: the content is no JSON of a snapshot, or has another major version.
    """
    snapshot: Snapshot = decode_format(content, Snapshot, FORMAT_VERSION)
    return snapshot


def decode_format(content: str | bytes, type_: Any, version: str) -> Any:
    """Return the value of a snapshot of one type. Each field is checked, but not yet against other fields.

    Args:
        content: the JSON.
        type_: a struct with a field `format_version`, or a union of such structs.
        version: the version that is written. All versions with the same number before the dot can be read.

    Raises:
        SourceError: the content is no JSON of this type, or has another major version. If a field is wrong,
            the message has the path to it.
    """
    try:
        snapshot = msgspec.json.decode(content, type=type_)
    # msgspec lets Python's own error through if a text is nested too deeply.
    except RecursionError:
        raise SourceError("not a group snapshot: it is nested too deeply") from None
    except msgspec.MsgspecError as error:
        raise SourceError(f"not a group snapshot: {error}") from error
    if snapshot.format_version.partition(".")[0] != version.partition(".")[0]:
        raise SourceError(f"snapshot of format {snapshot.format_version}; this release reads {version}")
    return snapshot


def snapshot_states(snapshot: Snapshot) -> tuple[GroupState, GroupState | None]:
    """Return the group of a snapshot, and its target assignment if the snapshot has one.

    Raises:
        SourceError: the snapshot contradicts itself: a partition number is not below its topic's count, or
            two members have one id. A partition with two owners is no error: both are in the state.
    """
    current = _state(snapshot, "partitions", snapshot.unassigned, "unassigned")
    if not snapshot.has_target:
        return current, None
    return current, _state(snapshot, "target", snapshot.target_unassigned, "target_unassigned")


def _state(
    snapshot: Snapshot, key: str, unassigned: Mapping[str, list[int]], unassigned_key: str
) -> GroupState:
    """Return one of a snapshot's two states, the current one or the target.

    Args:
        snapshot: the snapshot.
        key: the field of a member that lists its partitions in this state, "partitions" or "target".
        unassigned: topic -> its partitions without an owner in this state.
        unassigned_key: the name of the snapshot's field with these, for errors.
    """
    lists = [getattr(member, key) for member in snapshot.members]
    read = {*unassigned, *(topic for partitions in lists for topic in partitions)}
    # All partitions without an owner are known only if every topic that is named has a count.
    complete = bool(snapshot.topics) and read <= snapshot.topics.keys()
    rows = Rows()
    listed: dict[str, set[int]] = {topic: set() for topic in snapshot.lag}

    def add(topic: str, partitions: list[int], owner: str | None, place: str) -> None:
        """Add partitions of one topic with one owner; refuse a number that is not below the topic's count."""
        count = snapshot.topics.get(topic)
        if count is not None and max(partitions, default=-1) >= count:
            raise SourceError(
                f"{topic}-{max(partitions)} does not exist, {topic} has {count} partitions - at `{place}`"
            )
        lags = snapshot.lag.get(topic)
        rows.partitions(
            topic, partitions, owner, lags and [lags.get(partition, UNKNOWN_LAG) for partition in partitions]
        )
        if lags:
            listed[topic].update(partitions)

    for number, (member, partitions) in enumerate(zip(snapshot.members, lists, strict=True)):
        identity = MemberIdentity(*(getattr(member, name) for name in MemberIdentity._fields))
        rows.member(identity, f" - at `$.members[{number}].id`")
        for topic, numbers in partitions.items():
            add(topic, numbers, member.id, f"$.members[{number}].{key}")
    for topic, numbers in unassigned.items():
        add(topic, numbers, None, f"$.{unassigned_key}")
    # Partitions that the snapshot names only in `lag` have no owner.
    for topic, total in snapshot.topics.items():
        lags = snapshot.lag.get(topic, {})
        add(topic, [lag for lag in lags if lag < total and lag not in listed[topic]], None, "$.topics")
    state = rows.state(name=snapshot.group, status=snapshot.state).with_every_partition(snapshot.topics)
    return replace(
        state,
        complete=complete,
        topic_ids=_by_topic(state, snapshot.topic_ids),
        racks=_by_topic(state, snapshot.racks),
        **_in_common(snapshot),
    )


def _in_common(group: Snapshot | GroupState) -> dict[str, Any]:
    """Return the fields that a snapshot and a state have under the same names, by name."""
    return {name: getattr(group, name) for name in _IN_COMMON}


def _by_topic(state: GroupState, values: Mapping[str, _T]) -> tuple[_T | None, ...]:
    """Return the values in the order of the state's topics, None for a topic without one.

    If `values` is empty, return ().
    """
    return tuple(map(values.get, state.topics)) if values else ()


def snapshot_bytes(state: GroupState, target: GroupState | None = None) -> bytes:
    """Return a group as a snapshot in UTF-8; equal states give equal bytes.

    Args:
        state: the group.
        target: the group's target assignment if it has one (KIP-848); its members are those of `state`.
    """
    snapshot = make_snapshot(state, target)
    # Each member is on a line of its own, so that people can read it and version control shows small changes.
    lines = ",\n".join(map(_json, snapshot.members))
    # The rest is one line with an empty list of members, which the members' lines replace.
    snapshot.members = []
    return (_json(snapshot).replace('"members":[]', f'"members":[\n{lines}\n]', 1) + "\n").encode()


def _json(value: msgspec.Struct) -> str:
    """Return a value as JSON on one line, in which all characters that cannot be printed are escaped.

    msgspec leaves some of them as they are. Printed in a terminal, they could control it.
    """
    text = msgspec.json.encode(value).decode()
    if text.isprintable():
        return text
    # In JSON on one line such a character can only be inside of a string, where an escape is allowed.
    return "".join(sign if sign.isprintable() else json.dumps(sign)[1:-1] for sign in text)


def make_snapshot(state: GroupState, target: GroupState | None = None) -> Snapshot:
    """Return the snapshot of a group, with its target assignment if there is one.

    If both states are complete, partitions without an owner are not listed: they follow from the counts of
    topics. Members keep their order; topics and partitions are sorted.
    """
    counts, lists, unassigned = _lists(state)
    targets: list[dict[str, list[int]]] = [{} for _ in state.members]
    target_unassigned: dict[str, list[int]] = {}
    if target is not None:
        target_counts, of_members, target_unassigned = _lists(target)
        # The target may have partitions with higher numbers than those that members have now.
        counts |= {name: max(count, counts.get(name, 0)) for name, count in target_counts.items()}
        place = {member.id: number for number, member in enumerate(target.members)}
        targets = [of_members[place[member.id]] if member.id in place else {} for member in state.members]
    # The counts are about both states, so they are written only if both are complete.
    complete = state.complete and (target is None or target.complete)
    return Snapshot(
        format_version=FORMAT_VERSION,
        members=[
            SnapshotMember(**identity._asdict(), partitions=partitions, target=wanted)
            for identity, partitions, wanted in zip(state.members, lists, targets, strict=True)
        ],
        group=state.name,
        state=state.status,
        topics={name: counts[name] for name in sorted(counts)} if complete else {},
        unassigned={} if complete else unassigned,
        lag=by_topic(state.lag_by_place),
        topic_ids=_without_unknown(state.topics, state.topic_ids),
        racks=_without_unknown(state.topics, state.racks),
        has_target=target is not None,
        target_unassigned={} if complete else target_unassigned,
        **_in_common(state),
    )


def _without_unknown(topics: Sequence[str], values: Sequence[_T | None]) -> dict[str, _T]:
    """Return the known values by topic, sorted by the topic's name."""
    pairs = zip(topics, values or [None] * len(topics), strict=True)
    return {name: value for name, value in sorted(pairs, key=itemgetter(0)) if value is not None}


def _order(state: GroupState) -> NDArray[np.intp]:
    """Return the order of the rows by topic name, then by partition number, as indices of rows."""
    rank = {name: place for place, name in enumerate(sorted(state.topics))}
    ranks = np.array([rank[name] for name in state.topics], np.int64)
    return np.lexsort((state.partition, ranks[state.topic]))


def _lists(
    state: GroupState,
) -> tuple[dict[str, int], list[dict[str, list[int]]], dict[str, list[int]]]:
    """Return a state as lists, each sorted by topic name and number.

    Returns:
        Topic -> the highest partition number seen, plus 1; for each member, topic -> its partitions; and
        topic -> the partitions without an owner.
    """
    # The last list has the partitions without an owner, whose member is -1.
    lists: list[dict[str, list[int]]] = [{} for _ in range(len(state.members) + 1)]
    counts: dict[str, int] = {}
    order = _order(state)
    # These are lists, because a loop over NumPy's arrays is slower.
    columns = (state.member[order].tolist(), state.topic[order].tolist(), state.partition[order].tolist())
    for member, topic, partition in zip(*columns, strict=True):
        name = state.topics[topic]
        counts[name] = max(counts.get(name, 0), partition + 1)
        lists[member].setdefault(name, []).append(partition)
    return counts, lists[:-1], lists[-1]


SUFFIX = ".ndjson"


class RecordStep(NamedTuple):
    """Holds one state of a record. The group changed to this state between `since` and `at`.

    Attributes:
        at: the time at which the state was first seen, in seconds since 1970 (UTC).
        since: the time at which the state before was last seen; None for the first step.
        state: the group. While a share group or a Streams group is watched, it is a group of that kind.
        target: the group's target assignment; None if it has none.
        ends: topic -> partition -> the offset of its next record.
        committed: topic -> partition -> committed offset, for a step that is written. A step that was read
            has None: its `state` has the lag.
    """

    at: float
    since: float | None
    state: GroupState
    target: GroupState | None = None
    ends: dict[str, dict[int, int]] | None = None
    committed: dict[str, dict[int, int]] | None = None


def record_line(step: RecordStep) -> str:
    """Return a step as one line of JSON; the line is also a snapshot.

    If `state` has no lag, the lag of a partition is its end minus its committed offset, if both are known.
    """
    snapshot = make_snapshot(step.state, step.target)
    snapshot.ends = step.ends or {}
    snapshot.lag = snapshot.lag or {
        topic: {number: ends[number] - offset for number, offset in offsets.items() if number in ends}
        for topic, offsets in (step.committed or {}).items()
        if (ends := snapshot.ends.get(topic))
    }
    snapshot.at = datetime.fromtimestamp(step.at, UTC)
    snapshot.since = None if step.since is None else datetime.fromtimestamp(step.since, UTC)
    return _json(snapshot) + "\n"


def read_record(path: str | PathLike[str]) -> list[RecordStep]:
    """Return the steps of a record in the order of the file, at least one.

    A last line without a newline is left out, because the program that writes the record may not have
    finished it.

    Raises:
        SourceError: the file cannot be read, is empty, or a line is no snapshot with a time. The message
            names the file and the line.
    """
    try:
        text = read_text(path)
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from error
    except SourceError as error:
        raise SourceError(f"{path}: {error}") from error
    steps = []
    # The text after the last newline is a line that is still being written.
    for number, line in enumerate(text.split("\n")[:-1], 1):
        try:
            steps.append(_step(decode_snapshot(line)))
        except SourceError as error:
            raise SourceError(f"{path}: line {number}: {error}") from error
    if not steps:
        raise SourceError(f"{path}: the record is empty")
    return steps


def _step(snapshot: Snapshot) -> RecordStep:
    """Return the step of a line.

    Raises:
        SourceError: the line has no time `at`, or its time `since` is after `at`.
    """
    if snapshot.at is None:
        raise SourceError("the snapshot has no time `at`; copartition watch --record writes it")
    if snapshot.since is not None and snapshot.since > snapshot.at:
        raise SourceError("the snapshot's time `since` is after `at`")
    since = None if snapshot.since is None else snapshot.since.timestamp()
    return RecordStep(snapshot.at.timestamp(), since, *snapshot_states(snapshot), snapshot.ends)
