"""Hold a share group or a Streams group at one moment, as a value that is its own snapshot in JSON.

None is what a source does not tell; an empty mapping is an answer. Partitions are keys of two levels, topic
and number, as JSON has no pairs; `kit.places.by_place` flattens them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, TypeAlias

from copartition.groups.kinds import OTHER_KINDS
from copartition.groups.snapshot import decode_format
from partitioning.errors import OtherGroupKindError
from partitioning.kit.limits import MAX_ID, MAX_OFFSET, MAX_PARTITION, MAX_TOPIC_NAME
from partitioning.kit.packages import needs

with needs("a snapshot", "cli"):
    import msgspec

FORMAT_VERSION = "1.0"
"""Version of these snapshots: a reader takes all with the same number before the dot."""

_Name = Annotated[str, msgspec.Meta(max_length=MAX_TOPIC_NAME)]
_Id = Annotated[str, msgspec.Meta(max_length=MAX_ID)]
_Partition = Annotated[int, msgspec.Meta(ge=0, le=MAX_PARTITION)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_PARTITION + 1)]
_Offset = Annotated[int, msgspec.Meta(ge=-MAX_OFFSET, le=MAX_OFFSET)]
_Epoch = Annotated[int, msgspec.Meta(ge=-2, le=2**31 - 1)]
Numbers: TypeAlias = dict[_Name, dict[_Partition, _Offset]]
"""A number of each partition that one is known of: topic -> partition number -> value."""
Tasks: TypeAlias = dict[_Id, list[_Partition]]
"""Tasks by subtopology: id of the subtopology -> partition numbers."""


class KindMember(msgspec.Struct, frozen=True, omit_defaults=True):
    """A member of either kind; `epoch` is the assignment that it has, as the coordinator counts them."""

    id: _Id
    client_id: _Id | None = None
    host: _Id | None = None
    instance_id: _Id | None = None
    rack: _Id | None = None
    epoch: _Epoch | None = None


class ShareMember(KindMember, frozen=True, omit_defaults=True):
    """A member of a share group: the partitions that it may fetch records of, beside other members."""

    topics: tuple[_Name, ...] | None = None
    """What it subscribes to; None if the source does not tell."""
    partitions: dict[_Name, list[_Partition]] = {}


class StreamsMember(KindMember, frozen=True, omit_defaults=True):
    """A member of a Streams group, a thread of an instance, and its tasks; targets are what it is to have."""

    process: _Id | None = None
    """The instance of the application that the thread is in: threads of one instance share its disk."""
    topology_epoch: _Epoch | None = None
    classic: bool = False
    """True for a member that still speaks the classic protocol."""
    active: Tasks = {}
    standby: Tasks = {}
    warmup: Tasks = {}
    target_active: Tasks | None = None
    target_standby: Tasks | None = None


class Subtopology(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of a topology that is run as one task for each partition number of its inputs."""

    sources: tuple[_Name, ...] = ()
    repartition_sources: tuple[_Name, ...] = ()
    changelogs: tuple[_Name, ...] = ()
    """The topics that keep the state of its tasks; empty for a subtopology without state."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The topics that it reads."""
        return (*self.sources, *self.repartition_sources)


class OtherGroup(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind"):
    """Has what both kinds have.

    Attributes:
        format_version: of a snapshot, see `FORMAT_VERSION`; "" in memory.
        name: group id.
        status: Kafka's name of the group's state.
        strategy: the assignor by the coordinator's name.
        group_epoch: counts the changes that ask for an assignment.
        assignment_epoch: the epoch of the newest assignment; below `group_epoch`, one is still to be made.
        topics: partition count of each topic that the group reads, if the cluster has it.
        hidden: topics of the group that the cluster does not show to this user, or does not have.
        positions: the offset up to which everything is done, -1 where none is kept: the start offset of a
            share group's partition, the committed offset of a Streams group.
        ends: the offset of the next record of each partition.
        starts: the offset of the oldest record that is still kept.
        lag: records that are not done. A share group's coordinator counts it, without those that are done
            beyond the start offset.
        waiting_ms: of some partitions, how long the oldest record that is not done has waited.
        settings: the group's own settings as they were set, by name.
        limits: the brokers' settings that begin with `group.share.` or `group.streams.`, by name.
        warnings: sentences for the reader of a report.
        assumed: what the source does not show and an answer takes for granted.
        at: when the group was seen so.
    """

    format_version: str = ""
    name: _Id | None = msgspec.field(default=None, name="group")
    status: _Id | None = msgspec.field(default=None, name="state")
    strategy: _Id | None = None
    group_epoch: _Epoch | None = None
    assignment_epoch: _Epoch | None = None
    topics: dict[_Name, _Count] | None = None
    hidden: tuple[_Name, ...] = ()
    positions: Numbers | None = None
    ends: Numbers | None = None
    starts: Numbers | None = None
    lag: Numbers | None = None
    waiting_ms: Numbers | None = None
    settings: dict[str, str] | None = None
    limits: dict[str, str] | None = None
    warnings: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    at: datetime | None = None


class ShareGroup(OtherGroup, frozen=True, omit_defaults=True, tag="share-group-snapshot"):
    """A share group; `members` is None if the source lists none, () if the group has none."""

    members: tuple[ShareMember, ...] | None = None

    protocol = "share"


class StreamsGroup(OtherGroup, frozen=True, omit_defaults=True, tag="streams-group-snapshot"):
    """A Streams group.

    Attributes:
        members: None if the source lists none, () if the group has none.
        topology_epoch: of the topology that the group runs.
        subtopologies: by id; None if the source does not tell them, or if the coordinator has none that it
            could set up: source topics are missing or have partition counts that do not fit.
        described: the source is a coordinator, so that None above is its answer.
    """

    members: tuple[StreamsMember, ...] | None = None
    topology_epoch: _Epoch | None = None
    subtopologies: dict[_Id, Subtopology] | None = None
    described: bool = False

    protocol = "streams"


def other_group_bytes(group: OtherGroup) -> bytes:
    """Return the snapshot of a group as JSON on one line, with a newline at its end."""
    return msgspec.json.encode(msgspec.structs.replace(group, format_version=FORMAT_VERSION)) + b"\n"


_TAGS = {"share": '"share-group-snapshot"', "streams": '"streams-group-snapshot"'}
"""The word by which a snapshot of each kind is known."""
_HEAD = 2**12
"""Characters at the start of a text in which the word stands."""


def is_other_snapshot(text: str) -> bool:
    """Return True if a text is a snapshot of a share group or a Streams group, by its beginning."""
    return any(tag in text[:_HEAD] for tag in _TAGS.values())


def check_no_other_snapshot(text: str) -> None:
    """Refuse a snapshot of a share group or a Streams group, where the question is one of owners.

    Raises:
        OtherGroupKindError: it is such a snapshot; the message says what the group is, and what to use.
    """
    for kind, tag in _TAGS.items():
        if tag in text[:_HEAD]:
            name = parse_other_group(text.strip().partition("\n")[0]).name
            raise OtherGroupKindError(OTHER_KINDS[kind].format(group=name or "the group"), kind)


def parse_other_group(line: str) -> ShareGroup | StreamsGroup:
    """Return the group of a snapshot.

    Raises:
        SourceError: it is none, or one of a newer major version; the message has the path to the fault.
    """
    group: ShareGroup | StreamsGroup = decode_format(line, ShareGroup | StreamsGroup, FORMAT_VERSION)
    return msgspec.structs.replace(group, format_version="")
