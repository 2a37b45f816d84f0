"""Assign groups that have no consumers: share groups (KIP-932), and the tasks of Kafka Streams.

The state of a group has members and topics, as consumers have them. What these kinds need besides (processes,
subtopologies, ids) is made here, always in the same way, and named in `assumed`.
"""

import uuid
from collections.abc import Callable, Mapping
from typing import NamedTuple

from assignors.group import Group, Member, Topic
from assignors.partition_list import PartitionList
from assignors.share import SimpleAssignor
from assignors.state import GroupState
from assignors.streams.classic_sticky import StreamsClassicStickyAssignor
from assignors.streams.high_availability import StreamsHighAvailabilityAssignor
from assignors.streams.sticky import StreamsGroup, StreamsMember, StreamsStickyAssignor, Subtopology

Lists = Mapping[str, PartitionList]
"""Member -> what it gets: partitions, or tasks as (subtopology, number) pairs."""

_PROCESS = uuid.UUID(int=0)
"""The name space for turning a member's name into the id of its process."""


def _share(state: GroupState) -> Lists:
    """Return which member reads which partitions of a share group; lists of two members may overlap."""
    topics = [Topic(*counted) for counted in state.counts_by_topic.items()]
    members = [Member(member.id, member.topics or ()) for member in state.members]
    return SimpleAssignor().assign(Group(topics, members))


def _streams(state: GroupState) -> Lists:
    """Return which member runs which active tasks of a Streams group (KIP-1071)."""
    # Each member has a process of its own, because a capture does not show which members share one.
    members = [StreamsMember(member.id, member.id) for member in state.members]
    return StreamsStickyAssignor().assign(StreamsGroup(_subtopologies(state), members)).active


def _by_process(
    assignor: StreamsHighAvailabilityAssignor | StreamsClassicStickyAssignor,
) -> Callable[[GroupState], Lists]:
    """Return a function for an application of the classic protocol, whose leader assigns to processes.

    Args:
        assignor: the assignor, which gives tasks to processes.

    Returns:
        A function that gives tasks to members; each member is a process of its own.
    """

    def assign(state: GroupState) -> Lists:
        # The id is made from the name and not at random: the leader orders processes by id, and equal groups
        # must have equal answers.
        process_of = {member.id: str(uuid.uuid5(_PROCESS, member.id)) for member in state.members}
        members = [StreamsMember(name, process) for name, process in process_of.items()]
        active = assignor.assign(StreamsGroup(_subtopologies(state), members)).active
        return {name: active[process] for name, process in process_of.items()}

    return assign


def _subtopologies(state: GroupState) -> list[Subtopology]:
    """Return a subtopology for each topic, numbered from 0 in the order of the topics.

    A capture does not show which topics an application reads together, so no two share a subtopology.
    """
    counts = state.counts_by_topic.values()
    return [Subtopology(str(number), count) for number, count in enumerate(counts)]


_TASKS = (
    "each topic is a subtopology of its own without state, and each member a process with one thread; a task "
    "is named as in Kafka Streams, by subtopology and partition"
)
_IDS = "topic ids and member ids are made from the names; ties between equal members fall by them"


class OtherKind(NamedTuple):
    """A strategy for groups that have no consumers.

    Attributes:
        assign: returns what each member gets.
        origin: where the strategy comes from, and the kind of groups that it serves.
        summary: what the strategy does, in one line.
        assumed: what the strategy assumes about a group, one sentence each.
    """

    assign: Callable[[GroupState], Lists]
    origin: str
    summary: str
    assumed: tuple[str, ...]


_OF_SHARE = "built-in, of share groups"
_OF_STREAMS = "built-in, of Kafka Streams"
OTHER_KINDS = {
    "share": OtherKind(_share, _OF_SHARE, "Kafka's 'simple' (KIP-932): even by topic, few moves.", (_IDS,)),
    "streams": OtherKind(_streams, _OF_STREAMS, "Kafka's 'sticky' for tasks (KIP-1071).", (_TASKS, _IDS)),
    StreamsHighAvailabilityAssignor.name: OtherKind(
        _by_process(StreamsHighAvailabilityAssignor()),
        _OF_STREAMS,
        "The default of leaders of the classic protocol.",
        (_TASKS, _IDS),
    ),
    StreamsClassicStickyAssignor.name: OtherKind(
        _by_process(StreamsClassicStickyAssignor()),
        _OF_STREAMS,
        "The other strategy of leaders of the classic protocol.",
        (_TASKS, _IDS),
    ),
}
"""Name of the strategy in `copartition assign` -> the strategy."""
