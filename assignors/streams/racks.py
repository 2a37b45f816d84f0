"""Tasks in the racks of their partitions (KIP-925), as kafka-streams 4.4.0 moves them in classic groups.

A task costs `traffic_cost` for each of its partitions without a replica in the rack of its process, and
`non_overlap_cost` where it was not before. Processes exchange tasks, so each keeps its number of them.
"""

import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, combinations, groupby, pairwise
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assignors.group import Topic
from assignors.streams.application import Application, Process
from assignors.streams.sticky import StreamsGroup, Subtopology
from partitioning.errors import InvalidConfigError, InvalidGroupError

Crossings: TypeAlias = NDArray[np.int64] | None
Costs: TypeAlias = Sequence[int]
"""(traffic cost, non-overlap cost): for each partition in another rack, and for a task that moves."""

STATELESS: Costs = (1, 0)
"""The costs of a stateless task, whatever is configured."""
_STRATEGIES = ("none", "min_traffic", "balance_subtopology")


class RackAwareAssignor:
    """A strategy of Kafka Streams that can move tasks to the racks of their partitions.

    Args:
        rack_aware_assignment_strategy: `rack.aware.assignment.strategy`: "none"; "min_traffic" or
            "balance_subtopology": tasks go to racks of their partitions, if all processes and partitions
            have some.
        rack_aware_assignment_traffic_cost: `rack.aware.assignment.traffic_cost`.
        rack_aware_assignment_non_overlap_cost: `rack.aware.assignment.non_overlap_cost`.

    Raises:
        InvalidConfigError: a setting that Kafka Streams refuses.
    """

    _default_costs: ClassVar[Costs | None] = None
    """The costs if none are configured; None: no task moves unless both are configured."""

    def __init__(
        self,
        *,
        rack_aware_assignment_strategy: str = "none",
        rack_aware_assignment_traffic_cost: int | None = None,
        rack_aware_assignment_non_overlap_cost: int | None = None,
    ) -> None:
        self._strategy = rack_aware_assignment_strategy
        if self._strategy not in _STRATEGIES:
            raise InvalidConfigError(
                f"rack_aware_assignment_strategy is {self._strategy!r}; give one of {', '.join(_STRATEGIES)}"
            )
        costs = [rack_aware_assignment_traffic_cost, rack_aware_assignment_non_overlap_cost]
        if not all(-(2**31) <= (cost or 0) < 2**31 for cost in costs):
            raise InvalidConfigError("give costs of rack_aware_assignment that are 32-bit integers")
        if self._default_costs is None and None in costs:
            self._strategy = "none"
        pairs = zip(costs, self._default_costs or STATELESS, strict=True)
        self._costs = [default if cost is None else cost for cost, default in pairs]


class RackAwareApplication(Application):
    """Adds exchanges of tasks between processes to an application; a process keeps its number of tasks.

    Raises:
        InvalidGroupError: where racks count, a subtopology without the topics that its tasks read, or write
            their state to.
    """

    def __init__(self, group: StreamsGroup, strategy: str, costs: Costs) -> None:
        super().__init__(group)
        self.strategy, self.costs = strategy, costs
        self.order: Sequence[int] = range(len(self.processes))
        """The places of processes in the order of Java's graph."""
        for subtopology in self.subtopologies if strategy != "none" else ():
            for name, topics in (
                ("source", subtopology.source_topics),
                ("changelog", subtopology.changelog_topics),
            ):
                most = max((topic.partitions for topic in topics), default=0)
                if most < subtopology.tasks and (subtopology.stateful or name == "source"):
                    raise InvalidGroupError(
                        f"subtopology {subtopology.id!r} has {subtopology.tasks} tasks; give {name}_topics "
                        "with as many partitions, whose racks decide"
                    )

    def crossings(self, topics_of: Callable[[Subtopology], Iterable[Topic]]) -> Crossings:
        """Return how many of a task's partitions have no replica in a process's rack: (tasks, processes).

        None if some process, or a partition of these topics, has no rack: then no task is exchanged.
        """
        if self.strategy == "none" or not all(process.racks[0] for process in self.processes):
            return None
        rows = []
        topics = {
            subtopology.id: {topic.name: topic for topic in topics_of(subtopology)}
            for subtopology in self.subtopologies
        }
        for name, number in self.tasks:
            partitions = [
                topic.racks[number] if topic.racks else ()
                for topic in topics[name].values()
                if number < topic.partitions
            ]
            if not all(partitions):
                return None
            rows.append(
                [sum(process.racks[0] not in some for some in partitions) for process in self.processes]
            )
        return np.array(rows, np.int64)

    def exchange_tasks(self, tasks: Sequence[int], crossings: Crossings, costs: Costs) -> None:
        """Move these tasks from process to process, all at once (`optimizeActiveTasks`)."""
        if tasks and crossings is not None:
            sets = [self.processes[place].active for place in self.order]
            self._exchange(self.strategy, tasks, crossings[:, self.order], costs, sets)

    def exchange_standby_tasks(
        self,
        strategy: str,
        crossings: Crossings,
        can_move: Callable[[Process, Process, int], bool] = lambda *_: True,
    ) -> None:
        """Exchange standby tasks between two processes in other racks at a time (`optimizeStandbyTasks`)."""
        for _ in range(4):  # `STANDBY_OPTIMIZER_MAX_ITERATION`
            moved = False
            for pair in combinations(self.order, 2):
                places = sorted(pair)
                one, other = (self.processes[place] for place in places)
                if crossings is None or one.racks[0] == other.racks[0]:
                    continue
                movable = [
                    [task for task in source.standby if not to.has(task) and can_move(source, to, task)]
                    for source, to in ((one, other), (other, one))
                ]
                if all(movable):
                    tasks, sets = sorted(chain(*movable)), [one.standby, other.standby]
                    moved |= self._exchange(strategy, tasks, crossings[:, places], self.costs, sets)
            if not moved:
                return

    def _exchange(
        self,
        strategy: str,
        tasks: Sequence[int],
        crossings: NDArray[np.int64],
        costs: Costs,
        sets: Sequence[set[int]],
    ) -> bool:
        """Give the tasks of these sets to the cheapest of the processes; return whether one moves."""
        traffic, elsewhere = costs
        owners = {task: number for number, mine in enumerate(sets) for task in mine}
        before = [owners[task] for task in tasks]
        # Everywhere but at its present process a task costs the move, too.
        cost = crossings[tasks] * traffic + elsewhere
        cost[np.arange(len(tasks)), before] -= elsewhere
        names = [self.tasks[task].topic for task in tasks]
        sizes = [len([*some]) for _, some in groupby(names)] if strategy == "balance_subtopology" else []
        # Java's costs are 32-bit integers.
        # Of several cheapest flows Java's own has to be found, so its algorithm is followed step by step.
        after = _Graph(cost.astype(np.int32).tolist(), before, sizes).cheapest()
        for task, source, destination in zip(tasks, before, after, strict=True):
            sets[source].remove(task)
            sets[destination].add(task)
        return before != after


class _Graph:
    """Solves Java's `Graph`: one unit for each task, from a source to the task, to a process and to a sink.

    With `sizes`, how many tasks in a row are of each subtopology, a task goes to a node that stands for its
    subtopology and a process, of which only so many go on to the node of the process. Nodes are numbered in
    Java's order, the source is 0.
    """

    def __init__(self, cost: Sequence[Sequence[int]], owners: Sequence[int], sizes: Sequence[int]) -> None:
        tasks, processes = len(cost), len(cost[0])
        self._cost = cost
        self._quota = [owners.count(process) for process in range(processes)]
        groups = chain.from_iterable([group] * size for group, size in enumerate(sizes or [tasks]))
        self._first = [1 + tasks + group * processes for group in groups]
        """The node that each task goes to if its process is the first."""
        self._second = self._first[-1] + processes
        self._sink = self._second + (processes if sizes else 0)
        room = [math.ceil(quota / tasks * size) for size in sizes for quota in self._quota]
        self._room = dict(enumerate(room, 1 + tasks))
        self._at = [0 if sizes else first + owner for first, owner in zip(self._first, owners, strict=True)]
        """The node after each task, 0 as long as there is none."""

    def cheapest(self) -> list[int]:
        """Return the process of each task in the flow that Java ends with."""
        while 0 in self._at:
            self._follow(self._shortest_way())
        while cycle := self._negative_cycle():
            self._follow(cycle)
        return [node - first for node, first in zip(self._at, self._first, strict=True)]

    def _follow(self, nodes: Sequence[int]) -> None:
        """Send one unit along this way."""
        for tail, head in pairwise(nodes):
            if 0 < tail <= len(self._at) < head:
                self._at[tail - 1] = head

    def _arcs(self) -> Mapping[int, list[tuple[int, int]]]:
        """Return the residual graph: by node the arcs that have room, with head and cost, in Java's order."""
        arcs: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for task, (at, first, cost) in enumerate(zip(self._at, self._first, self._cost, strict=True), 1):
            # A task has one unit: it waits at the source, or it has come to a process and can be sent back.
            arcs[task if at else 0].append((0 if at else task, 0))
            arcs[task] += [
                (node, process_cost) for node, process_cost in enumerate(cost, first) if node != at
            ]
            if at:
                arcs[at].append((task, -cost[at - first]))
        loads = Counter(at - first for at, first in zip(self._at, self._first, strict=True) if at)
        for node, room in self._room.items():
            process = (node - self._second) % len(self._quota)
            tasks = len(arcs[node])
            if tasks < room:
                arcs[node].append((self._second + process, 0))
            if tasks:
                arcs[self._second + process].append((node, 0))
        for process, quota in enumerate(self._quota):
            if loads[process] < quota:
                arcs[self._second + process].append((self._sink, 0))
        return arcs

    def _shortest_way(self) -> list[int]:
        """Return the shortest way from source to sink (Edmonds and Karp's algorithm)."""
        arcs = self._arcs()
        ways = {0: [0]}
        queue = deque(ways)
        while self._sink not in ways:
            node = queue.popleft()
            for head, _ in arcs[node]:
                if head not in ways:
                    ways[head] = [*ways[node], head]
                    queue.append(head)
        return ways[self._sink]

    def _negative_cycle(self) -> list[int]:
        """Return the cycle that Java comes upon: Bellman and Ford's algorithm, for one round too long.

        In a layer of nodes no head is a tail, so one step for all its arcs does what Java does one by one.
        """
        arcs = self._arcs()
        layers = [
            np.array([(tail, head, cost) for tail in range(*nodes) for head, cost in arcs[tail]]).T
            for nodes in pairwise((1, 1 + len(self._at), self._second, self._sink))
            if range(*nodes)
        ]
        distance, previous = np.zeros((2, self._sink + 1), np.int64)
        for _ in range(self._sink + 1):
            shortened = [_shorten(layer, distance, previous) for layer in layers]
            if not any(shortened):
                return []
        # So many rounds are enough for every way without a cycle.
        tails, heads, costs = np.concatenate(layers, axis=1)
        late = np.flatnonzero(distance[tails] + costs < distance[heads])
        node = int(heads[late[0]])
        previous[node] = tails[late[0]]
        for _ in previous:
            node = int(previous[node])
        cycle = [node, int(previous[node])]
        while cycle[-1] != node:
            cycle.append(int(previous[cycle[-1]]))
        return cycle[::-1]


def _shorten(layer: NDArray[np.int64], distance: NDArray[np.int64], previous: NDArray[np.int64]) -> bool:
    """Shorten the ways to the heads of these arcs in place; return whether one became shorter.

    `layer` has rows for tails, heads and costs; `distance` and `previous` have a value for each node. Of
    equal ways to a head the first in Java's order counts.
    """
    tails, heads, costs = layer
    reach = distance[tails] + costs
    best = distance.copy()
    np.minimum.at(best, heads, reach)
    rows = np.flatnonzero((reach == best[heads]) & (reach < distance[heads]))[::-1]
    # Where a head is in several rows, the last one stays, which is Java's first.
    previous[heads[rows]] = tails[rows]
    distance[heads[rows]] = reach[rows]
    return len(rows) > 0
