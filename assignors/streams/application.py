"""Models a Kafka Streams application in a classic group as the strategies of kafka-streams 4.4.0 see it."""

import re
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from assignors.partition_list import PartitionList
from assignors.streams.sticky import StreamsGroup, members_in_turn
from partitioning.errors import InvalidGroupError
from partitioning.java.hash_codes import rank, spread_hash, uuid_hash
from partitioning.java.hash_map import DEFAULT_LENGTH, HashTable, hash_map_order
from partitioning.topic_partition import TopicPartition

RUNNING = -2
"""The offset sum of a task that runs: `Task.LATEST_OFFSET`."""
_NUMBER = "0|[1-9][0-9]{0,8}"
_UUID = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


class ProcessAssignment(NamedTuple):
    """Holds the tasks of each process of a Kafka Streams application, by process id; tasks are ascending.

    `standby` has standby tasks and warm-up tasks.

    >>> process = "9e3c9a52-7f0e-4d3b-8a52-0f6a1c5f2b11"
    >>> application = StreamsGroup([Subtopology("0", 2)], [StreamsMember("a", process)])
    >>> answer: ProcessAssignment = StreamsHighAvailabilityAssignor().assign(application)
    >>> answer.active[process], answer.probing_rebalance
    (PartitionList([('0', 0), ('0', 1)]), False)
    """

    active: Mapping[str, PartitionList]
    standby: Mapping[str, PartitionList]
    probing_rebalance: bool
    """True if the group rebalances again after `probing.rebalance.interval.ms`, to move more tasks."""


@dataclass(slots=True)
class Process:
    """Holds a process and its tasks while they are assigned (`ClientState`).

    A task is an index into `Application.tasks`.

    Attributes:
        id: the process id. Processes are ordered by it as Java orders UUIDs.
        tags: the client tags of the process's first member.
        racks: the rack of each member of the process, which is a thread; None if the member has none.
        active: the active tasks that the process has so far.
        standby: the standby and warm-up tasks that the process has so far.
        offsets: the offset sum that the members of the process report for each task.
    """

    id: uuid.UUID
    tags: Mapping[str, str]
    racks: list[str | None] = field(default_factory=list)
    """One rack for each thread, in the order in which the leader meets them."""
    active: set[int] = field(default_factory=set)
    standby: set[int] = field(default_factory=set)
    offsets: dict[int, int] = field(default_factory=dict)
    """Offset sums by task; `RUNNING` for a task that runs in this process."""

    @property
    def threads(self) -> int:
        """The number of members of the process, each of which is a thread."""
        return len(self.racks)

    def load(self, more: int = 0) -> float:
        """Return the number of active and standby tasks for each thread.

        The process counts as if it had `more` additional tasks; `more` may be negative.
        """
        return (len(self.active) + len(self.standby) + more) / self.threads

    def has(self, task: int) -> bool:
        """Return whether the process has the task as an active or a standby task."""
        return task in self.active or task in self.standby

    def should_give_to(self, other: "Process") -> bool:
        """Return whether loads would be more even if this process gave one task to `other`."""
        skew = self.load() - other.load()
        return skew > 0 and 0 <= self.load(-1) - other.load(1) < skew


class Application:
    """Holds an application in which tasks and processes are numbers, both in Java's order.

    A task is an index into `tasks`, which are sorted by subtopology number, then by partition. A process is
    an index into `processes` (its place), which are sorted by id. Strategies change `active` and `standby` of
    the processes in place.

    Attributes:
        subtopologies: the parts of the topology, by number.
        tasks: the tasks, by number.
        stateful: the number of each task of a stateful subtopology, ascending.
        stateless: the numbers of all other tasks, ascending.
        processes: the processes, by place.

    Raises:
        InvalidGroupError: the id of a subtopology is not a number, or a process id is not a UUID.
    """

    def __init__(self, group: StreamsGroup) -> None:
        for subtopology in group.subtopologies:
            if not re.fullmatch(_NUMBER, subtopology.id):
                raise InvalidGroupError(f"subtopology {subtopology.id!r}: give a number, such as '0'")
        for member in group.members:
            if not re.fullmatch(_UUID, member.process_id):
                raise InvalidGroupError(f"process {member.process_id!r}: give a UUID in small letters")
        # Java orders task ids by the subtopology's number, so "10" comes after "9".
        self.subtopologies = sorted(group.subtopologies, key=lambda subtopology: int(subtopology.id))
        self.tasks = [
            TopicPartition(subtopology.id, number)
            for subtopology in self.subtopologies
            for number in range(subtopology.tasks)
        ]
        numbers = {task: number for number, task in enumerate(self.tasks)}
        stateful = {subtopology.id for subtopology in self.subtopologies if subtopology.stateful}
        self.stateful = {task: number for task, number in numbers.items() if task.topic in stateful}
        self.stateless = [number for task, number in numbers.items() if task.topic not in stateful]
        in_turn: dict[uuid.UUID, Process] = {}
        for member in members_in_turn(group.members).values():
            key = uuid.UUID(member.process_id)
            process = in_turn.setdefault(key, Process(key, member.tags))
            # There is one entry for each member: `threads` counts them, and the leader compares their racks.
            process.racks.append(member.rack or None)
            offsets = {**member.offsets, **dict.fromkeys(member.active, RUNNING)}
            # Quirk: if two members report the same task, the later one counts.
            process.offsets |= {numbers[task]: offsets[task] for task in offsets.keys() & numbers.keys()}
        self.processes = sorted(in_turn.values(), key=lambda process: rank(process.id))
        places = {process.id: place for place, process in enumerate(self.processes)}
        self.in_turn = tuple(places[key] for key in in_turn)
        """The places of processes in the order in which the leader meets them."""

    def task_set(self, tasks: Iterable[int], capacity: int = DEFAULT_LENGTH) -> HashTable[int]:
        """Return these tasks in Java's HashSet of this capacity; keys of a HashMap have the same order."""
        # `TaskId.hashCode` hashes two integers and null.
        codes = [31 * (31 * (31 + int(task.topic)) + task.partition) for task in self.tasks]
        table: HashTable[int] = HashTable(
            capacity, lambda task: spread_hash(codes[task]), lambda task: (task,)
        )
        for task in tasks:
            table.add(task)
        return table

    def answer(self, *, probing_rebalance: bool = False) -> ProcessAssignment:
        """Return the tasks of each process; every process is in both maps, and lists are ascending."""
        return ProcessAssignment(
            {str(process.id): self._list_of(process.active) for process in self.processes},
            {str(process.id): self._list_of(process.standby) for process in self.processes},
            probing_rebalance=probing_rebalance,
        )

    def _list_of(self, tasks: Collection[int]) -> PartitionList:
        return PartitionList.of([self.tasks[task] for task in sorted(tasks)])


def hash_order(processes: Sequence[Process]) -> Callable[..., tuple[int, ...]]:
    """Return a function that returns the order of a HashMap or HashSet of processes.

    The function takes the places of processes in the order in which they are added, and the capacity of the
    table. It returns the places in the order of iteration.
    """
    # A standby task is placed among all processes except its holders, so large sets of processes are ordered
    # often. NumPy columns take a fifth of the time that a `HashSet` of 500 processes takes.
    hashes = np.array([uuid_hash(process.id) for process in processes], np.int32)
    ids = np.array([rank(process.id) for process in processes], np.int64).reshape(-1, 2)

    @lru_cache(maxsize=1 << 12)
    def order_of(some: tuple[int, ...], capacity: int = DEFAULT_LENGTH) -> tuple[int, ...]:
        places = list(some)
        order = hash_map_order(hashes[places], capacity=capacity, keys=ids[places])
        return tuple(places[place] for place in order.tolist())

    return order_of


def task_name(task: TopicPartition) -> str:
    """Return a task's name as Kafka Streams writes it, such as "0_3": subtopology, then partition."""
    return f"{task.topic}_{task.partition}"
