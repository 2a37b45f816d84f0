"""Kafka Streams' other strategy in classic groups: `assignors.StickyTaskAssignor` of kafka-streams.

`task.assignor.class` names it. It does not see how much state a process has, only whether it has some.
Kafka 4.4 changed one rule, how many active tasks a process keeps: `StreamsClassicStickyAssignor` has both.
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
"""The releases of kafka-streams whose rules are here; each is that of the releases up to the next one."""


class StreamsClassicStickyAssignor(RackAwareAssignor):
    """A Kafka Streams application's `StickyTaskAssignor`: tasks stay where they run or have state.

    Offsets do not count, only whether a process reports one; nor do tags. Racks count as `RackAwareAssignor`
    says; quirk: only if both costs are configured.

    Args:
        kafka_version: whose rule decides how many active tasks a process keeps. "4.4": its share of all tasks
            by threads, rounded up. "4.3": for each of its threads the tasks of one thread, rounded down.
        rack_settings: as `RackAwareAssignor` has them.

    Raises:
        InvalidConfigError: another version, or a setting that Kafka Streams refuses.

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
        """Decide who gets which tasks; every process is in both maps, in the order of their ids.

        A process has the offsets and active tasks of all its members, which are its threads. Tasks that the
        application does not have are passed over.

        Args:
            group: the application, of which `end_offsets` do not count.
            standby_order: all stateful tasks in the order in which they get standby tasks. Java's is that of
                `System.identityHashCode`, which every run of a JVM has anew: without it an answer is one
                that a JVM may give.

        Raises:
            AssignorError: no members, or so many tasks that their pairs overflow, where the JVM throws.
            InvalidGroupError: ids of subtopologies are no numbers, or process ids no UUIDs; an order of other
                tasks; racks count, but not all topics are given.
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
    """Holds an assignment while its steps change it; tasks and processes are the numbers of `Application`.

    `_holders` has the processes of each task so far, `_loads` the load of each process, both up to date after
    each `_give`. `order` is the order in which Java's maps give the processes. `_previous_active` is the
    process that ran a task, `_previous_state` are those that have state of it. `_before` are the active tasks
    of each process before racks moved any.

    Args:
        group, strategy, costs: as `RackAwareApplication` has them.
        rounds_up: a process's share of active tasks is `ceil(threads * tasks / all threads)`, as since Kafka
            4.4; False: `threads * floor(tasks / all threads)`. With 5 tasks and 2 processes of one thread
            each, a process's share is 3 tasks, or 2; steps 2 and 3 place the others.

    Raises:
        AssignorError: no members, or more pairs of tasks than a 32-bit integer counts.
    """

    def __init__(self, group: StreamsGroup, strategy: str, costs: Costs, *, rounds_up: bool) -> None:
        super().__init__(group, strategy, costs)
        self._rounds_up = rounds_up
        count = len(self.tasks)
        # The size of a HashSet of all pairs, a 32-bit integer.
        if count * (count - 1) & 1 << 31:
            raise AssignorError(
                f"there are more pairs of {count:,} tasks than Java counts",
                jvm_exception="IllegalArgumentException",
            )
        # Before Kafka 4.4 the tasks are divided by the number of threads, 0, even if there is no task.
        if not group.members and (self.tasks or not rounds_up):
            exception = "NullPointerException" if rounds_up else "ArithmeticException"
            raise AssignorError("the group has no members", jvm_exception=exception)
        self._order = hash_order(self.processes)
        self._loads = [0.0] * len(self.processes)
        self._holders: list[list[int]] = [[] for _ in self.tasks]
        # Processes are put into one HashMap after the other.
        self.order = self._order(self._order(self.in_turn))
        self._before: list[set[int]] = []
        owned = {(member.process_id, task) for member in group.members for task in member.active}
        self._previous_active: dict[int, int] = {}
        previous_state: dict[int, list[int]] = defaultdict(list)
        for process in self.order:
            client = self.processes[process]
            for task, offset in sorted(client.offsets.items()):
                if offset == RUNNING or (str(client.id), self.tasks[task]) in owned:
                    # Quirk: of two processes that run a task the later one counts.
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
        # 1. A task goes back to the process that ran it, as long as that has no more than its share.
        unassigned = self._all_tasks()
        for task in self.task_set(self._previous_active):
            if self._give_if_room(task, [self._previous_active[task]], shares):
                unassigned.discard(task)

        # 2. Then to one that has state of it, within its share too.
        rest = [
            task
            for task in unassigned
            if not self._give_if_room(task, self._previous_state.get(task, ()), shares)
        ]

        # 3. The others go where they were, or have state, if that is not loaded more than others.
        everybody = self._order(self.order)
        for task in sorted(rest):
            self._give(task, self._best(task, everybody))

    def exchange_active(self) -> None:
        """Move stateful, then stateless active tasks to their racks; racks of changelogs count too."""
        self._before = [set(process.active) for process in self.processes]
        crossings = self.crossings(
            lambda subtopology: (*subtopology.source_topics, *subtopology.changelog_topics)
        )
        self.exchange_tasks(list(self.stateful.values()), crossings, self.costs)
        self.exchange_tasks(self.stateless, crossings, STATELESS)
        for process, client in enumerate(self.processes):
            for task in client.active:
                self._holders[task] = [process]

    def exchange_standby(self) -> None:
        """Move standby tasks to their racks, whatever the tags are.

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
        """Return all tasks as a HashSet, whose order follows from that of the maps before it."""
        # A subtopology is where an integer would be that is its hash code.
        codes = [31 * (31 + int(task.topic)) for task in self.tasks]
        place_of = {code: place for place, code in enumerate(HashSet(codes, capacity=DEFAULT_LENGTH))}
        tasks = sorted(range(len(codes)), key=lambda task: place_of[codes[task]])
        mapped = self.task_set(self.task_set(tasks))
        return self.task_set(mapped, hash_set_capacity(len(mapped)))

    def _give_if_room(self, task: int, processes: Iterable[int], shares: Sequence[int]) -> bool:
        """Give a task to the first of these with fewer active tasks than its share, if any."""
        for process in processes:
            if len(self.processes[process].active) < shares[process]:
                self._give(task, process)
                return True
        return False

    def _give(self, task: int, process: int, *, is_standby: bool = False) -> None:
        """Give a task to a process, and bring holders and loads up to date."""
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
        """Return the least loaded process, preferably one that makes a new pair of tasks; or None.

        If the least loaded process has no task, it is that one.
        """
        load_of = self._loads.__getitem__
        best = min(processes, key=load_of, default=None)
        if best is None or not load_of(best) or self._is_new_pair(task, best):
            return best
        return min(
            (process for process in processes if self._is_new_pair(task, process)), key=load_of, default=best
        )

    def _is_new_pair(self, task: int, process: int) -> bool:
        """Return whether it has a task that was nowhere together with this one when the later of both came.

        Quirk: whom racks brought together, or parted, does not count.
        """
        holders = [self.processes[holder] for holder in self._holders[task]]
        met = set[int]().union(
            *(some for some in self._before if task in some),
            *(
                holder.standby if task in holder.active else holder.active | holder.standby
                for holder in holders
            ),
        )
        client = self.processes[process]
        return not met >= client.active | client.standby
