"""Streams groups (KIP-1071): tasks, which members run, stand by for, or warm up."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from assignors.partition_list import PartitionList
from assignors.rules.streams_sticky import assign_streams_sticky
from partitioning.errors import InvalidGroupError
from partitioning.kit.limits import check_members, check_partitions
from partitioning.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True)
class Subtopology:
    """A part of a topology; its tasks are numbered from 0.

    Attributes:
        id: its id, such as "0".
        tasks: how many tasks: the greatest partition count of its source topics.
        stateful: whether it has changelog topics, and so standby tasks.
    """

    id: str
    tasks: int
    stateful: bool = False


@dataclass(frozen=True, slots=True)
class StreamsMember:
    """A member (a thread) as the coordinator knows it; a task is `TopicPartition(subtopology, number)`.

    Attributes:
        id: member id.
        process_id: what its heartbeats call its process; an instance with several threads has one.
        active: tasks it runs, as the coordinator gave them.
        standby: tasks it stands by for.
        offsets: the sum of changelog offsets that it reports, by task: state that it has on disk.
    """

    id: str
    process_id: str
    active: Sequence[TopicPartition] = field(default=(), kw_only=True)
    standby: Sequence[TopicPartition] = field(default=(), kw_only=True)
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class StreamsGroup:
    """What the coordinator tells a strategy of a streams group.

    Attributes:
        subtopologies: the parts of its topology.
        members: its members, in the order in which they joined.
        standby_replicas: `streams.num.standby.replicas`.

    Raises:
        InvalidGroupError: two subtopologies or members of one id, or more of either than the limits allow.
    """

    subtopologies: Sequence[Subtopology]
    members: Sequence[StreamsMember]
    standby_replicas: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        check_partitions(sum(each.tasks for each in self.subtopologies), InvalidGroupError, "the group")
        check_members(len(self.members), InvalidGroupError, "the group")
        for what, ids in (
            ("subtopology", [each.id for each in self.subtopologies]),
            ("member", [each.id for each in self.members]),
        ):
            if twice := [each for each, count in Counter(ids).items() if count > 1]:
                raise InvalidGroupError(f"{what} {twice[0]!r} is in the group twice; name each {what} once")


class StreamsAssignment(NamedTuple):
    """Who runs what, and who stands by for what: for each member its tasks, by subtopology and number."""

    active: Mapping[str, PartitionList]
    standby: Mapping[str, PartitionList]


class StreamsStickyAssignor:
    """The broker's strategy for streams groups, "sticky": few moves, even loads, standbys where state is.

    Which of two equal processes or members comes first follows from their ids, which are random: without them
    a plan is right up to such ties.
    """

    name: ClassVar[str] = "sticky"

    def assign(self, group: StreamsGroup) -> StreamsAssignment:
        """Who gets what; every member is in both maps.

        Raises:
            AssignorError: there are tasks, but no members, where the JVM throws.
        """
        active, standby = assign_streams_sticky(group)
        return StreamsAssignment(
            *(
                {member: PartitionList.of(sorted(tasks)) for member, tasks in lists.items()}
                for lists in (active, standby)
            )
        )
