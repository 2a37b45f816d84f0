"""Moves tasks to processes in the racks of their partitions (KIP-925), as kafka-streams 4.4.0 does.

This holds for classic groups. A task costs `traffic_cost` for each of its partitions without a replica in the
rack of its process, and `non_overlap_cost` if it moves to another process. Processes exchange tasks, so each
process keeps its number of tasks.
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
"""(traffic cost, non-overlap cost): the cost of each partition in another rack, and of a task that moves."""

STATELESS: Costs = (1, 0)
"""The costs of a stateless task, whatever costs are configured."""
_STRATEGIES = ("none", "min_traffic", "balance_subtopology")


class RackAwareAssignor:
    """A strategy of Kafka Streams that can move tasks to the racks of their partitions.

    Args:
        rack_aware_assignment_strategy: `rack.aware.assignment.strategy`. "none" ignores racks. "min_traffic"
            and "balance_subtopology" move tasks to the racks of their partitions, if all processes and
            partitions have racks.
        rack_aware_assignment_traffic_cost: `rack.aware.assignment.traffic_cost`.
        rack_aware_assignment_non_overlap_cost: `rack.aware.assignment.non_overlap_cost`.

    Raises:
        InvalidConfigError: a setting that Kafka Streams refuses.
    """

    _default_costs: ClassVar[Costs | None] = None
    """The default costs. None: no task moves unless both costs are configured."""

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
    """An application whose processes can exchange tasks; each process keeps its number of tasks.

    Raises:
        InvalidGroupError: racks count, but a subtopology lacks the topics that its tasks read or the
            changelog topics of their state.
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
        """Return how many partitions of each task have no replica in the rack of each process.

        Args:
            topics_of: returns the topics of a subtopology whose partitions count.

        Returns:
            int64 of shape (tasks, processes); None if a process or a partition of these topics has no rack.
            Then no task is exchanged.
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
        """Exchange these active tasks between all processes at once (`optimizeActiveTasks`)."""
        if tasks and crossings is not None:
            sets = [self.processes[place].active for place in self.order]
            self._exchange(self.strategy, tasks, crossings[:, self.order], costs, sets)

    def exchange_standby_tasks(
        self,
        strategy: str,
        crossings: Crossings,
        can_move: Callable[[Process, Process, int], bool] = lambda *_: True,
    ) -> None:
        """Exchange standby tasks between pairs of processes in different racks (`optimizeStandbyTasks`).

        `can_move` returns whether a task may move from the first process to the second.
        """
        for _ in range(4):  # Kafka's `STANDBY_OPTIMIZER_MAX_ITERATION`
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
        """Exchange the tasks of these sets at the least cost; return whether any task moves.

        Args:
            strategy: the strategy for racks.
            tasks: the tasks that may move.
            crossings: how many partitions of each task are in other racks than the process of each set, of
                shape (all tasks, sets).
            costs: the two costs.
            sets: the tasks of each process; changed in place.
        """
        traffic, elsewhere = costs
        owners = {task: number for number, mine in enumerate(sets) for task in mine}
        before = [owners[task] for task in tasks]
        # At every process except its present one, a task also costs the move.
        cost = crossings[tasks] * traffic + elsewhere
        cost[np.arange(len(tasks)), before] -= elsewhere
        names = [self.tasks[task].topic for task in tasks]
        sizes = [len([*some]) for _, some in groupby(names)] if strategy == "balance_subtopology" else []
        # Java's costs are 32-bit integers. There can be several cheapest flows, and Java's must be found, so
        # the graph follows Java's algorithm step by step.
        after = _Graph(cost.astype(np.int32).tolist(), before, sizes).cheapest()
        for task, source, destination in zip(tasks, before, after, strict=True):
            sets[source].remove(task)
            sets[destination].add(task)
        return before != after


class _Graph:
    """Solves Java's `Graph`: a unit flows from the source through each task and a process to the sink.

    If `sizes` is given, there is one more layer of nodes between tasks and processes, with a node for each
    pair of a subtopology and a process. It limits how many tasks of a subtopology a process gets. Nodes are
    numbered in Java's order, and the source is node 0.

    Args:
        cost: the cost of each task at each process, a row for each task.
        owners: the process that has each task at the start.
        sizes: how many neighbouring tasks belong to each subtopology; empty for no such limit.
    """

    def __init__(self, cost: Sequence[Sequence[int]], owners: Sequence[int], sizes: Sequence[int]) -> None:
        tasks, processes = len(cost), len(cost[0])
        self._cost = cost
        self._quota = [owners.count(process) for process in range(processes)]
        groups = chain.from_iterable([group] * size for group, size in enumerate(sizes or [tasks]))
        self._first = [1 + tasks + group * processes for group in groups]
        """For each task, the node to which it flows if its process is the first one."""
        self._second = self._first[-1] + processes
        self._sink = self._second + (processes if sizes else 0)
        room = [math.ceil(quota / tasks * size) for size in sizes for quota in self._quota]
        self._room = dict(enumerate(room, 1 + tasks))
        self._at = [0 if sizes else first + owner for first, owner in zip(self._first, owners, strict=True)]
        """For each task, the node to which its unit flows; 0 as long as it does not flow."""

    def cheapest(self) -> list[int]:
        """Return the process of each task in the cheapest flow that Java finds."""
        while 0 in self._at:
            self._follow(self._shortest_way())
        while cycle := self._negative_cycle():
            self._follow(cycle)
        return [node - first for node, first in zip(self._at, self._first, strict=True)]

    def _follow(self, nodes: Sequence[int]) -> None:
        """Send one unit along this path."""
        for tail, head in pairwise(nodes):
            if 0 < tail <= len(self._at) < head:
                self._at[tail - 1] = head

    def _arcs(self) -> Mapping[int, list[tuple[int, int]]]:
        """Return the residual graph: for each node its (head, cost) arcs with room, in Java's order."""
        arcs: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for task, (at, first, cost) in enumerate(zip(self._at, self._first, self._cost, strict=True), 1):
            # A task has one unit. It waits at the source, or it has reached a process and can be taken back.
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
        """Return the shortest path from source to sink (Edmonds and Karp's algorithm)."""
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
        """Return the negative cycle that Java finds (Bellman and Ford's algorithm); empty if there is none.

        No arc of a layer begins where another arc of the layer ends. So one step for all arcs of a layer has
        the same effect as Java's steps, which take one arc each.
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
        # Paths without a cycle need no more rounds. If a distance still shrinks, there is a negative cycle.
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
    """Shorten the paths to the heads of these arcs in place; return whether any became shorter.

    Of equally short paths to a head, the first in Java's order counts.

    Args:
        layer: three rows: the tails, heads and costs of the arcs.
        distance: the length of the shortest path to each node so far.
        previous: the node before each node on that path.
    """
    tails, heads, costs = layer
    reach = distance[tails] + costs
    best = distance.copy()
    np.minimum.at(best, heads, reach)
    rows = np.flatnonzero((reach == best[heads]) & (reach < distance[heads]))[::-1]
    # If a head is in several rows, the last row counts, which is Java's first because rows are reversed.
    previous[heads[rows]] = tails[rows]
    distance[heads[rows]] = reach[rows]
    return len(rows) > 0
