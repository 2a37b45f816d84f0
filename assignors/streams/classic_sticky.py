"""The second strategy of Kafka Streams in classic groups: `assignors.StickyTaskAssignor` of kafka-streams.

An application chooses it by `task.assignor.class`. It considers whether a process has state of a task, but
not how much. Kafka 4.4 changed one rule: how many active tasks a process keeps.
`StreamsClassicStickyAssignor` has the rule before 4.4 and the rule since 4.4.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from assignors.streams.application import RUNNING, ProcessAssignment, hash_order
from assignors.streams.racks import STATELESS, Costs, RackAwareApplication, RackAwareAssignor
from assignors.streams.sticky import StreamsGroup
from partitioning.errors import AssignorError, InvalidConfigError, InvalidGroupError
from partitioning.java import hash_set_capacity
from partitioning.java.hash_map import DEFAULT_LENGTH, HashSet, HashTable
from partitioning.topic_partition import TopicPartition

KAFKA_VERSIONS = ("4.3", "4.4")
"""The releases of kafka-streams whose rules are here. Each rule holds until the next release in this list."""


class StreamsClassicStickyAssignor(RackAwareAssignor):
    """A Kafka Streams application's `StickyTaskAssignor`: tasks stay where they run or have state.

    The strategy considers whether a process reports an offset of a task, but not which offset. Tags are
    ignored. Racks count as `RackAwareAssignor` describes. Quirk: racks count only if both costs are
    configured.

    Args:
        kafka_version: the release whose rule decides how many active tasks a process keeps. "4.4": its share
            of all tasks in proportion to its threads, rounded up. "4.3": the tasks for one thread, rounded
            down, times its threads.
        rack_settings: the settings of `RackAwareAssignor`.

    Raises:
        InvalidConfigError: an unknown version, or a setting that Kafka Streams refuses.

    >>> process = "9e3c9a52-7f0e-4d3b-8a52-0f6a1c5f2b11"
    >>> application = StreamsGroup([Subtopology("0", 2)], [StreamsMember("a", process)])
    >>> StreamsClassicStickyAssignor().assign(application).active[process]
    PartitionList([('0', 0), ('0', 1)])
    """

    name: ClassVar[str] = "streams-classic-sticky"

    def __init__(self, *, kafka_version: str = "4.4", **rack_settings: Any) -> None:
        super().__init__(**rack_settings)
        if kafka_version not in KAFKA_VERSIONS:
            raise InvalidConfigError(
                f"kafka_version is {kafka_version!r}; give one of {', '.join(KAFKA_VERSIONS)}: "
                "the newest one that is not newer than the application's kafka-streams"
            )
        self._rounds_up = kafka_version != "4.3"

    def assign(
        self, group: StreamsGroup, *, standby_order: Sequence[TopicPartition] | None = None
    ) -> ProcessAssignment:
        """Return the tasks of each process; every process is in both maps, in the order of their ids.

        A process has the offsets and active tasks of all its members, which are its threads. Reported tasks
        that the application does not have are ignored.

        Args:
            group: the application. Its `end_offsets` are ignored.
            standby_order: all stateful tasks, in the order in which their standby tasks are placed. Java's
                order follows from `System.identityHashCode`, which differs between two runs of a JVM. None
                gives one of the answers that a JVM can give.

        Raises:
            AssignorError: the JVM throws: there are no members, or so many tasks that the number of their
                pairs overflows.
            InvalidGroupError: the id of a subtopology is not a number, a process id is not a UUID,
                `standby_order` has other tasks, or racks count but not all topics are given.
        """
        plan = _Plan(group, self._strategy, self._costs, rounds_up=self._rounds_up)
        plan.assign_active()
        plan.exchange_active()
        if group.standby_replicas:
            order = plan.stateful if standby_order is None else standby_order
            if len(order) != len(plan.stateful) or plan.stateful.keys() != set(order):
                raise InvalidGroupError(
                    f"standby_order: give each of the {len(plan.stateful)} stateful tasks once"
                )
            plan.assign_standby(group.standby_replicas, order)
            plan.exchange_standby()
        return plan.answer()


class _Plan(RackAwareApplication):
    """Holds an assignment while its steps change it. Tasks and processes are the numbers of `Application`.

    Args:
        group, strategy, costs: see `RackAwareApplication`.
        rounds_up: True: a process's share of active tasks is `ceil(threads * tasks / all threads)`, as since
            Kafka 4.4. False: it is `threads * floor(tasks / all threads)`, as before. With 5 tasks and 2
            processes of one thread each, the share of a process is 3 or 2; steps 2 and 3 place the others.

    Attributes:
        order: the places of processes in the order of Java's maps.
        _holders: the processes of each task so far; up to date after each `_give`.
        _loads: the load of each process; up to date after each `_give`.
        _previous_active: the process that ran each task.
        _previous_state: the processes that have state of each task.
        _before: for each task, the active tasks of its process before any task moved because of racks. The
            task itself is among them.

    Raises:
        AssignorError: there are no members, or more pairs of tasks than a 32-bit integer can count.
    """

    def __init__(self, group: StreamsGroup, strategy: str, costs: Costs, *, rounds_up: bool) -> None:
        super().__init__(group, strategy, costs)
        self._rounds_up = rounds_up
        count = len(self.tasks)
        # Java makes a HashSet with room for all pairs. Its capacity is a 32-bit integer, which is negative if
        # the highest bit is set; then Java throws.
        if count * (count - 1) & 1 << 31:
            raise AssignorError(
                f"there are more pairs of {count:,} tasks than Java counts",
                jvm_exception="IllegalArgumentException",
            )
        # Before Kafka 4.4, Java divides by the number of threads even if there are no tasks. Without members
        # that number is 0, so Java throws.
        if not group.members and (self.tasks or not rounds_up):
            exception = "NullPointerException" if rounds_up else "ArithmeticException"
            raise AssignorError("the group has no members", jvm_exception=exception)
        self._order = hash_order(self.processes)
        self._loads = [0.0] * len(self.processes)
        self._holders: list[list[int]] = [[] for _ in self.tasks]
        # Java copies the processes from one HashMap into another one, so the order changes twice.
        self.order = self._order(self._order(self.in_turn))
        self._before: dict[int, set[int]] = {}
        owned = {(member.process_id, task) for member in group.members for task in member.active}
        self._previous_active: dict[int, int] = {}
        previous_state: dict[int, list[int]] = defaultdict(list)
        for process in self.order:
            client = self.processes[process]
            for task, offset in sorted(client.offsets.items()):
                if offset == RUNNING or (str(client.id), self.tasks[task]) in owned:
                    # Quirk: if two processes run the same task, the later one counts.
                    self._previous_active[task] = process
                else:
                    previous_state[task].append(process)
        self._previous_state = {task: self._order(tuple(some)) for task, some in previous_state.items()}

    def assign_active(self) -> None:
        """Steps 1 to 3: give each active task to one process."""
        all_threads = sum(process.threads for process in self.processes)
        shares = [
            -(-process.threads * len(self.tasks) // all_threads)
            if self._rounds_up
            else process.threads * (len(self.tasks) // all_threads)
            for process in self.processes
        ]
        # 1. A task returns to the process that ran it, if this process has fewer tasks than its share.
        unassigned = self._all_tasks()
        for task in self.task_set(self._previous_active):
            if self._give_if_room(task, [self._previous_active[task]], shares):
                unassigned.discard(task)

        # 2. Otherwise it goes to a process that has state of it, again if this process has fewer tasks than
        # its share.
        rest = [
            task
            for task in unassigned
            if not self._give_if_room(task, self._previous_state.get(task, ()), shares)
        ]

        # 3. The others go to a process that ran them or has state of them, unless others are less loaded.
        everybody = self._order(self.order)
        for task in sorted(rest):
            self._give(task, self._best(task, everybody))

    def exchange_active(self) -> None:
        """Move stateful, then stateless active tasks to processes in the racks of their partitions.

        The racks of changelogs count, too.
        """
        for client in self.processes:
            together = set(client.active)
            self._before.update((task, together) for task in together)
        crossings = self.crossings(
            lambda subtopology: (*subtopology.source_topics, *subtopology.changelog_topics)
        )
        self.exchange_tasks(list(self.stateful.values()), crossings, self.costs)
        self.exchange_tasks(self.stateless, crossings, STATELESS)
        for process, client in enumerate(self.processes):
            for task in client.active:
                self._holders[task] = [process]

    def exchange_standby(self) -> None:
        """Move standby tasks to processes in the racks of their partitions, whatever the tags are.

        Quirk: Kafka Streams compares a process's tags with themselves, so tags never forbid a move.
        """
        crossings = self.crossings(lambda subtopology: subtopology.changelog_topics)
        self.exchange_standby_tasks(self.strategy, crossings)

    def assign_standby(self, replicas: int, order: Iterable[TopicPartition]) -> None:
        """Step 4: place standby tasks as step 3 does active ones, among the processes without the task."""
        for task in map(self.stateful.__getitem__, order):
            for _ in range(replicas):
                others = tuple(process for process in self.order if process not in self._holders[task])
                if not others:
                    break
                self._give(task, self._best(task, self._order(others)), is_standby=True)

    def _all_tasks(self) -> HashTable[int]:
        """Return all tasks in Java's HashSet, whose order follows from the maps that it is copied from."""
        # An integer's hash code is the integer itself. So the hash code of a subtopology, as an integer, gets
        # the place that the subtopology has in Java's map.
        codes = [31 * (31 + int(task.topic)) for task in self.tasks]
        place_of = {code: place for place, code in enumerate(HashSet(codes, capacity=DEFAULT_LENGTH))}
        tasks = sorted(range(len(codes)), key=lambda task: place_of[codes[task]])
        mapped = self.task_set(self.task_set(tasks))
        return self.task_set(mapped, hash_set_capacity(len(mapped)))

    def _give_if_room(self, task: int, processes: Iterable[int], shares: Sequence[int]) -> bool:
        """Give a task to the first of these processes with fewer active tasks than its share.

        Return whether there is such a process.
        """
        for process in processes:
            if len(self.processes[process].active) < shares[process]:
                self._give(task, process)
                return True
        return False

    def _give(self, task: int, process: int, *, is_standby: bool = False) -> None:
        """Give a task to a process, and update `_holders` and `_loads`."""
        client = self.processes[process]
        (client.standby if is_standby else client.active).add(task)
        self._holders[task].append(process)
        self._loads[process] = client.load()

    def _best(self, task: int, candidates: Sequence[int]) -> int:
        """Return the process that a task goes to (`findBestClientForTask`).

        A process that ran the task or has state of it is preferred if it has less than one task a thread, or
        if no process has a lower load.
        """
        holders = self._holders[task]
        previous = self._previous_state.get(task, ())
        # Java copies the set and removes the holders from the copy; a copied set may have another order.
        copied = self._order(previous, hash_set_capacity(len(previous)))
        with_state = self._least_loaded(task, [process for process in copied if process not in holders])
        for process in (self._previous_active.get(task), with_state):
            if process is None or process in holders:
                continue
            load = self._loads[process]
            if load < 1 or min(self._loads) == load:
                return process
        best = self._least_loaded(task, candidates)
        assert best is not None
        return best

    def _least_loaded(self, task: int, processes: Sequence[int]) -> int | None:
        """Return the least loaded of these processes with which the task makes a new pair of tasks.

        If there is no such process, or if the least loaded process has no task, the least loaded process is
        returned; None if `processes` is empty.
        """
        load_of = self._loads.__getitem__
        best = min(processes, key=load_of, default=None)
        if best is None or not load_of(best) or self._is_new_pair(task, best):
            return best
        return min(
            (process for process in processes if self._is_new_pair(task, process)), key=load_of, default=best
        )

    def _is_new_pair(self, task: int, process: int) -> bool:
        """Return whether the process has a task that has not been in one process with this task so far.

        Two tasks count as a pair from the moment in which the later one is given to the process of the
        earlier one. Quirk: moves because of racks neither make pairs nor end them.
        """
        holders = [self.processes[holder] for holder in self._holders[task]]
        met = set[int]().union(
            self._before.get(task, ()),
            *(
                holder.standby if task in holder.active else holder.active | holder.standby
                for holder in holders
            ),
        )
        client = self.processes[process]
        return not met >= client.active | client.standby
