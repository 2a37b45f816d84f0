"""The rules of Kafka Connect: `EagerAssignor` and `IncrementalCooperativeAssignor` of connect-runtime 4.4.0.

A connector is represented by a topic, and a task by a partition of this topic. The connector's own instance,
which is task -1 in Connect's protocol, is represented by partition 0 of a topic whose name is "connector:"
and the connector's name. Workers run everything that they are assigned, so subscriptions do not count.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, cycle
from typing import ClassVar, NamedTuple

from assignors.assignment import Assignment
from assignors.group import Group, Member, Topic
from assignors.interface import RebalanceProtocol
from assignors.partition_list import PartitionList
from assignors.rules.group_spec import members_by_id
from partitioning.errors import InvalidConfigError, InvalidGroupError
from partitioning.java import utf16_key
from partitioning.java.hash_codes import TaskId
from partitioning.java.hash_map import DEFAULT_LENGTH, HashSet
from partitioning.topic_partition import TopicPartition

CONNECTOR = "connector:"
"""Prefix, before the connector's name, of the topic that stands for a connector's own instance."""

INSTANCE = -1
"""The task number that stands for the connector itself in Connect's protocol."""

BACKOFF_FACTOR = 40
"""The factor by which the pause between two revocations grows (KAFKA-12495)."""


class ConnectRound(NamedTuple):
    """Holds the answer of a Connect cluster's leader in one rebalance.

    >>> cluster = Group([Topic("connector:jdbc", 1), Topic("jdbc", 2)], [Member("w1", []), Member("w2", [])])
    >>> answer = get_assignor("connect-incremental").assign_at(cluster, now_ms=1)
    >>> answer.assignment["w1"], answer.revoked, answer.delay_ms
    (PartitionList([('connector:jdbc', 0), ('jdbc', 0)]), {}, 0)

    Attributes:
        assignment: the connectors, then the tasks that each worker runs after this rebalance, in the order in
            which the worker will report them. Connectors and tasks that no worker runs are `unassigned`.
        revoked: the connectors and tasks that each worker must stop. These workers rejoin at once.
        delay_ms: the time after which the workers ask for another rebalance; 0 if they do not.
    """

    assignment: Assignment
    revoked: Mapping[str, PartitionList]
    delay_ms: int


@dataclass(frozen=True, slots=True)
class ConnectMemory:
    """Holds what an `IncrementalCooperativeAssignor` remembers between rebalances.

    A new leader remembers nothing: all attributes have their defaults. A round is one rebalance that this
    leader answers. A unit is a connector or a task.

    Attributes:
        previous_assignment: the units that ran on some worker after the last round, and the lost units.
        previous_revocation: the units that the last round told workers to stop.
        previous_generation: the generation of the last round; -1 before the first.
        previous_members: the ids of the workers in the last round.
        scheduled_rebalance_ms: the time, by the leader's clock, at which lost units will be assigned; 0 if
            no such time is set.
        delay_ms: the delay in the last answer; 0 for none.
        candidates: the workers that joined without units while other units were lost, in the order in which
            they joined. They get the lost units when the delay is over.
        revoked_in_previous: True if the last round revoked units for balance.
        successive_revoking_rebalances: how many rounds in a row had units to revoke for balance directly
            after a round that revoked some. The pause between revocations grows with it.
    """

    previous_assignment: frozenset[TaskId] = frozenset()
    previous_revocation: frozenset[TaskId] = frozenset()
    previous_generation: int = -1
    previous_members: frozenset[str] = frozenset()
    scheduled_rebalance_ms: int = 0
    delay_ms: int = 0
    candidates: tuple[str, ...] = ()
    revoked_in_previous: bool = False
    successive_revoking_rebalances: int = 0


@dataclass(slots=True)
class _Worker:
    """A worker with the connectors and tasks that it runs so far (`WorkerLoad`)."""

    id: str
    connectors: dict[TaskId, None] = field(default_factory=dict)
    tasks: dict[TaskId, None] = field(default_factory=dict)

    def part(self, *, instances: bool) -> dict[TaskId, None]:
        """Return the worker's connectors if `instances` is True, else its tasks."""
        return self.connectors if instances else self.tasks

    def run(self, what: Iterable[TaskId]) -> None:
        """Let the worker run these connectors and tasks, too."""
        for unit in what:
            self.part(instances=unit.number == INSTANCE)[unit] = None

    def stop(self, what: Collection[TaskId]) -> None:
        """Let the worker stop these connectors and tasks; ignore a connector or task that it does not run."""
        for unit in what:
            self.part(instances=unit.number == INSTANCE).pop(unit, None)

    def all(self) -> list[TaskId]:
        """Return all connectors and tasks that the worker runs, connectors first."""
        return [*self.connectors, *self.tasks]


class _Round:
    """Decides one round: the state of `IncrementalCooperativeAssignor` while it answers.

    Attributes:
        _before: the connectors and tasks that each worker reports, by worker id.
        _workers: the workers in the order of Java's map, with what they run so far in this round.
        _revoked: the connectors and tasks that each worker must stop, by worker id, in order.
        _memory: what the leader remembers; the steps replace it.
    """

    def __init__(
        self, group: Group, memory: ConnectMemory, now_ms: int, max_delay_ms: int, generation: int
    ) -> None:
        self._group = group
        self._now_ms = now_ms
        self._max_delay_ms = max_delay_ms
        self._generation = generation
        self._last_completed = group.generation
        self._memory = memory
        self._configured = _configured_tasks(group)
        # Quirk: unless a step sorts the workers, they are in the order of a HashMap of their ids.
        members = members_by_id(group).values()
        self._before = {member.id: _as_sent(_reported_tasks(member)) for member in members}
        self._workers = [_Worker(name) for name in HashSet(self._before, capacity=DEFAULT_LENGTH)]
        for worker in self._workers:
            worker.run(self._before[worker.id])
        self._revoked: dict[str, dict[TaskId, None]] = {worker.id: {} for worker in self._workers}

    def run(self) -> tuple[ConnectRound, ConnectMemory]:
        """Return the answer, and what the leader remembers after it."""
        memory = self._memory
        active = {unit for held in self._before.values() for unit in held}

        # 1. If the last completed generation is not that of the leader's last round, the leader does not
        # trust its memory (KAFKA-9848): another leader may have answered in between.
        previous = memory.previous_assignment
        if memory.previous_generation != self._last_completed:
            previous = frozenset()

        # 2. If a worker still runs a connector or task that it was told to stop, everything that runs now
        # replaces the leader's memory of the last assignment.
        if memory.previous_revocation & active:
            previous = frozenset(active)

        # 3. Find the connectors and tasks that are deleted, run twice, are lost, or are new.
        deleted = previous.difference(self._configured)
        holders = Counter(chain.from_iterable(dict.fromkeys(held) for held in self._before.values()))
        duplicated = {unit for unit, count in holders.items() if count > 1}
        # Lost connectors and tasks ran before, and no worker reports them. Created ones have never run, as
        # far as the leader knows.
        lost = [unit for unit in self._configured if unit in previous and unit not in active]
        created = [unit for unit in self._configured if unit not in previous and unit not in active]

        # 4. Stop connectors and tasks that are deleted. A task or connector that runs on several workers
        # stops on all of them.
        for unwanted in (deleted, duplicated):
            for worker in self._workers:
                self._revoke(worker, _in_hash_set_order(worker.all(), unwanted))
        for worker in self._workers:
            worker.stop(self._revoked[worker.id])

        # 5. Decide whether lost connectors and tasks are assigned now or wait for their worker.
        to_reassign = self._handle_lost_assignments(lost)

        # 6. Take connectors and tasks from workers that have too many, unless a delay is running: moves
        # during a delay would have to be undone when the lost worker returns.
        if self._memory.delay_ms == 0:
            self._balance()
        else:
            self._memory = replace(self._memory, revoked_in_previous=False)

        # 7. Give new connectors and tasks, then lost ones, to the workers with the fewest.
        to_assign = [*created, *to_reassign]
        _fill(self._workers, to_assign, instances=True)
        _fill(self._workers, to_assign, instances=False)
        return self._answer(lost)

    def _revoke(self, worker: _Worker, what: Iterable[TaskId]) -> None:
        """Record that a worker must stop these connectors and tasks; `_Worker.stop` removes them later."""
        self._revoked[worker.id].update(dict.fromkeys(what))

    def _handle_lost_assignments(self, lost: list[TaskId]) -> list[TaskId]:
        """Step 5: return the lost connectors and tasks to assign as new ones (`handleLostAssignments`)."""
        memory = self._memory
        if not lost and not memory.revoked_in_previous:
            self._reset_delay()
            return []
        # A time of 0 means that no delay is running, so the connectors and tasks have been lost just now.
        scheduled_ms = memory.scheduled_rebalance_ms
        is_complete = memory.previous_members <= self._before.keys()
        if (scheduled_ms <= 0 and is_complete) or self._max_delay_ms == 0:
            # If no worker has left, a worker did not get its last answer. If the delay is 0, lost connectors
            # and tasks never wait (KAFKA-15693). In both cases they are assigned now. Quirk: the delay of the
            # last answer stays.
            return lost
        # The delay is over. Workers that joined meanwhile get the lost connectors and tasks; without such
        # workers, all workers share them.
        if 0 < scheduled_ms <= self._now_ms:
            by_id = {worker.id: worker for worker in self._workers}
            candidates = [by_id[name] for name in memory.candidates if name in by_id]
            if candidates:
                for is_instance in (True, False):
                    some = [unit for unit in lost if (unit.number == INSTANCE) is is_instance]
                    for unit, worker in zip(some, cycle(candidates), strict=False):
                        worker.run([unit])
            self._reset_delay()
            self._memory = replace(self._memory, revoked_in_previous=False)
            return [] if candidates else lost
        # A worker that runs nothing is new. It may be the lost worker under a new id.
        empty = HashSet([worker.id for worker in self._workers if not worker.all()], capacity=DEFAULT_LENGTH)
        delay_ms = self._max_delay_ms
        if self._now_ms < scheduled_ms:
            delay_ms = min(scheduled_ms - self._now_ms, self._max_delay_ms)
        self._memory = replace(
            memory,
            candidates=tuple(dict.fromkeys([*memory.candidates, *empty])),
            delay_ms=delay_ms,
            scheduled_rebalance_ms=self._now_ms + delay_ms,
        )
        return []

    def _reset_delay(self) -> None:
        """Clear the delay and the candidates that waited for its end."""
        self._memory = replace(self._memory, candidates=(), scheduled_rebalance_ms=0, delay_ms=0)

    def _balance(self) -> None:
        """Step 6: revoke connectors and tasks for balance (`performLoadBalancingRevocations`).

        If the round before revoked some, too, nothing is revoked before a pause is over.
        """
        revocations = self._load_balancing_revocations()
        memory = self._memory
        if revocations and memory.revoked_in_previous:
            rounds = memory.successive_revoking_rebalances + 1
            delay_ms = _backoff_ms(rounds, self._max_delay_ms)
            memory = replace(memory, successive_revoking_rebalances=rounds, delay_ms=delay_ms)
            if delay_ms:
                self._memory = replace(memory, scheduled_rebalance_ms=self._now_ms + delay_ms)
                return
        elif revocations:
            memory = replace(memory, revoked_in_previous=True)
        elif memory.revoked_in_previous:
            memory = replace(memory, revoked_in_previous=False, successive_revoking_rebalances=0)
        self._memory = memory
        for worker, some in revocations:
            self._revoke(worker, some)
            worker.stop(some)

    def _load_balancing_revocations(self) -> list[tuple[_Worker, list[TaskId]]]:
        """Return the connectors, then the tasks that each worker has beyond its share."""
        if not self._configured or not any(worker.all() for worker in self._workers):
            return []
        instances = sum(unit.number == INSTANCE for unit in self._configured)
        return [
            *_too_much(self._workers, instances, instances=True),
            *_too_much(self._workers, len(self._configured) - instances, instances=False),
        ]

    def _answer(self, lost: list[TaskId]) -> tuple[ConnectRound, ConnectMemory]:
        """Return the answer (`fillAssignments`) and the leader's memory (`computePreviousAssignment`)."""
        revoked = {unit for some in self._revoked.values() for unit in some}
        running = {unit for worker in self._workers for unit in worker.all()}
        memory = replace(
            self._memory,
            previous_assignment=frozenset(running - revoked).union(lost),
            previous_revocation=frozenset(revoked),
            previous_generation=self._generation,
            previous_members=frozenset(self._before),
        )
        lists = {}
        members = {member.id: member for member in self._group.members}
        for worker in self._workers:
            stopped, before = self._revoked[worker.id], set(self._before[worker.id])
            started = [unit for unit in worker.all() if unit not in before]
            kept = [task for task in _reported_tasks(members[worker.id]) if task not in stopped]
            lists[worker.id] = _connectors_first([*_as_sent(started), *kept])
        stops = {
            worker: PartitionList.of(map(_partition, _as_sent(some, sort_instances=False)))
            for worker, some in self._revoked.items()
            if some
        }
        return ConnectRound(_assignment(self._group, lists), stops, memory.delay_ms), memory


def _configured_tasks(group: Group) -> list[TaskId]:
    """Return all configured connectors by name, then all tasks by connector and number."""
    names = sorted(
        (topic.name for topic in group.topics if not topic.name.startswith(CONNECTOR)), key=utf16_key
    )
    count = {topic.name: topic.partitions for topic in group.topics}
    for topic in group.topics:
        if topic.name.startswith(CONNECTOR) and (
            topic.name[len(CONNECTOR) :] not in count or topic.partitions != 1
        ):
            raise InvalidGroupError(
                f"topic {topic.name!r} represents a connector itself: give it 1 partition, and a topic "
                "of the connector's own name whose partitions are its tasks"
            )
    instances = [TaskId(name, INSTANCE) for name in names]
    return [*instances, *(TaskId(name, number) for name in names for number in range(count[name]))]


def _reported_tasks(member: Member) -> list[TaskId]:
    """Return the connectors, then the tasks that a worker reports, in the order of its last assignment."""
    return _connectors_first(
        TaskId(topic[len(CONNECTOR) :], INSTANCE) if topic.startswith(CONNECTOR) else TaskId(topic, number)
        for topic, number in PartitionList.of(member.owned).as_assigned
    )


def _connectors_first(held: Iterable[TaskId]) -> list[TaskId]:
    """Return these connectors and tasks, connectors first; both keep their order."""
    return sorted(held, key=lambda unit: unit.number != INSTANCE)


def _as_sent(held: Collection[TaskId], *, sort_instances: bool = True) -> list[TaskId]:
    """Return a worker's connectors and tasks in the order in which Connect sends them.

    In Java this order comes from `ConnectProtocol.Assignment.asMap`.

    Quirk: connectors are in the order of a HashSet, and tasks in the order of their connectors.
    """
    instances = [unit.group for unit in held if unit.number == INSTANCE]
    by_connector: dict[str, list[TaskId]] = {
        name: [] for name in (HashSet(instances) if sort_instances else instances)
    }
    for unit in held:
        if unit.number != INSTANCE:
            by_connector.setdefault(unit.group, []).append(unit)
    named = set(instances)
    return [
        *(TaskId(name, INSTANCE) for name in by_connector if name in named),
        *chain.from_iterable(by_connector.values()),
    ]


def _in_hash_set_order(held: Sequence[TaskId], some: Collection[TaskId]) -> list[TaskId]:
    """Return the connectors and tasks of `some` that a worker has (`intersection`).

    Connectors are in the order of one HashSet, and tasks in the order of another one.
    """
    if not any(unit in some for unit in held):
        return []
    instances = HashSet([unit.group for unit in held if unit.number == INSTANCE])
    tasks = HashSet([unit for unit in held if unit.number != INSTANCE])
    ordered = [*(TaskId(name, INSTANCE) for name in instances), *tasks]
    return [unit for unit in ordered if unit in some]


def _too_much(workers: list[_Worker], total: int, *, instances: bool) -> list[tuple[_Worker, list[TaskId]]]:
    """Return the connectors or tasks that workers have beyond their share (`loadBalancingRevocations`).

    A worker gives up the first of its connectors or tasks.
    """
    least, extras = divmod(total, len(workers))
    sizes = [len(worker.part(instances=instances)) for worker in workers]
    # If sizes are as even as possible, there is nothing to take.
    if sizes.count(least + 1) == extras and sizes.count(least) + extras == len(workers):
        return []
    surplus = []
    for worker, size in zip(workers, sizes, strict=True):
        if size <= least:
            continue
        share = least
        if extras > 0:
            extras -= 1
            share = least + 1
        if size > share:
            surplus.append((worker, [*worker.part(instances=instances)][: size - share]))
    return surplus


def _fill(workers: list[_Worker], what: Iterable[TaskId], *, instances: bool) -> None:
    """Give connectors or tasks to the least loaded workers (`assignConnectors`, `assignTasks`).

    Quirk: workers are sorted only once. Each round begins at the first worker and ends before the next worker
    that has more than the first one.
    """
    workers.sort(key=lambda worker: (len(worker.part(instances=instances)), utf16_key(worker.id)))
    left = iter([unit for unit in what if (unit.number == INSTANCE) is instances])
    parts = [worker.part(instances=instances) for worker in workers]
    while True:
        first_load = len(parts[0])
        more = (row for row, part in enumerate(parts) if len(part) > first_load)
        for part in parts[: next(more, len(parts))]:
            unit = next(left, None)
            if unit is None:
                return
            part[unit] = None


def _backoff_ms(attempts: int, max_delay_ms: int) -> int:
    """Return the pause of `ExponentialBackoff(1, 40, maxDelay, 0)`: 40 ms, 1.6 s, 64 s, then the maximum."""
    if max_delay_ms == 0:
        return 0
    most = math.log(max_delay_ms) / math.log(BACKOFF_FACTOR) if max_delay_ms > 1 else 0.0
    return min(int(BACKOFF_FACTOR ** min(float(attempts), most)), max_delay_ms)


def _partition(task: TaskId) -> TopicPartition:
    """Return the partition that represents a connector or a task."""
    return TopicPartition(CONNECTOR + task.group, 0) if task.number == INSTANCE else TopicPartition(*task)


def _assignment(group: Group, lists: Mapping[str, Iterable[TaskId]]) -> Assignment:
    """Return an assignment that includes all configured connectors and tasks, even if no worker runs them."""
    names = [topic.name for topic in group.topics]
    connectors = [name for name in names if not name.startswith(CONNECTOR)]
    missing = [CONNECTOR + name for name in connectors if CONNECTOR + name not in set(names)]
    topics = [*group.topics, *(Topic(name, 1) for name in missing)]
    # All workers subscribe to everything here, so a task that no worker runs counts as unassigned.
    members = [replace(member, topics=[topic.name for topic in topics]) for member in group.members]
    return Assignment.for_group(
        Group(topics, members), {worker: map(_partition, held) for worker, held in lists.items()}
    )


class ConnectEagerAssignor:
    """Kafka Connect's `connect.protocol=eager`: connectors, then tasks, in one circle over the workers.

    All connectors and tasks stop and start again at each rebalance (`EagerAssignor.performTaskAssignment`).

    A connector is represented by a topic, and a task by a partition of this topic. The connector itself is
    represented by partition 0 of a topic whose name is "connector:" and the connector's name. `Member.topics`
    is ignored.
    """

    name: ClassVar[str] = "connect-eager"
    protocols: ClassVar[frozenset[RebalanceProtocol]] = frozenset()

    def assign(self, group: Group) -> Assignment:
        """Return the connectors and tasks of each worker, in the worker's order.

        Raises InvalidGroupError if a topic "connector:..." represents no connector.
        """
        loads: dict[str, list[TaskId]] = {member.id: [] for member in group.members}
        # Without workers the circle is empty, and nothing is assigned.
        circle = cycle(sorted(loads, key=utf16_key))
        for unit, worker in zip(_configured_tasks(group), circle, strict=False):
            loads[worker].append(unit)
        return _assignment(group, {worker: _as_sent(held) for worker, held in loads.items()})


class ConnectIncrementalAssignor:
    """Kafka Connect's default: moves little, and lets the tasks of a lost worker wait for it (KIP-415).

    Topics represent connectors as for "connect-eager". `Member.owned` has the connectors and tasks that a
    worker runs.

    Args:
        max_delay_ms: `scheduled.rebalance.max.delay.ms`.

    Raises:
        InvalidConfigError: `max_delay_ms` is negative.
    """

    name: ClassVar[str] = "connect-incremental"
    protocols: ClassVar[frozenset[RebalanceProtocol]] = frozenset()

    def __init__(self, max_delay_ms: int = 300_000) -> None:
        if max_delay_ms < 0:
            raise InvalidConfigError(f"max_delay_ms is {max_delay_ms}; give 0 or more milliseconds")
        self._max_delay_ms = max_delay_ms
        self._memory = ConnectMemory()
        self._now_ms = 1

    def assign(self, group: Group) -> Assignment:
        """Return the assignment of the next round, which takes place when the delay of the last one is over.

        Raises:
            InvalidGroupError: a topic "connector:..." represents no connector.
        """
        return self.assign_at(group, self._now_ms + self._memory.delay_ms).assignment

    def assign_at(self, group: Group, now_ms: int, generation: int | None = None) -> ConnectRound:
        """Return the leader's answer in a round at this time (`performTaskAssignment`).

        Args:
            group: the cluster. Its generation is the last one that the leader completed, as `Group.next` sets
                it.
            now_ms: the leader's clock, above 0.
            generation: the generation of this round; None for the one after the group's.

        Raises:
            InvalidGroupError: a topic "connector:..." represents no connector.
        """
        generation = group.generation + 1 if generation is None else generation
        self._now_ms = now_ms
        if not group.members:
            self._memory = replace(self._memory, previous_generation=generation)
            return ConnectRound(_assignment(group, {}), {}, 0)
        answer, self._memory = _Round(group, self._memory, now_ms, self._max_delay_ms, generation).run()
        return answer
