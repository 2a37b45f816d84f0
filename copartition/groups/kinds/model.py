"""Hold a share group or a Streams group at one moment, in classes that are also the format of its snapshot.

None means that the source does not tell a fact; an empty mapping is an answer. Facts about partitions are
mappings of mappings, topic -> number -> value, because JSON has no pairs as keys. `kit.places.by_place`
flattens them.
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
"""Version of these snapshots. A reader accepts all versions with the same number before the dot."""

_Name = Annotated[str, msgspec.Meta(max_length=MAX_TOPIC_NAME)]
_Id = Annotated[str, msgspec.Meta(max_length=MAX_ID)]
_Partition = Annotated[int, msgspec.Meta(ge=0, le=MAX_PARTITION)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_PARTITION + 1)]
_Offset = Annotated[int, msgspec.Meta(ge=-MAX_OFFSET, le=MAX_OFFSET)]
_Epoch = Annotated[int, msgspec.Meta(ge=-2, le=2**31 - 1)]
Numbers: TypeAlias = dict[_Name, dict[_Partition, _Offset]]
"""Topic -> partition number -> an offset, a lag or a time; a partition whose value is unknown is missing."""
Tasks: TypeAlias = dict[_Id, list[_Partition]]
"""Tasks by subtopology: id of the subtopology -> partition numbers."""


class KindMember(msgspec.Struct, frozen=True, omit_defaults=True):
    """Holds the facts that members of both kinds have; `epoch` is the epoch of the member's assignment."""

    id: _Id
    client_id: _Id | None = None
    host: _Id | None = None
    instance_id: _Id | None = None
    rack: _Id | None = None
    epoch: _Epoch | None = None


class ShareMemberState(KindMember, frozen=True, omit_defaults=True):
    """Holds a member of a share group. Other members may fetch records of the same partitions."""

    topics: tuple[_Name, ...] | None = None
    """The topics that the member subscribes to; None if the source does not tell."""
    partitions: dict[_Name, list[_Partition]] = {}
    """Topic -> numbers of the partitions of which the member may fetch records."""


class StreamsMemberState(KindMember, frozen=True, omit_defaults=True):
    """Holds a member of a Streams group, which is a thread of an application, and its tasks by role.

    Fields that begin with `target` are the member's target assignment; None if the source does not tell it.
    """

    process: _Id | None = None
    """The instance of the application to which the thread belongs. Threads of an instance share its disk."""
    topology_epoch: _Epoch | None = None
    classic: bool = False
    """True for a member that still speaks the classic protocol."""
    active: Tasks = {}
    standby: Tasks = {}
    warmup: Tasks = {}
    target_active: Tasks | None = None
    target_standby: Tasks | None = None


class SubtopologyTopics(msgspec.Struct, frozen=True, omit_defaults=True):
    """Holds a part of a topology, which runs as one task for each partition number of its input topics."""

    sources: tuple[_Name, ...] = ()
    repartition_sources: tuple[_Name, ...] = ()
    changelogs: tuple[_Name, ...] = ()
    """The topics that store the state of the subtopology's tasks; () for a subtopology without state."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The topics that the subtopology reads: source topics and repartition topics."""
        return (*self.sources, *self.repartition_sources)


class OtherGroup(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind"):
    """Holds what share groups and Streams groups have in common.

    Attributes:
        format_version: version of a snapshot, see `FORMAT_VERSION`; "" in memory.
        name: the group's id.
        status: Kafka's name of the group's state.
        strategy: the coordinator's name of the strategy.
        group_epoch: the group's epoch, which rises with each change that needs a new assignment.
        assignment_epoch: the group epoch for which the newest assignment was made. If it is below
            `group_epoch`, the next assignment is not made yet.
        topics: partition count of each topic of the group that the cluster shows.
        hidden: topics of the group that the cluster does not show to this user, or does not have.
        positions: the offset up to which all records are processed: the start offset in a share group, the
            committed offset in a Streams group. -1 if the coordinator keeps none.
        ends: the offset of each partition's next record.
        starts: the offset of each partition's oldest record.
        lag: number of records that are not processed. In a share group the coordinator counts it, without
            processed records beyond the start offset.
        waiting_ms: how long the oldest record that is not processed has waited, for some partitions.
        settings: the group's own settings as they were set, by name.
        limits: the brokers' settings that begin with `group.share.` or `group.streams.`, by name.
        warnings: sentences for the reader of a report.
        assumed: sentences on what the source does not show and an answer assumes.
        at: when the group was read; None if it was read from the output of a tool.
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


class ShareGroupState(OtherGroup, frozen=True, omit_defaults=True, tag="share-group-snapshot"):
    """Holds a share group; `members` is None if the source does not list them, () if the group has none."""

    members: tuple[ShareMemberState, ...] | None = None

    protocol = "share"


class StreamsGroupState(OtherGroup, frozen=True, omit_defaults=True, tag="streams-group-snapshot"):
    """Holds a Streams group.

    Attributes:
        members: the members; None if the source does not list them, () if the group has none.
        topology_epoch: epoch of the topology that the group runs.
        subtopologies: id -> subtopology. None if the source does not tell them, or if the coordinator could
            not set up the topology, because source topics are missing or have unsuitable partition counts.
        described: whether a coordinator described the group. If it did, None in `subtopologies` means that
            the coordinator could not set up the topology.
    """

    members: tuple[StreamsMemberState, ...] | None = None
    topology_epoch: _Epoch | None = None
    subtopologies: dict[_Id, SubtopologyTopics] | None = None
    described: bool = False

    protocol = "streams"


def other_group_bytes(group: OtherGroup) -> bytes:
    """Return the snapshot of a group as JSON on one line, with a newline at its end."""
    return msgspec.json.encode(msgspec.structs.replace(group, format_version=FORMAT_VERSION)) + b"\n"


_TAGS = {"share": '"share-group-snapshot"', "streams": '"streams-group-snapshot"'}
"""Kind of group -> the word by which its snapshot is recognized."""
_HEAD = 2**12
"""Number of characters at the start of a text in which a word of `_TAGS` must be."""


def is_other_snapshot(text: str) -> bool:
    """Return True if a text is a snapshot of a share group or a Streams group, by its beginning."""
    return any(tag in text[:_HEAD] for tag in _TAGS.values())


def check_no_other_snapshot(text: str) -> None:
    """Raise OtherGroupKindError for a snapshot of a share group or a Streams group, which has no owners.

    The message says what kind of group it is, and which command to use.
    """
    for kind, tag in _TAGS.items():
        if tag in text[:_HEAD]:
            name = parse_other_group(text.strip().partition("\n")[0]).name
            raise OtherGroupKindError(OTHER_KINDS[kind].format(group=name or "the group"), kind)


def parse_other_group(line: str) -> ShareGroupState | StreamsGroupState:
    """Return the group of a snapshot.

    Raises:
        SourceError: the line is not a snapshot, or is a snapshot of another major version. If a field is
            wrong, the message has the path to it.
    """
    group: ShareGroupState | StreamsGroupState = decode_format(
        line, ShareGroupState | StreamsGroupState, FORMAT_VERSION
    )
    return msgspec.structs.replace(group, format_version="")
