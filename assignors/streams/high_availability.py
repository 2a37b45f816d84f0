"""The default of Kafka Streams in classic groups: `HighAvailabilityTaskAssignor` of kafka-streams 4.4.0.

First tasks are spread over processes as if each process had all state (steps 1 and 2). Then, if a process
lacks the state of its task, a process that is more caught up runs or keeps the task, and the first process
gets at most a warm-up task (steps 3 and 4). A probing rebalance, some minutes later, tries again.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from functools import partial
from heapq import heappop, heappush
from itertools import cycle, permutations
from operator import attrgetter, ge, itemgetter
from typing import ClassVar

from assignors.streams.application import RUNNING, Process, ProcessAssignment, hash_order, task_name
from assignors.streams.racks import STATELESS, Costs, RackAwareApplication, RackAwareAssignor
from assignors.streams.sticky import StreamsGroup
from partitioning.errors import AssignorError, InvalidConfigError, InvalidGroupError
from partitioning.java.collections import PriorityQueue
from partitioning.kit.limits import MAX_OFFSET

_UNKNOWN = -3
"""The mark for an unknown offset sum: `SubscriptionInfo.UNKNOWN_OFFSET_SUM`."""


class StreamsHighAvailabilityAssignor(RackAwareAssignor):
    """Kafka Streams' default in classic groups: even loads, but a task runs where its state is caught up.

    >>> process = "9e3c9a52-7f0e-4d3b-8a52-0f6a1c5f2b11"
    >>> application = StreamsGroup([Subtopology("0", 2)], [StreamsMember("a", process)])
    >>> StreamsHighAvailabilityAssignor().assign(application).active[process]
    PartitionList([('0', 0), ('0', 1)])

    Args:
        max_warmup_replicas: `max.warmup.replicas`, 1 or more. This and all other settings are the leader's.
        acceptable_recovery_lag: `acceptable.recovery.lag`, in offsets. With 2**63 - 1 every process counts as
            caught up.
        rack_aware_assignment_tags: `rack.aware.assignment.tags`: standby tasks go to processes with different
            values of these tags.
        rack_aware_assignment_strategy: see `RackAwareAssignor`, also for the two costs. Without a setting the
            costs are 10 and 1.

    Raises:
        InvalidConfigError: a setting that Kafka Streams refuses.
    """

    name: ClassVar[str] = "streams-high-availability"
    _default_costs = (10, 1)

    def __init__(
        self,
        *,
        max_warmup_replicas: int = 2,
        acceptable_recovery_lag: int = 10_000,
        rack_aware_assignment_tags: Sequence[str] = (),
        rack_aware_assignment_strategy: str = "none",
        rack_aware_assignment_traffic_cost: int | None = None,
        rack_aware_assignment_non_overlap_cost: int | None = None,
    ) -> None:
        super().__init__(
            rack_aware_assignment_strategy=rack_aware_assignment_strategy,
            rack_aware_assignment_traffic_cost=rack_aware_assignment_traffic_cost,
            rack_aware_assignment_non_overlap_cost=rack_aware_assignment_non_overlap_cost,
        )
        for name, value, least, most in (
            ("max_warmup_replicas", max_warmup_replicas, 1, 2**31 - 1),
            ("acceptable_recovery_lag", acceptable_recovery_lag, 0, MAX_OFFSET),
            ("the number of rack_aware_assignment_tags", len(rack_aware_assignment_tags), 0, 5),
        ):
            if not least <= value <= most:
                raise InvalidConfigError(f"{name} is {value}; Kafka Streams accepts {least} to {most}")
        self._warmup_replicas = max_warmup_replicas
        self._acceptable_lag = acceptable_recovery_lag
        self._tags = frozenset(rack_aware_assignment_tags)

    def assign(self, group: StreamsGroup) -> ProcessAssignment:
        """Return the tasks of each process; every process is in both maps, in the order of their ids.

        A process has the offsets and active tasks of all its members, which are its threads.

        Raises:
            AssignorError: the JVM throws: there are tasks but no members, or a stateful task has no end
                offset.
            InvalidGroupError: the id of a subtopology is not a number, a process id is not a UUID, an offset
                is negative, or racks count but not all topics are given.
        """
        plan = _Plan(group, self._acceptable_lag, self._warmup_replicas, self._strategy, self._costs)
        plan.assign_stateful()
        if group.standby_replicas:
            plan.assign_standby(group.standby_replicas, self._tags)
        moves = plan.move_active() + plan.move_standby()
        plan.assign_stateless()
        return plan.answer(probing_rebalance=moves > 0)


# Steps 1 and 3 do with active tasks what steps 2 and 4 do with standby tasks.
_active: Callable[[Process], set[int]] = attrgetter("active")
_standby: Callable[[Process], set[int]] = attrgetter("standby")


class _Plan(RackAwareApplication):
    """Holds an assignment while steps 1 to 5 change it; the methods are called in that order.

    Attributes:
        _lags: for each stateful task, the lag in offsets of each process that reports an offset of the task.
            A lag can also be one of the marks `RUNNING` and `_UNKNOWN`.
        _ends: the end offset of each stateful task, which is the lag of a process without any state.
        _warmups: the (process, task) pairs that step 3 added as warm-up tasks; step 4 does not move them.
        _warmups_left: how many warm-up tasks may still be added. It can become negative, because a move
            counts even if it adds no warm-up task.

    Raises:
        AssignorError: there are tasks but no members, or a stateful task has no end offset.
        InvalidGroupError: an offset or end offset is negative and not one of the marks.
    """

    def __init__(
        self, group: StreamsGroup, acceptable_lag: int, warmup_replicas: int, strategy: str, costs: Costs
    ) -> None:
        super().__init__(group, strategy, costs)
        if self.tasks and not group.members:
            raise AssignorError(
                f"nobody can run task {task_name(self.tasks[0])}: the group has no members",
                jvm_exception="NoSuchElementException" if self.stateful else "NullPointerException",
            )
        if unknown := [task for task in self.stateful if task not in group.end_offsets]:
            raise AssignorError(
                f"the end offset of stateful task {task_name(unknown[0])} is not in end_offsets",
                jvm_exception="IllegalStateException",
            )
        self._acceptable_lag = acceptable_lag
        self._warmups_left = warmup_replicas
        self._warmups: set[tuple[int, int]] = set()
        # A process without state of a task lags by the whole changelog. The others have their own lag.
        self._ends = {number: group.end_offsets[task] for task, number in self.stateful.items()}
        self._lags: dict[int, dict[int, int]] = {number: {} for number in self._ends}
        for process, client in enumerate(self.processes):
            for task in client.offsets.keys() & self._ends.keys():
                offset, end = client.offsets[task], self._ends[task]
                # A negative lag could be confused with one of the two marks.
                if end < 0 or (offset < 0 and offset not in {RUNNING, _UNKNOWN}):
                    raise InvalidGroupError(
                        f"offset {offset} or end offset {end} of task {task_name(self.tasks[task])}: "
                        "give 0 or more"
                    )
                # Quirk: if the state is ahead of its changelog, it counts as no state.
                self._lags[task][process] = offset if offset < 0 else end - offset if offset <= end else end

        sources = self.crossings(lambda subtopology: subtopology.source_topics)
        changelogs = self.crossings(lambda subtopology: subtopology.changelog_topics)
        # If there are standby replicas and the racks of changelogs are unknown, no task moves because of
        # racks, not even an active one.
        is_known = sources is not None and (changelogs is not None or not group.standby_replicas)
        is_on = is_known and all(len(set(process.racks)) == 1 for process in self.processes)
        self._sources, self._changelogs = (sources, changelogs) if is_on else (None, None)

    def assign_stateful(self) -> None:
        """Step 1: give stateful tasks to processes in turns, then move tasks until loads are even."""
        for task, process in zip(self._ends, cycle(self.processes), strict=False):
            process.active.add(task)
        self._balance(_active)
        self.exchange_tasks(list(self._ends), self._sources, self.costs)

    def assign_standby(self, replicas: int, tags: Collection[str]) -> None:
        """Step 2: give each replica to the least loaded process without the task, whatever state it has."""
        missing = self._assign_by_tags(replicas, tags) if tags else dict.fromkeys(self._ends, replicas)
        for task, count in missing.items():
            for _ in range(count):
                process = self._least_loaded_without(task)
                if process is None:
                    break
                self.processes[process].standby.add(task)
        self._balance(_standby, are_tags_kept=bool(tags))
        self.exchange_standby_tasks(
            "min_traffic", self._changelogs, lambda *move: not tags or self._keeps_tags(*move)
        )

    def _assign_by_tags(self, replicas: int, tags: Collection[str]) -> dict[int, int]:
        """Place replicas at processes with other tag values (`ClientTagAwareStandbyTaskAssignor`).

        Returns how many replicas of each task are left. Quirk: tasks are in the order of a HashMap that once
        had all tasks.
        """
        with_tag: dict[tuple[str, str], set[int]] = defaultdict(set)
        for process, client in enumerate(self.processes):
            for tag in client.tags.items():
                with_tag[tag].add(process)
        value_count = Counter(key for key, _ in with_tag)
        runs = {task: process for process, client in enumerate(self.processes) for task in client.active}
        left = dict.fromkeys(self._ends, replicas)
        missing = self.task_set(left)
        for task in left:
            used: dict[str, set[int]] = {}
            last: int | None = runs[task]
            while last is not None:
                for key, value in self.processes[last].tags.items():
                    if key in tags and value_count[key] > 1 + replicas - left[task]:
                        used[key] = used.get(key, set()) | with_tag[key, value]
                    else:
                        used.pop(key, None)
                last = self._least_loaded_without(task, set().union(*used.values())) if left[task] else None
                if last is not None:
                    self.processes[last].standby.add(task)
                    left[task] -= 1
            if not left[task]:
                missing.discard(task)
        return {task: left[task] for task in missing}

    def _least_loaded_without(self, task: int, excluded: Collection[int] = ()) -> int | None:
        """Return the least loaded process without the task, the lowest place first; None if all have it.

        Kafka uses a `ConstrainedPrioritySet` here. No load changes while that set is used, so a minimum gives
        the same process.
        """
        loads = (
            (client.load(), process)
            for process, client in enumerate(self.processes)
            if not client.has(task) and process not in excluded
        )
        return min(loads, default=(0, None))[1]

    def move_active(self) -> int:
        """Step 3: move active tasks from processes that are not caught up to others; return how many move.

        Another process (`source`) runs the task for now. The process that step 1 chose (`destination`) gets
        the task later. Until then, `destination` has a standby task: that of `source`, if `source` had one,
        else a warm-up task, if one is left.
        """
        queue = _Queue(self.processes)
        movements = sorted(self._movements(_active))
        for _, task, destination in movements:
            caught_up = self._caught_up(task)
            source = queue.poll(
                [candidate for candidate in caught_up if task in self.processes[candidate].standby]
            )
            if source is None:
                source = queue.poll(caught_up)
            if source is None:
                source = min(self._lags[task], key=lambda candidate: (self._lag(task, candidate), candidate))
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
        """Step 4: do as step 3, but with standby tasks that are not warm-up tasks; return how many move."""
        queue = _Queue(self.processes)
        # Quirk: two replicas of a task compare as equal here, so Java's heap decides which comes first.
        heap = PriorityQueue(itemgetter(0, 1), self._movements(_standby))
        moved = 0
        while (movement := heap.poll()) is not None:
            _, task, destination = movement
            source = queue.poll(
                [process for process in self._caught_up(task) if not self.processes[process].has(task)]
            )
            if source is None:
                others = (place for place, process in enumerate(self.processes) if not process.has(task))
                best = min(((self._lag(task, other), other) for other in others), default=None)
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
        """Step 5: give each stateless task to the process with the fewest active tasks for each thread."""
        for task in self.stateless:
            min(self.processes, key=lambda process: len(process.active) / process.threads).active.add(task)
        self.exchange_tasks(self.stateless, self._sources, STATELESS)

    def _balance(self, tasks_of: Callable[[Process], set[int]], *, are_tags_kept: bool = False) -> None:
        """Move tasks between pairs of processes until no move makes loads more even.

        In Kafka Streams this is `balanceTasksOverThreads`.

        Quirk: with `are_tags_kept`, all tags of the two processes must agree, not only those of
        `rack.aware.assignment.tags`.
        """
        moved = True
        while moved:
            moved = False
            for source, destination in permutations(self.processes, 2):
                if not source.should_give_to(destination) or (
                    are_tags_kept and not source.tags.items() <= destination.tags.items()
                ):
                    continue
                for task in sorted(tasks_of(source)):
                    if not source.should_give_to(destination):
                        break
                    if not destination.has(task):
                        tasks_of(source).remove(task)
                        tasks_of(destination).add(task)
                        moved = True

    def _keeps_tags(self, source: Process, to: Process, task: int) -> bool:
        """Return whether a task's processes keep as many different tags if `to` gets it from `source`."""
        others = [process for process in self.processes if process.has(task) and process is not source]
        before, after = (
            {tag for other in [*others, last] for tag in other.tags.items()} for last in (source, to)
        )
        return len(after) >= len(before)

    def _movements(self, tasks_of: Callable[[Process], set[int]]) -> list[tuple[int, int, int]]:
        """Return the tasks that should move, as (number of caught-up processes, task, its process).

        A task should move if its process is not caught up on it and another process has a smaller lag.
        """
        return [
            (len(self._caught_up(task)), task, process)
            for process, client in enumerate(self.processes)
            for task in sorted(tasks_of(client))
            if (process, task) not in self._warmups
            and not self._is_caught_up(lag := self._lag(task, process))
            and min(self._lags[task].values(), default=lag) < lag
        ]

    def _lag(self, task: int, process: int) -> int:
        """Return the lag in offsets; a process that reports no offset lags by the whole changelog."""
        return self._lags[task].get(process, self._ends[task])

    def _is_caught_up(self, lag: int) -> bool:
        """Return whether a process with this lag is caught up.

        With an unknown lag, it is caught up only if the acceptable lag is the greatest possible one.
        """
        return lag == RUNNING or 0 <= lag <= self._acceptable_lag or self._acceptable_lag == MAX_OFFSET

    def _caught_up(self, task: int) -> list[int]:
        """Return the places of the processes that report an offset of the task and are caught up on it."""
        return [process for process, lag in self._lags[task].items() if self._is_caught_up(lag)]


class _Queue:
    """Queues processes by load, then by place, as Kafka's `ConstrainedPrioritySet` does while loads change.

    Loads change while entries are in the heap, so the order follows from Java's heap operations, and a sort
    would give another one. An entry is (load, place). Between two calls every process is in the queue, except
    for those that were polled and not offered again.
    """

    def __init__(self, processes: Sequence[Process]) -> None:
        self._processes = processes
        self._order = hash_order(processes)
        entries = [(client.load(), process) for process, client in enumerate(processes)]
        self._queue: PriorityQueue[tuple[float, int]] = PriorityQueue(lambda entry: entry, entries)

    def poll(self, eligible: Collection[int]) -> int | None:
        """Remove and return the first of the `eligible` processes; None if there is none."""
        heap = self._queue.heap
        # If the heap is in order, Python's `heappop` gives the entries in Java's order, because no two
        # entries are equal; and it is faster.
        parents = (heap[place >> 1] for place in range(len(heap) - 1))
        poll = partial(heappop, heap) if all(map(ge, heap[1:], parents)) else self._queue.poll
        passed: dict[int, tuple[float, int]] = {}
        chosen: int | None = None
        while chosen is None and (entry := poll() if heap else None) is not None:
            if entry[1] in eligible:
                chosen = entry[1]
            else:
                passed[entry[1]] = entry
        # Quirk: the processes that were skipped return in the order of a HashSet.
        for process in self._order(tuple(passed)):
            heappush(heap, passed[process])
        return chosen

    def offer_again(self, *changed: int) -> None:
        """Put both processes of a movement back into the queue, one after the other, with their new loads."""
        heap = self._queue.heap
        entries = {process: (self._processes[process].load(), process) for process in changed}
        # In Java the heap holds the processes themselves. Their loads change in place, and the heap does not
        # move them. Here the entries are replaced in place for the same effect.
        heap[:] = [entries.get(entry[1], entry) for entry in heap]
        for entry in entries.values():
            self._queue.remove(entry)
            heappush(heap, entry)
