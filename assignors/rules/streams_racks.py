"""Tasks in the racks of their partitions (KIP-925), as kafka-streams 4.3.1 moves them in classic groups.

A task costs `rack.aware.assignment.traffic_cost` for each of its partitions that no replica has in the rack of
its process, and `rack.aware.assignment.non_overlap_cost` where it was not before. Processes exchange tasks
until no exchange costs less, so each keeps its number of them.
"""

import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, combinations, groupby, pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assignors.group import Topic
from assignors.rules.streams_application import Application, Process
from assignors.rules.streams_sticky import Subtopology
from partitioning.errors import InvalidConfigError, InvalidGroupError

_STRATEGIES = ("none", "min_traffic", "balance_subtopology")
_INT = 2**31
_STANDBY_ROUNDS = 4
"""`STANDBY_OPTIMIZER_MAX_ITERATION`."""

STATELESS = (1, 0)
"""What the traffic and another place of a stateless task cost, whatever is configured."""

Crossings: TypeAlias = NDArray[np.int64] | None


class RackSettings(NamedTuple):
    """`rack.aware.assignment.strategy`, `.traffic_cost` and `.non_overlap_cost`; None: not configured."""

    strategy: str = "none"
    traffic_cost: int | None = None
    non_overlap_cost: int | None = None

    def check(self) -> "RackSettings":
        """These settings, if Kafka Streams accepts them.

        Raises:
            InvalidConfigError: it does not.
        """
        if self.strategy not in _STRATEGIES:
            raise InvalidConfigError(
                f"rack_aware_assignment_strategy is {self.strategy!r}; give one of {', '.join(_STRATEGIES)}"
            )
        for name, cost in self._asdict().items():
            if isinstance(cost, int) and not -_INT <= cost < _INT:
                raise InvalidConfigError(f"rack_aware_assignment_{name} is {cost}; give a 32-bit integer")
        return self


class Exchange:
    """What processes of an application exchange with each other.

    Args:
        application: its tasks and processes.
        strategy: "none", "min_traffic", or "balance_subtopology", by which a process also keeps about its
            share of each subtopology.
        order: the places of processes in the order of Java's graph.

    Raises:
        InvalidGroupError: a subtopology without the topics that its tasks read, or write their state to.
    """

    def __init__(self, application: Application, strategy: str, order: Sequence[int]) -> None:
        self._tasks = application.tasks
        self._subtopologies = application.subtopologies
        self._processes = application.processes
        self._order = order
        self._is_balanced = strategy == "balance_subtopology"
        self._is_enabled = strategy != "none"
        for each in self._subtopologies if self._is_enabled else ():
            for name, topics in ("source", each.source_topics), ("changelog", each.changelog_topics):
                most = max((topic.partitions for topic in topics), default=0)
                if most < each.tasks and (each.stateful or name == "source"):
                    raise InvalidGroupError(
                        f"subtopology {each.id!r} has {each.tasks} tasks; give {name}_topics with as many "
                        "partitions, whose racks decide"
                    )

    def crossings(self, topics_of: Callable[[Subtopology], Iterable[Topic]]) -> Crossings:
        """How many partitions of a task have no replica in the rack of a process: of shape (tasks, processes).

        None where a process, or any partition of these topics, has no rack, so that nothing is exchanged.
        """
        if not self._is_enabled or not all(each.racks[0] for each in self._processes):
            return None
        rows = []
        topics = {each.id: {topic.name: topic for topic in topics_of(each)} for each in self._subtopologies}
        for task in self._tasks:
            partitions = [
                topic.racks[task.partition] if topic.racks else ()
                for topic in topics[task.topic].values()
                if task.partition < topic.partitions
            ]
            if not all(partitions):
                return None
            rows.append([sum(each.racks[0] not in some for some in partitions) for each in self._processes])
        return np.array(rows, np.int64)

    def active(self, tasks: Sequence[int], crossings: Crossings, costs: tuple[int, int]) -> None:
        """These tasks go from process to process, all at once (`optimizeActiveTasks`)."""
        if tasks and crossings is not None:
            sets = [self._processes[place].active for place in self._order]
            self._exchange(tasks, self._order, sets, crossings, costs, is_balanced=self._is_balanced)

    def standby(
        self,
        crossings: Crossings,
        costs: tuple[int, int],
        can_move: Callable[[Process, Process, int], bool] = lambda *_: True,
        *,
        is_balanced: bool = False,
    ) -> None:
        """Two processes in other racks at a time exchange standby tasks, in some rounds.

        `is_balanced`: by "balance_subtopology" if that is the strategy, otherwise by "min_traffic" always.
        """
        is_balanced &= self._is_balanced
        moved = crossings is not None
        for _ in range(_STANDBY_ROUNDS):
            if crossings is None or not moved:
                return
            moved = False
            for pair in combinations(self._order, 2):
                places = sorted(pair)
                one, other = (self._processes[place] for place in places)
                if one.racks[0] == other.racks[0]:
                    continue
                movable = [
                    [task for task in source.standby if not to.has(task) and can_move(source, to, task)]
                    for source, to in ((one, other), (other, one))
                ]
                if all(movable):
                    tasks = sorted(movable[0] + movable[1])
                    sets = [one.standby, other.standby]
                    moved |= self._exchange(tasks, places, sets, crossings, costs, is_balanced=is_balanced)

    def _exchange(
        self,
        tasks: Sequence[int],
        places: Sequence[int],
        sets: Sequence[set[int]],
        crossings: NDArray[np.int64],
        costs: tuple[int, int],
        *,
        is_balanced: bool,
    ) -> bool:
        """The cheapest of all ways to place these tasks; whether one moves."""
        traffic, elsewhere = costs
        owners = {task: number for number, mine in enumerate(sets) for task in mine}
        before = [owners[task] for task in tasks]
        cost = crossings[np.ix_(tasks, places)] * traffic + elsewhere
        cost[np.arange(len(tasks)), before] -= elsewhere
        names = [self._tasks[task].topic for task in tasks]
        sizes = [len([*some]) for _, some in groupby(names)] if is_balanced else []
        # Java's costs are 32-bit integers.
        after = _Graph(cost.astype(np.int32).tolist(), before, sizes).cheapest()
        for task, source, destination in zip(tasks, before, after, strict=True):
            sets[source].remove(task)
            sets[destination].add(task)
        return before != after


class _Graph:
    """Java's `Graph`: one unit for each task, from a source to the task, to a process and to a sink.

    With `sizes`, how many tasks in a row are of each subtopology, a task goes to a node that stands for its
    subtopology and a process, of which only so many go on to the node of the process. Nodes are numbered in
    Java's order, the source is 0.
    """

    def __init__(self, cost: Sequence[Sequence[int]], owners: Sequence[int], sizes: Sequence[int]) -> None:
        tasks, processes = len(cost), len(cost[0])
        self._cost = cost
        self._quota = [owners.count(process) for process in range(processes)]
        groups = np.repeat(np.arange(len(sizes)), sizes).tolist() if sizes else [0] * tasks
        self._first = [1 + tasks + group * processes for group in groups]
        """The node that each task goes to if its process is the first."""
        self._second = self._first[-1] + processes
        self._sink = self._second + (processes if sizes else 0)
        self._room: dict[int, int] = {}
        self._at = [first + owner for first, owner in zip(self._first, owners, strict=True)]
        """The node after each task, 0 as long as it has none."""
        if sizes:
            room = [math.ceil(quota / tasks * size) for size in sizes for quota in self._quota]
            self._room = dict(enumerate(room, 1 + tasks))
            self._fill()

    def cheapest(self) -> list[int]:
        """The process of each task in the flow that Java ends with."""
        while cycle := self._negative_cycle():
            self._follow(cycle)
        return [node - first for node, first in zip(self._at, self._first, strict=True)]

    def _fill(self) -> None:
        """The greatest flow as Edmonds and Karp's algorithm makes it: by shortest ways, of these the first.

        Those without a detour are taken one after the other; a search for each of the others.
        """
        room, quota = dict(self._room), list(self._quota)
        for task, first in enumerate(self._first):
            fits = (each for each, left in enumerate(quota) if left and room[first + each])
            process = next(fits, None)
            self._at[task] = 0
            if process is not None:
                self._at[task] = first + process
                room[first + process] -= 1
                quota[process] -= 1
        while 0 in self._at:
            arcs = self._arcs()
            ways = {0: [0]}
            queue = deque(ways)
            while self._sink not in ways:
                node = queue.popleft()
                for head, _ in arcs[node]:
                    if head not in ways:
                        ways[head] = [*ways[node], head]
                        queue.append(head)
            self._follow(ways[self._sink])

    def _follow(self, nodes: Sequence[int]) -> None:
        """One unit on this way."""
        for tail, head in pairwise(nodes):
            if 0 < tail <= len(self._at) < head:
                self._at[tail - 1] = head

    def _arcs(self) -> Mapping[int, list[tuple[int, int]]]:
        """The residual graph: by node the arcs that have room, with head and cost, in Java's order."""
        arcs: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for task, (at, first, cost) in enumerate(zip(self._at, self._first, self._cost, strict=True), 1):
            arcs[task if at else 0].append((0 if at else task, 0))
            arcs[task] += [(node, each) for node, each in enumerate(cost, first) if node != at]
            if at:
                arcs[at].append((task, -cost[at - first]))
        loads: Counter[int] = Counter()
        for node, room in self._room.items():
            process = (node - self._second) % len(self._quota)
            tasks = len(arcs[node])
            loads[process] += tasks
            if tasks < room:
                arcs[node].append((self._second + process, 0))
            if tasks:
                arcs[self._second + process].append((node, 0))
        for process, quota in enumerate(self._quota if self._room else ()):
            if loads[process] < quota:
                arcs[self._second + process].append((self._sink, 0))
        return arcs

    def _negative_cycle(self) -> list[int]:
        """The cycle that Java comes upon: Bellman and Ford's algorithm, for one round too long.

        No node comes before itself in these layers of nodes, so Java's order within one does not count.
        """
        arcs = self._arcs()
        bounds = (1, 1 + len(self._at), self._second, self._sink)
        layers = [
            [(tail, head, cost) for tail in range(*nodes) for head, cost in arcs[tail]]
            for nodes in pairwise(bounds)
        ]
        steps = [_Layer(layer) for layer in layers if layer]
        distance, previous = np.zeros((2, self._sink + 1), np.int64)
        for _ in range(self._sink + 1):
            if not any([step.shorten(distance, previous) for step in steps]):
                return []
        late = (
            (tail, head)
            for tail, head, cost in chain.from_iterable(layers)
            if distance[tail] + cost < distance[head]
        )
        if (arc := next(late, None)) is None:
            return []
        node = arc[1]
        previous[node] = arc[0]
        visited = set()
        while node not in visited:
            visited.add(node)
            node = int(previous[node])
        cycle = [node]
        while len(cycle) == 1 or cycle[-1] != node:
            cycle.append(int(previous[cycle[-1]]))
        return cycle[::-1]


class _Layer:
    """Arcs of which no head is a tail."""

    def __init__(self, arcs: Sequence[tuple[int, int, int]]) -> None:
        tails, heads, costs = np.array(arcs, np.int64).T
        order = np.argsort(heads, kind="stable")
        self._tails, self._costs = tails[order], costs[order]
        self._heads, self._starts, self._counts = np.unique(
            heads[order], return_index=True, return_counts=True
        )
        self._places = np.arange(len(arcs))

    def shorten(self, distance: NDArray[np.int64], previous: NDArray[np.int64]) -> bool:
        """Shorter ways to heads, each by the first of its best arcs; whether there is one."""
        reach = distance[self._tails] + self._costs
        best = np.minimum.reduceat(reach, self._starts)
        is_better = best < distance[self._heads]
        if not is_better.any():
            return False
        places = np.where(reach == best.repeat(self._counts), self._places, len(reach))
        heads = self._heads[is_better]
        distance[heads] = best[is_better]
        previous[heads] = self._tails[np.minimum.reduceat(places, self._starts)[is_better]]
        return True
