"""Kafka Streams' default in classic groups: `HighAvailabilityTaskAssignor` of kafka-streams 4.3.1.

Tasks are first spread over processes as if all of them had all state (1, 2). A process that lacks a task's
state gets a warm-up at best, a standby task more than is configured, and a more caught-up one runs or keeps the
task (3, 4) until a probing rebalance some minutes later asks again.
"""

import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import cycle, permutations
from operator import ge
from typing import ClassVar, NamedTuple

import numpy as np

from assignors.partition_list import PartitionList
from assignors.rules.streams_sticky import Subtopology
from partitioning.errors import AssignorError, InvalidConfigError, InvalidGroupError
from partitioning.java import hash_map_order, uuid_hash
from partitioning.java.collections import PriorityQueue
from partitioning.java.hash_codes import rank, spread_hash
from partitioning.java.hash_map import HashTable
from partitioning.java.sizes import DEFAULT_LENGTH
from partitioning.kit.limits import MAX_OFFSET, check_members, check_partitions
from partitioning.topic_partition import TopicPartition

RUNNING = -2
"""The offset sum of a task that its process runs: `Task.LATEST_OFFSET`."""
UNKNOWN = -3
"""The offset sum of a task whose offsets were not reported: `SubscriptionInfo.UNKNOWN_OFFSET_SUM`."""
_MOST_TAGS = 5


@dataclass(frozen=True, slots=True)
class StreamsProcess:
    """An instance of a Kafka Streams application; a task is `TopicPartition(subtopology, number)`.

    Attributes:
        id: its process id, kept on disk.
        threads: how many stream threads, each a member of the group.
        offsets: for each task whose state it has, the sum of changelog offsets that it has restored; -2 for a
            task that it runs, -3 where it does not know.
        tags: `client.tag.*`.
    """

    id: uuid.UUID
    threads: int = 1
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict, kw_only=True)
    tags: Mapping[str, str] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class StreamsApplication:
    """What the leader knows of an application.

    Attributes:
        subtopologies: the parts of its topology, whose ids are numbers.
        processes: its instances, in any order.
        end_offsets: for each stateful task the sum of the end offsets of its changelog partitions.

    Raises:
        InvalidGroupError: an id that is there twice or is no number, a process without threads, an offset
            that cannot be, or more of anything than the limits allow.
    """

    subtopologies: Sequence[Subtopology]
    processes: Sequence[StreamsProcess]
    end_offsets: Mapping[TopicPartition, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_partitions(sum(each.tasks for each in self.subtopologies), InvalidGroupError, "the application")
        check_members(sum(each.threads for each in self.processes), InvalidGroupError, "the application")
        for what, ids in (
            ("subtopology", [each.id for each in self.subtopologies]),
            ("process", [str(each.id) for each in self.processes]),
        ):
            if twice := [each for each, count in Counter(ids).items() if count > 1]:
                raise InvalidGroupError(f"{what} {twice[0]} is there twice; name each {what} once")
        for subtopology in self.subtopologies:
            if not subtopology.id.isdecimal() or str(int(subtopology.id)) != subtopology.id:
                raise InvalidGroupError(f"subtopology {subtopology.id!r}: give a number, such as '0'")
        for process in self.processes:
            if process.threads < 1:
                raise InvalidGroupError(f"process {process.id} has no threads; give 1 or more, or leave it out")
            _check_offsets(f"process {process.id}", process.offsets, (RUNNING, UNKNOWN))
        _check_offsets("end_offsets", self.end_offsets, ())


def _check_offsets(where: str, offsets: Mapping[TopicPartition, int], others: Collection[int]) -> None:
    for task, offset in offsets.items():
        if not 0 <= offset <= MAX_OFFSET and offset not in others:
            values = ", ".join(["0 or more", *map(str, others)])
            raise InvalidGroupError(f"{where}: offset {offset} of task {_name(task)}; give {values}")


class ProcessAssignment(NamedTuple):
    """Which process runs what, and stands by for what or warms it up: its tasks in order."""

    active: Mapping[uuid.UUID, PartitionList]
    standby: Mapping[uuid.UUID, PartitionList]
    probing_rebalance: bool
    """Whether `probing.rebalance.interval.ms` later the group rebalances to move tasks to where they should be."""


class StreamsHighAvailabilityAssignor:
    """Kafka Streams' default in classic groups: even loads, but a task runs where its state is caught up.

    Args:
        num_standby_replicas: `num.standby.replicas` of the leader, as all other settings.
        max_warmup_replicas: `max.warmup.replicas`, 1 or more.
        acceptable_recovery_lag: `acceptable.recovery.lag`; 2**63 - 1: every process counts as caught up.
        rack_aware_assignment_tags: `rack.aware.assignment.tags`: standby tasks go to processes whose values
            of these tags differ.
        rack_aware_assignment_strategy: `rack.aware.assignment.strategy`; "none" is the only one here.

    Raises:
        InvalidConfigError: a setting that Kafka Streams refuses, or a rack-aware strategy.
    """

    name: ClassVar[str] = "streams-high-availability"

    def __init__(
        self,
        *,
        num_standby_replicas: int = 0,
        max_warmup_replicas: int = 2,
        acceptable_recovery_lag: int = 10_000,
        rack_aware_assignment_tags: Sequence[str] = (),
        rack_aware_assignment_strategy: str = "none",
    ) -> None:
        if rack_aware_assignment_strategy != "none":
            raise InvalidConfigError(
                f"rack_aware_assignment_strategy is {rack_aware_assignment_strategy!r}, whose answers are not "
                'computed here; give "none"'
            )
        for name, value, least in (
            ("num_standby_replicas", num_standby_replicas, 0),
            ("max_warmup_replicas", max_warmup_replicas, 1),
            ("acceptable_recovery_lag", acceptable_recovery_lag, 0),
        ):
            if value < least:
                raise InvalidConfigError(f"{name} is {value}; give {least} or more")
        if len(rack_aware_assignment_tags) > _MOST_TAGS:
            raise InvalidConfigError(f"rack_aware_assignment_tags has more than {_MOST_TAGS} tags")
        self._standby_replicas = num_standby_replicas
        self._warmup_replicas = max_warmup_replicas
        self._acceptable_lag = acceptable_recovery_lag
        self._tags = frozenset(rack_aware_assignment_tags)

    def assign(self, application: StreamsApplication) -> ProcessAssignment:
        """Who gets what; every process is in both maps.

        Raises:
            AssignorError: there are tasks but no processes, or a stateful task has no end offset, where the
                JVM throws.
        """
        plan = _Plan(application, self._acceptable_lag, self._warmup_replicas)
        plan.assign_stateful()
        if self._standby_replicas:
            plan.assign_standby(self._standby_replicas, self._tags)
        moves = plan.move_active() + plan.move_standby()
        plan.assign_stateless()
        return ProcessAssignment(
            *(
                {
                    process.id: PartitionList.of([plan.tasks[task] for task in sorted(mine(process))])
                    for process in plan.processes
                }
                for mine in (_active, _standby)
            ),
            probing_rebalance=moves > 0,
        )


@dataclass(slots=True)
class _Process:
    """A process and its tasks (`ClientState`)."""

    id: uuid.UUID
    threads: int
    tags: Mapping[str, str]
    active: set[int] = field(default_factory=set)
    standby: set[int] = field(default_factory=set)

    @property
    def count(self) -> int:
        return len(self.active) + len(self.standby)

    @property
    def load(self) -> float:
        return self.count / self.threads

    def has(self, task: int) -> bool:
        return task in self.active or task in self.standby


def _active(process: _Process) -> set[int]:
    return process.active


def _standby(process: _Process) -> set[int]:
    return process.standby


class _Plan:
    """Tasks and processes are numbers here, in Java's order of both."""

    def __init__(self, application: StreamsApplication, acceptable_lag: int, warmup_replicas: int) -> None:
        subtopologies = sorted(application.subtopologies, key=lambda each: int(each.id))
        self.tasks = [TopicPartition(each.id, number) for each in subtopologies for number in range(each.tasks)]
        stateful = {each.id for each in subtopologies if each.stateful}
        self._stateful = [number for number, task in enumerate(self.tasks) if task.topic in stateful]
        processes = sorted(application.processes, key=lambda each: rank(each.id))
        if self.tasks and not processes:
            raise AssignorError(
                f"nobody can run task {_name(self.tasks[0])}: the application has no processes",
                jvm_exception="NoSuchElementException" if self._stateful else "NullPointerException",
            )
        self.processes = [_Process(each.id, each.threads, each.tags) for each in processes]
        self._acceptable_lag = acceptable_lag
        self._warmups_left = warmup_replicas
        self._warmups: set[tuple[int, int]] = set()
        # A process without any state of a task lags by all of it; the others have a lag of their own.
        self._ends: dict[int, int] = {}
        for task in self._stateful:
            end = application.end_offsets.get(self.tasks[task])
            if end is None:
                raise AssignorError(
                    f"the end offset of stateful task {_name(self.tasks[task])} is not in end_offsets",
                    jvm_exception="IllegalStateException",
                )
            self._ends[task] = end
        self._lags: dict[int, dict[int, int]] = {task: {} for task in self._stateful}
        number_of = {self.tasks[task]: task for task in self._stateful}
        for process, each in enumerate(processes):
            for name in each.offsets.keys() & number_of.keys():
                task, offset = number_of[name], each.offsets[name]
                self._lags[task][process] = _lag(offset, self._ends[task])

    def assign_stateful(self) -> None:
        """1. Stateful tasks in turn, then from process to process until loads per thread are even."""
        for task, process in zip(self._stateful, cycle(self.processes), strict=False):
            process.active.add(task)
        self._balance(_active, lambda _source, _destination: True)

    def assign_standby(self, replicas: int, tags: Collection[str]) -> None:
        """2. Each replica to the least loaded process without the task; all this ignores who has state."""
        if tags:
            self._assign_by_tags(replicas, tags)
            self._balance(_standby, _has_all_tags_of)
        else:
            self._assign_to_least_loaded((task, replicas) for task in self._stateful)
            self._balance(_standby, lambda _source, _destination: True)

    def _assign_to_least_loaded(self, missing: Iterable[tuple[int, int]]) -> None:
        queue = self._by_load()
        for task, replicas in missing:
            for _ in range(replicas):
                process = self._poll(queue, task)
                if process is None:
                    break
                self.processes[process].standby.add(task)
                heappush(queue, (self.processes[process].load, process))

    def _assign_by_tags(self, replicas: int, tags: Collection[str]) -> None:
        """`ClientTagAwareStandbyTaskAssignor`: where no value of a tag has the task, as long as there is one."""
        with_tag: dict[tuple[str, str], set[int]] = defaultdict(set)
        for process, each in enumerate(self.processes):
            for tag in each.tags.items():
                with_tag[tag].add(process)
        value_count = Counter(key for key, _ in with_tag)
        runs = {task: process for process, each in enumerate(self.processes) for task in each.active}
        queue = self._by_load()
        missing: dict[int, int] = {}
        for task in self._stateful:
            used: dict[str, set[int]] = {}
            placed: list[int] = []
            last: int | None = runs[task]
            while last is not None:
                for key, value in self.processes[last].tags.items():
                    if key in tags and value_count[key] > 1 + len(placed):
                        used[key] = used.get(key, set()) | with_tag[key, value]
                    else:
                        used.pop(key, None)
                last = self._poll(queue, task, used.values()) if len(placed) < replicas else None
                if last is not None:
                    self.processes[last].standby.add(task)
                    placed.append(last)
            for process in placed:
                heappush(queue, (self.processes[process].load, process))
            if len(placed) < replicas:
                missing[task] = replicas - len(placed)
        # Quirk: what is left goes to the least loaded in the order of a HashMap that had all tasks.
        table = HashTable(DEFAULT_LENGTH, self._task_hash, lambda task: (task,))
        for task in self._stateful if missing else ():
            table.add(task)
        for task in self._stateful:
            if task not in missing:
                table.remove(task)
        self._assign_to_least_loaded((task, missing[task]) for task in table)

    def _task_hash(self, task: int) -> int:
        """`TaskId.hashCode`, that of two integers and null."""
        subtopology, number = self.tasks[task]
        return spread_hash(31 * (31 * (31 + int(subtopology)) + number))

    def move_active(self) -> int:
        """3. A task whose process is not caught up goes to a more caught-up one; how many do."""
        queue = _Queue(self.processes)
        movements = sorted(self._movements(_active))
        for _, task, destination in movements:
            caught_up = self._caught_up(task)
            source = queue.poll([each for each in caught_up if task in self.processes[each].standby])
            if source is None:
                source = queue.poll(caught_up)
            if source is None:
                source = min(self._lags[task], key=lambda each: (self._lag(task, each), each))
            before, after = self.processes[destination], self.processes[source]
            before.active.remove(task)
            if task in after.standby:
                after.standby.remove(task)
                before.standby.add(task)
            else:
                if self._warmups_left > 0:
                    before.standby.add(task)
                    self._warmups.add((destination, task))
                self._warmups_left -= 1
            after.active.add(task)
            queue.offer_again(source, destination)
        return len(movements)

    def move_standby(self) -> int:
        """4. The same for standby tasks that are no warm-ups; how many find such a process."""
        queue = _Queue(self.processes)
        # Quirk: two replicas of a task are equal here, so the heap decides which comes first.
        heap = PriorityQueue(lambda each: each[0] * len(self.tasks) + each[1], self._movements(_standby))
        moved = 0
        while (movement := heap.poll()) is not None:
            _, task, destination = movement
            free = [process for process in self._caught_up(task) if not self.processes[process].has(task)]
            source = queue.poll(free)
            if source is None:
                others = (each for each, process in enumerate(self.processes) if not process.has(task))
                best = min(((self._lag(task, each), each) for each in others), default=None)
                if best is None or best > (self._lag(task, destination), destination):
                    continue
                source = best[1]
            self.processes[source].standby.add(task)
            if self._warmups_left <= 0:
                self.processes[destination].standby.remove(task)
            self._warmups_left -= 1
            queue.offer_again(source, destination)
            moved += 1
        return moved

    def assign_stateless(self) -> None:
        """5. Each to the process with the fewest active tasks per thread."""
        queue = [(len(each.active) / each.threads, process) for process, each in enumerate(self.processes)]
        heapify(queue)
        for task in sorted(set(range(len(self.tasks))) - set(self._stateful)):
            process = heappop(queue)[1]
            each = self.processes[process]
            each.active.add(task)
            heappush(queue, (len(each.active) / each.threads, process))

    def _balance(
        self, tasks_of: Callable[[_Process], set[int]], may_move: Callable[[_Process, _Process], bool]
    ) -> None:
        """`balanceTasksOverThreads`."""
        moved = True
        while moved:
            moved = False
            for source, destination in permutations(self.processes, 2):
                if not _is_uneven(source, destination) or not may_move(source, destination):
                    continue
                for task in sorted(tasks_of(source)):
                    if not _is_uneven(source, destination):
                        break
                    if not destination.has(task):
                        tasks_of(source).remove(task)
                        tasks_of(destination).add(task)
                        moved = True

    def _by_load(self) -> list[tuple[float, int]]:
        queue = [(each.load, process) for process, each in enumerate(self.processes)]
        heapify(queue)
        return queue

    def _poll(
        self, queue: list[tuple[float, int]], task: int, excluded: Collection[set[int]] = ()
    ) -> int | None:
        """The least loaded process without the task, out of the queue: here loads never change in it."""
        passed = []
        chosen = None
        while queue and chosen is None:
            entry = heappop(queue)
            process = entry[1]
            if self.processes[process].has(task) or any(process in some for some in excluded):
                passed.append(entry)
            else:
                chosen = process
        for entry in passed:
            heappush(queue, entry)
        return chosen

    def _movements(self, tasks_of: Callable[[_Process], set[int]]) -> list[tuple[int, int, int]]:
        """Tasks that another process is better prepared for: how many are caught up, task, and where it is."""
        return [
            (len(self._caught_up(task)), task, process)
            for process, each in enumerate(self.processes)
            for task in sorted(tasks_of(each))
            if (process, task) not in self._warmups
            and not self._is_caught_up(lag := self._lag(task, process))
            and min(self._lags[task].values(), default=lag) < lag
        ]

    def _lag(self, task: int, process: int) -> int:
        return self._lags[task].get(process, self._ends[task])

    def _is_caught_up(self, lag: int) -> bool:
        return lag == RUNNING or 0 <= lag <= self._acceptable_lag or self._acceptable_lag == MAX_OFFSET

    def _caught_up(self, task: int) -> list[int]:
        """Who is caught up on a task that not everybody is caught up on."""
        return [process for process, lag in self._lags[task].items() if self._is_caught_up(lag)]


class _Queue:
    """Kafka's `ConstrainedPrioritySet` where loads change in it, so that Java's heap decides and no sort does.

    As long as each queued process is where its load belongs, the least loaded comes first whatever the heap
    looks like. So what is done to the heap is noted, and only done where that is not so.
    """

    def __init__(self, processes: Sequence[_Process]) -> None:
        self._processes = processes
        self._hashes = np.array([uuid_hash(each.id) for each in processes], np.int32)
        self._ids = np.array([rank(each.id) for each in processes], np.int64)
        self._loads = [each.load for each in processes]
        self._keys = [(load, process) for process, load in enumerate(self._loads)]
        self._heap = PriorityQueue(self._keys.__getitem__, range(len(processes)))
        self._notes: list[Callable[[], int | None]] = []
        self._is_in_order = True
        self._polled: int | None = None

    def poll(self, eligible: Collection[int]) -> int | None:
        """The first of these in the queue, out of it; None where there are none."""
        self._notes.append(partial(self._do_poll, eligible))
        if eligible and not self._is_in_order:
            for note in self._notes:
                self._polled = note()
            self._notes.clear()
            self._is_in_order = _is_heap([self._keys[each] for each in self._heap.heap])
        else:
            self._is_in_order = True  # who is offered again one by one is in order
            self._polled = min(eligible, key=lambda each: (self._loads[each], each), default=None)
        return self._polled

    def offer_again(self, *changed: int) -> None:
        """Both processes of a movement come to their new places, one after the other."""
        keys = [(self._processes[each].load, each) for each in changed]
        self._notes.append(partial(self._do_offer_again, keys))
        for load, process in keys:
            self._is_in_order &= load == self._loads[process] or process == self._polled
            self._loads[process] = load

    def _do_poll(self, eligible: Collection[int]) -> int | None:
        passed: list[int] = []
        chosen: int | None = None
        entries = [self._keys[each] for each in self._heap.heap]
        if not _is_heap(entries):
            while (chosen := self._heap.poll()) is not None and chosen not in eligible:
                passed.append(chosen)
            entries = [self._keys[each] for each in self._heap.heap]
        elif not eligible:
            passed = [process for _, process in sorted(entries)]
            entries = []
        else:
            # Where no two are equal, and all are in order, Python's heap is Java's.
            while chosen is None:
                process = heappop(entries)[1]
                if process in eligible:
                    chosen = process
                else:
                    passed.append(process)
        # Quirk: those that were passed come back in the order of a HashSet.
        for place in hash_map_order(self._hashes[passed], keys=self._ids[passed]).tolist():
            heappush(entries, self._keys[passed[place]])
        self._heap.heap[:] = [process for _, process in entries]
        return chosen

    def _do_offer_again(self, keys: list[tuple[float, int]]) -> None:
        for key in keys:
            self._keys[key[1]] = key
        for _, process in keys:
            self._heap.remove(process)
            self._heap.add(process)


def _is_heap(entries: Sequence[tuple[float, int]]) -> bool:
    parents = (entries[place >> 1] for place in range(len(entries) - 1))
    return all(map(ge, entries[1:], parents))


def _is_uneven(source: _Process, destination: _Process) -> bool:
    """Whether a task less here and one more there makes loads more even."""
    skew = source.load - destination.load
    if skew <= 0:
        return False
    after = (source.count - 1) / source.threads - (destination.count + 1) / destination.threads
    return 0 <= after < skew


def _has_all_tags_of(source: _Process, destination: _Process) -> bool:
    """Quirk: all tags count here, not only those of `rack.aware.assignment.tags`."""
    return all(destination.tags.get(key) == value for key, value in source.tags.items())


def _lag(offset: int, end: int) -> int:
    """Quirk: state ahead of its changelog counts as none."""
    if offset in {RUNNING, UNKNOWN}:
        return offset
    return end - offset if offset <= end else end


def _name(task: TopicPartition) -> str:
    return f"{task.topic}_{task.partition}"
