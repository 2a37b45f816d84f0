"""Describes streams groups (KIP-1071), and assigns as their "sticky" does.

This is the broker's `streams.assignor.StickyTaskAssignor` of Kafka 4.4.0. A task is a partition of a
subtopology. A member has it as an active task, which runs, or as a standby task. In this version, the
strategy knows neither warm-up tasks nor racks.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from assignors.group import Topic, check_ids
from assignors.partition_list import PartitionList
from partitioning.errors import AssignorError, InvalidGroupError
from partitioning.java import utf16_key
from partitioning.java.collections import PriorityQueue
from partitioning.java.hash_map import DEFAULT_LENGTH, HashMap
from partitioning.kit.limits import check_members, check_partitions
from partitioning.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True)
class Subtopology:
    """A part of a topology; its tasks are numbered from 0.

    >>> Subtopology("0", 12, stateful=True)  # reads a topic of 12 partitions
    Subtopology(id='0', tasks=12, stateful=True, source_topics=(), changelog_topics=())

    Attributes:
        id: the subtopology's id, such as "0".
        tasks: the number of tasks, which is the greatest partition count of the source topics.
        stateful: True if there are changelog topics, so that tasks can have standby tasks.
        source_topics: the topics that the subtopology reads, with their racks. Only
            `rack.aware.assignment.strategy` needs them.
        changelog_topics: the topics of the subtopology's state, for the same purpose. A changelog topic may
            be a source topic, too.
    """

    id: str
    tasks: int
    stateful: bool = False
    source_topics: Sequence[Topic] = field(default=(), kw_only=True)
    changelog_topics: Sequence[Topic] = field(default=(), kw_only=True)


@dataclass(frozen=True, slots=True)
class StreamsMember:
    """A member (a thread) as the coordinator knows it; a task is `TopicPartition(subtopology, number)`.

    >>> from partitioning import TopicPartition
    >>> members = [StreamsMember("a", "app-1"), StreamsMember("b", "app-2", active=[TopicPartition("0", 0)])]
    >>> StreamsStickyAssignor().assign(StreamsGroup([Subtopology("0", 2)], members)).active["b"]
    PartitionList([('0', 0)])

    Attributes:
        id: the member id.
        process_id: the id of the member's process; all threads of an instance have the same one.
        active: the member's active tasks, in the order in which the coordinator assigned them.
        standby: the member's standby tasks.
        offsets: for each task whose state the member has on disk, the sum of changelog offsets that the
            member reports. In a classic group, -3 stands for an unknown sum, and -2 for a task that the
            member runs.
        tags: `client.tag.*`. Only classic groups use them.
        rack: `client.rack`. Only classic groups use it.
    """

    id: str
    process_id: str
    active: Sequence[TopicPartition] = field(default=(), kw_only=True)
    standby: Sequence[TopicPartition] = field(default=(), kw_only=True)
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict, kw_only=True)
    tags: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    rack: str | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class StreamsGroup:
    """A group of Kafka Streams, as the coordinator (or a classic group's leader) describes it to a strategy.

    >>> group = StreamsGroup([Subtopology("0", 2)], [StreamsMember("a", "app"), StreamsMember("b", "app")])
    >>> StreamsStickyAssignor().assign(group).active
    {'a': PartitionList([('0', 0)]), 'b': PartitionList([('0', 1)])}

    Attributes:
        subtopologies: the parts of the group's topology.
        members: the members, in the order in which they joined.
        standby_replicas: `streams.num.standby.replicas`, or the leader's `num.standby.replicas` in a classic
            group.
        end_offsets: for each stateful task, the sum of its changelogs' end offsets. Only classic groups use
            them.

    Raises:
        InvalidGroupError: two subtopologies or two members have the same id, or there are more tasks or
            members than the limits allow.
    """

    subtopologies: Sequence[Subtopology]
    members: Sequence[StreamsMember]
    standby_replicas: int = field(default=0, kw_only=True)
    end_offsets: Mapping[TopicPartition, int] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        check_partitions(
            sum(subtopology.tasks for subtopology in self.subtopologies), InvalidGroupError, "the group"
        )
        check_members(len(self.members), InvalidGroupError, "the group")
        check_ids(
            subtopology=[subtopology.id for subtopology in self.subtopologies],
            member=[member.id for member in self.members],
        )


def members_in_turn(members: Sequence[StreamsMember]) -> HashMap[str, StreamsMember]:
    """Return the members by id, in the order of the HashMap in which a coordinator or leader holds them."""
    return HashMap({member.id: member for member in members}, capacity=DEFAULT_LENGTH)


class StreamsAssignment(NamedTuple):
    """Holds the active and the standby tasks of each member, sorted by subtopology, then by number.

    >>> group = StreamsGroup([Subtopology("0", 1)], [StreamsMember("a", "app-1")])
    >>> StreamsStickyAssignor().assign(group)
    StreamsAssignment(active={'a': PartitionList([('0', 0)])}, standby={'a': PartitionList([])})
    """

    active: Mapping[str, PartitionList]
    standby: Mapping[str, PartitionList]


class StreamsStickyAssignor:
    """The broker's strategy for streams groups, "sticky": few moves, even loads, standbys where state is.

    Ids decide which of two equal processes or members comes first, and ids are random. So an answer for other
    ids than the real ones can differ in such ties.

    >>> members = [StreamsMember("a", "app-1"), StreamsMember("b", "app-2")]
    >>> group = StreamsGroup([Subtopology("0", 1, stateful=True)], members, standby_replicas=1)
    >>> StreamsStickyAssignor().assign(group).standby
    {'a': PartitionList([]), 'b': PartitionList([('0', 0)])}
    """

    name: ClassVar[str] = "sticky"

    def assign(self, group: StreamsGroup) -> StreamsAssignment:
        """Return the tasks of each member; every member is in both maps.

        Raises:
            AssignorError: there are tasks but no members, for which the JVM throws.
        """
        return _Sticky(group).run()


@dataclass(slots=True)
class _Quota:
    """Limits the tasks of each member; the limit changes when a member becomes full (`maybeUpdate`).

    A member that reaches the limit is full. It then leaves both counts, so the limit of the others follows
    from the tasks and members that are left.

    Attributes:
        total: the number of tasks without those of full members.
        members: the number of members that are not full.
    """

    total: int
    members: int

    @property
    def per_member(self) -> int:
        """The limit for one member, rounded up; 0 if all members are full."""
        return -(-self.total // self.members) if self.members else 0

    def note(self, tasks: int) -> None:
        """Update the counts after a member got a task; `tasks` is how many it has now."""
        if tasks == self.per_member:
            self.members -= 1
            self.total -= tasks


class _Process:
    """Holds a process and its members (`ProcessState`).

    Attributes:
        tasks: the tasks of all its members.
        counts: how many tasks each member has.
        load: the number of tasks divided by the number of members.
        _by_load: a queue of [member, count] entries; None if it must be built again.
    """

    def __init__(self) -> None:
        self.tasks: set[TopicPartition] = set()
        self.counts: HashMap[str, int] = HashMap()
        self.load = 0.0
        self._task_count = 0
        self._by_load: PriorityQueue[list[str | int]] | None = None

    def add(self, member: str, task: TopicPartition) -> int:
        """Give a task to this member and return how many tasks the member has now."""
        self._by_load = None
        return self._add(member, task)

    def add_to_least_loaded(self, task: TopicPartition) -> tuple[str, int]:
        """Give a task to the member with the fewest; return the member and how many tasks it has now.

        Quirk: the queue of members is built again only after `add` has given a task to a member that the
        caller chose. Until then, the history of the queue decides between members with equally many tasks.
        """
        if len(self.counts) == 1:
            (member,) = self.counts
            return member, self._add(member, task)
        if self._by_load is None:
            entries: list[list[str | int]] = [[member, count] for member, count in self.counts.items()]
            self._by_load = PriorityQueue(lambda entry: int(entry[1]), entries)
        entry = self._by_load.poll()
        assert entry is not None
        member = str(entry[0])
        entry[1] = count = self._add(member, task)
        self._by_load.add(entry)
        return member, count

    def _add(self, member: str, task: TopicPartition) -> int:
        """Give a task to a member, and update tasks and load."""
        self._task_count += 1
        self.tasks.add(task)
        self.counts[member] += 1
        self.load = self._task_count / len(self.counts)
        return self.counts[member]


class _Sticky:
    """Holds one assignment while its steps change it. Members are ids, and tasks are `TopicPartition`s.

    Attributes:
        _active_quota: the limit for active tasks.
        _quota: the limit for active and standby tasks together.
        _previous_active: the member that ran each task.
        _previous_standby: the members that had each task as a standby or still have its state: first the
            standbys, then those with the greatest offset.
    """

    def __init__(self, group: StreamsGroup) -> None:
        self._group = group
        subtopologies = sorted(group.subtopologies, key=lambda subtopology: utf16_key(subtopology.id))
        self._tasks = [
            TopicPartition(subtopology.id, number)
            for subtopology in subtopologies
            for number in range(subtopology.tasks)
        ]
        stateful = {subtopology.id for subtopology in subtopologies if subtopology.stateful}
        self._stateful = [task for task in self._tasks if task.topic in stateful]
        count = len(group.members)
        self._active_quota = _Quota(len(self._tasks), count)
        self._quota = _Quota(len(self._tasks) + len(self._stateful) * group.standby_replicas, count)
        # Quirk: members are in the order of one HashMap, and processes in the order of another one.
        by_id = members_in_turn(group.members)
        self._process_of = {member.id: member.process_id for member in group.members}
        self._processes: HashMap[str, _Process] = HashMap(capacity=count)
        self._previous_active: dict[TopicPartition, str] = {}
        candidates: dict[TopicPartition, list[tuple[bool, int, str]]] = defaultdict(list)
        for member in by_id.values():
            # `computeIfAbsent` puts a new key at the head of its bin, which affects the order of processes.
            self._processes.compute_if_absent(member.process_id, _Process).counts[member.id] = 0
            # Quirk: if two members have the same active task, the later one counts.
            self._previous_active.update(dict.fromkeys(member.active, member.id))
            for task in member.standby:
                candidates[task].append((False, -member.offsets.get(task, 0), member.id))
            for task in member.offsets.keys() - set(member.standby):
                candidates[task].append((True, -member.offsets[task], member.id))
        self._previous_standby = {
            task: [member for *_, member in sorted(ranked, key=lambda entry: entry[:2])]
            for task, ranked in candidates.items()
        }
        self._active: dict[str, list[TopicPartition]] = {member.id: [] for member in group.members}
        self._standby: dict[str, list[TopicPartition]] = {member.id: [] for member in group.members}

    def run(self) -> StreamsAssignment:
        """Return the assignment: active tasks are assigned first, then standby tasks; lists are sorted."""
        self._assign_active()
        if self._group.standby_replicas > 0:
            self._assign_standby()
        return StreamsAssignment(
            *(
                {member: PartitionList.of(sorted(tasks)) for member, tasks in lists.items()}
                for lists in (self._active, self._standby)
            )
        )

    def _assign_active(self) -> None:
        """Give each task to a member: to the one that ran it, to one with its state, or to any with room."""
        # 1. A task returns to its previous member if this member is not full.
        left = [
            task
            for task in sorted(self._tasks, key=_by_partition)
            if not self._try_active(task, self._previous_active.get(task))
        ]

        # 2. Otherwise it goes to a member that had it as a standby or still has its state.
        rest = [
            task
            for task in left
            if not self._try_active(task, self._least_loaded_previous(task, is_standby=False))
        ]

        # 3. The others go to the process with the least load, and there to the member with the fewest tasks.
        queue = self._by_load()
        for task in sorted(rest, key=_by_subtopology):
            process = queue.poll()
            if process is None:
                raise AssignorError(
                    f"nobody can run task {task.topic}_{task.partition}: the group has no members",
                    jvm_exception="TaskAssignorException",
                )
            member, count = process.add_to_least_loaded(task)
            self._note_active(member, task, count)
            queue.add(process)

    def _try_active(self, task: TopicPartition, member: str | None) -> bool:
        """Give an active task to this member unless it is None or full; return whether it got the task."""
        if member is None:
            return False
        process = self._processes[self._process_of[member]]
        # A full member stays full: the quota falls or stays as it is when members fill up.
        if process.counts[member] >= self._active_quota.per_member:
            return False
        self._note_active(member, task, process.add(member, task))
        return True

    def _note_active(self, member: str, task: TopicPartition, count: int) -> None:
        """Record that a member runs a task; `count` is how many tasks it has now."""
        self._active[member].append(task)
        self._active_quota.note(count)
        self._quota.note(count)

    def _least_loaded_previous(self, task: TopicPartition, *, is_standby: bool) -> str | None:
        """Step 2: return the least loaded member that had the task (`findPrevMemberWithLeastLoad`).

        Quirk: a later candidate replaces an earlier one only if its process and the member itself both have
        less load.
        """
        best, best_loads = None, (0.0, 0)
        for member in self._previous_standby.get(task, ()):
            process = self._processes[self._process_of[member]]
            # A process that has the task already gains nothing from a second copy.
            if is_standby and task in process.tasks:
                continue
            loads = (process.load, process.counts[member])
            if best is None or (loads[0] < best_loads[0] and loads[1] < best_loads[1]):
                best, best_loads = member, loads
        return best

    def _assign_standby(self) -> None:
        """Give each stateful task its standby tasks, as long as there are processes without the task."""
        replicas = self._group.standby_replicas
        # 1. A standby task goes to the member that ran the task before, else to one that had it as a standby
        # or has its state.
        missing: list[tuple[TopicPartition, int]] = []
        for task in sorted(self._stateful, key=_by_partition, reverse=True):
            for number in range(replicas):
                if not self._try_standby(task):
                    missing.append((task, replicas - number))
                    break

        # 2. The others go to the processes with the least load that do not have the task.
        queue = self._by_load()
        for task, count in sorted(missing, key=lambda entry: _by_subtopology(entry[0]), reverse=True):
            for _ in range(count):
                if not self._assign_standby_to_least_loaded(queue, task):
                    break

    def _try_standby(self, task: TopicPartition) -> bool:
        """Give a standby task to a member that had it and has room; return whether there is such a member."""
        for find in (
            self._previous_active.get,
            lambda task: self._least_loaded_previous(task, is_standby=True),
        ):
            member = find(task)
            if member is not None:
                process = self._processes[self._process_of[member]]
                if task not in process.tasks and process.counts[member] < self._quota.per_member:
                    self._note_standby(member, task, process.add(member, task))
                    return True
        return False

    def _assign_standby_to_least_loaded(self, queue: PriorityQueue[_Process], task: TopicPartition) -> bool:
        """Give a standby task to the least loaded process without the task.

        Return whether there is such a process.

        Quirk: all processes that were polled return to the queue in reverse order, which decides later ties.
        """
        passed: list[_Process] = []
        while (process := queue.poll()) is not None:
            passed.append(process)
            if task not in process.tasks:
                member, count = process.add_to_least_loaded(task)
                self._note_standby(member, task, count)
                break
        for candidate in reversed(passed):
            queue.add(candidate)
        return process is not None

    def _note_standby(self, member: str, task: TopicPartition, count: int) -> None:
        """Record that a member has a standby task; `count` is how many tasks it has now."""
        self._standby[member].append(task)
        self._quota.note(count)

    def _by_load(self) -> PriorityQueue[_Process]:
        """Return a queue of all processes, added in the order of their map; the least loaded comes first."""
        return PriorityQueue(lambda process: process.load, self._processes.values())


def _by_partition(task: TopicPartition) -> tuple[int, bytes]:
    """Return a sort key by number, then by subtopology.

    In this order most neighbours are tasks of different subtopologies.
    """
    return task.partition, utf16_key(task.topic)


def _by_subtopology(task: TopicPartition) -> tuple[bytes, int]:
    """Return a sort key by subtopology, then by number."""
    return utf16_key(task.topic), task.partition
