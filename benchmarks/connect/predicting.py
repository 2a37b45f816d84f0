"""When each round of a cluster comes by `simulate`, and who runs what then by the rules of Connect."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from assignors import Group, Member, Topic, get_assignor
from assignors.connect import ConnectIncrementalAssignor
from benchmarks.connect.cells import CELLS, HEARTBEAT_MS, SESSION_MS
from copartition.simulation import Consumer, Costs, Crash, Join, Leave, Scenario, Settings, simulate
from partitioning.java.hash_map import HashSet
from partitioning.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from benchmarks.connect.cells import Cell
    from copartition.simulation import Event

Run = dict[str, Any]
Row = dict[str, Any]
Tasks = list[TopicPartition]

LATE_S = 0.1
"""How late a heartbeat is that was due before an event and had not arrived by then."""
SEARCH_S = 0.003
"""From a simulated consumer's start until its JoinGroup that counts arrives; a real one's is the second."""
COSTS = Costs(network_ms=2)
CLUSTERS = {cell.name: cell for cell in CELLS}


@dataclass(frozen=True, slots=True)
class Round:
    """A rebalance.

    Attributes:
        at: when the leader answered, in seconds since the window began; None: that is not predicted.
        runs: what each process runs afterwards.
        revoked: what each process has to stop, of those that have to stop something.
        delay_ms: after which time the workers ask for another one; 0: they do not.
    """

    at: float | None
    runs: dict[str, Tasks]
    revoked: dict[str, Tasks]
    delay_ms: int


def windows(run: Run) -> Iterator[tuple[list[tuple[float, str]], float, float]]:
    """What happens in each window, and from when to when it lasts."""
    starts = [window[0][0] for window in run["windows"]]
    for window, (start, end) in zip(run["windows"], pairwise([*starts, run["ends"]]), strict=True):
        yield [(at, what) for at, what in window], start, end


def measured_rounds(run: Run, start: float, end: float) -> list[Round]:
    """The rounds of a window as they were."""
    return [_round(row, start) for row in run["rounds"] if start <= row["at"] < end and row["counts"]]


def _round(row: Row, start: float) -> Round:
    revoked = _by_process(row, row["revoked"])
    return Round(
        row["at"] - start,
        _by_process(row, row["assigned"]),
        {process: tasks for process, tasks in revoked.items() if tasks},
        row["delay_ms"],
    )


class Leaders:
    """The leaders that a cluster had, each with what it remembers: a process forgets only as it ends."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._assignors: dict[str, Any] = {}
        self._completed: dict[str, int] = {}

    def answer(
        self,
        leader: str,
        generation: int,
        clock: float,
        topics: Sequence[Topic],
        members: Mapping[str, tuple[str, Tasks]],
        at: float | None,
        *,
        counts: bool = True,
    ) -> Round:
        """What the rule answers as this leader, which begins without memory.

        Args:
            leader: the process.
            generation: of the round.
            clock: the leader's, in seconds.
            topics: the connectors, as the rule has them.
            members: each process with its member id and what it runs.
            at: what the answer gives as its time.
            counts: whether the coordinator takes the answer.
        """
        group = Group(
            topics,
            [Member(member, [], owned=tasks) for member, tasks in members.values()],
            generation=self._completed.get(leader, -1),
        )
        assignor = self._assignors.setdefault(leader, self._new())
        process_of = {member: process for process, (member, _) in members.items()}
        if counts:
            self._completed.update(dict.fromkeys(members, generation))
        if not isinstance(assignor, ConnectIncrementalAssignor):
            runs = assignor.assign(group)
            return Round(at, {process_of[member]: list(runs[member]) for member in runs}, {}, 0)
        told = assignor.assign_at(group, 1 + round(1000 * clock), generation)
        return Round(
            at,
            {process_of[member]: list(told.assignment[member]) for member in told.assignment},
            {process_of[member]: list(told.revoked[member]) for member in told.revoked},
            told.delay_ms,
        )

    def note(self, processes: Iterable[str], generation: int) -> None:
        """A generation was completed in which nothing was assigned."""
        self._completed.update(dict.fromkeys(processes, generation))

    def _new(self) -> Any:
        if self._cell.protocol == "eager":
            return get_assignor("connect-eager")
        return ConnectIncrementalAssignor(max_delay_ms=self._cell.delay_ms)


def answers_of_leaders(run: Run) -> Iterator[tuple[Round, Round, float]]:
    """What our rule answers as the leader of each generation, from what that leader got.

    With each pair comes how far apart the two delays may be, in ms: what is left of a delay depends on when
    the leader computes, which is between what it got and when its answer arrives.
    """
    leaders = Leaders(CLUSTERS[run["cell"]])
    apart_ms = 1.0
    for row in run["rounds"]:
        said = _answer_of_leader(run, leaders, row)
        if said is None:
            continue
        apart_ms += 1000 * (row["at"] - row["told"])
        yield said, _round(row, 0.0), apart_ms
        apart_ms = apart_ms if row["delay_ms"] else 1.0


def before(run: Run, start: float) -> dict[str, Tasks]:
    """What each process runs when a window begins."""
    last = _earlier(run, start)[-1]
    return _by_process(last, last["assigned"])


def _earlier(run: Run, start: float) -> list[Row]:
    return [row for row in run["rounds"] if row["at"] < start]


def predicted_rounds(run: Run, window: list[tuple[float, str]], start: float, end: float) -> list[Round]:
    """The rounds of a window: when they come is what `simulate` says, who runs what is the rule's answer.

    Known are the cluster as it was when the window began, what was done, when a worker first spoke to the
    coordinator or told it that it leaves, and the member ids that were drawn.
    """
    leaders = Leaders(CLUSTERS[run["cell"]])
    earlier = _earlier(run, start)
    last = earlier[-1]
    for row in earlier:
        answer = _answer_of_leader(run, leaders, row)
    runs = answer.runs if answer else {}  # in the order in which workers will report it
    ids = {process: member for row in run["rounds"] for member, process, _ in row["members"]}
    leader, generation = last["leader"], last["generation"]
    last_processes = [process for _, process, _ in last["members"]]
    to_come = _coming(run, window, start, end, last)
    rounds: list[Round] = []
    while to_come:
        at, processes, topics = to_come.pop(0)
        generation += 1
        if leader not in processes:
            leader = _next_leader([process for process in processes if process in last_processes], ids)
        last_processes = processes
        members = {process: (ids[process], runs.get(process, [])) for process in processes}
        rounds.append(leaders.answer(leader, generation, start + (at or 0.0), topics, members, at))
        runs = rounds[-1].runs
        if rounds[-1].revoked and not to_come:  # who has to stop something joins again
            to_come.append((None, processes, topics))
    return rounds


def _next_leader(processes: list[str], ids: Mapping[str, str]) -> str:
    """The process that the coordinator names as the leader leaves: the first in its `HashMap` of ids."""
    process_of = {ids[process]: process for process in processes}
    return process_of[next(iter(HashSet(list(process_of))))]


def _coming(
    run: Run, window: list[tuple[float, str]], start: float, end: float, last: Row
) -> list[tuple[float | None, list[str], list[Topic]]]:
    """When each round comes, who is in it, and which connectors there are then."""
    verb, _, subject = window[0][1].partition(" ")
    if verb in {"create", "delete"}:
        # All workers read of each change of the connectors at once; the simulator has no such event.
        processes = [process for _, process, _ in last["members"]]
        changes = [
            offset
            for offset, connector, _ in run["configs"]
            if connector == subject and offset >= last["config_offset"]
        ]
        return [(None, processes, _topics(run, offset + 1)) for offset in changes]
    topics = _topics(run, last["config_offset"])
    return [
        (rebalance.completed_ms / 1000, [worker.name for worker in rebalance.consumers.values()], topics)
        for rebalance in simulate(scenario_of(run, window, start, end, last)).rebalances
    ]


def scenario_of(run: Run, window: list[tuple[float, str]], start: float, end: float, last: Row) -> Scenario:
    """What happens in a window, to workers whose next heartbeats are known; the leader comes first."""
    cell = CLUSTERS[run["cell"]]
    ids = {process: member for row in run["rounds"] for member, process, _ in row["members"]}
    there = sorted((process for _, process, _ in last["members"]), key=lambda name: name != last["leader"])
    return Scenario(
        topics=(Topic("tasks", sum(map(len, last["assigned"].values()))),),
        consumers=[
            Consumer(
                process,
                client="connect",
                beat_ms=1000 * _next_beat(run, process, start, last["at"]),
                member_id=ids[process],
            )
            for process in there
        ],
        events=[_event(run, at - start, what, start, ids) for at, what in window],
        assignor="range" if cell.protocol == "eager" else "cooperative-sticky",
        settings=Settings(
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=HEARTBEAT_MS,
            scheduled_rebalance_max_delay_ms=cell.delay_ms,
        ),
        costs=COSTS,
        until_ms=1000 * (end - start),
    )


def _event(run: Run, at: float, what: str, start: float, ids: Mapping[str, str]) -> Event:
    verb, _, process = what.partition(" ")
    match verb:
        case "start":
            worker = Consumer(process, client="connect", member_id=ids.get(process))
            return Join(1000 * (run["joined"][process] - start - SEARCH_S), worker)
        case "leave":  # a worker stops what it runs before it says so
            return Leave(1000 * (run["left"][process] - start), process)
    return Crash(1000 * at, process)


def _next_beat(run: Run, process: str, start: float, assigned: float) -> float:
    """When a worker's next heartbeat is due: an interval after its last one, or after it was assigned."""
    last = max([assigned, *(beat for beat in run["beats"][process] if beat < start)])
    return max(last + HEARTBEAT_MS / 1000 - start, LATE_S)


def _answer_of_leader(run: Run, leaders: Leaders, row: Row) -> Round | None:
    """What our rule answers; None where the leader assigned nothing."""
    if not row["assigns"]:
        leaders.note([process for _, process, _ in row["members"]], row["generation"])
        return None
    members = {process: (member, _tasks(owned)) for member, process, owned in row["members"]}
    topics = _topics(run, row["config_offset"])
    # A leader computes between what it got and when its answer arrives: a delay begins no earlier than
    # the former, and where there is none any more, it was over by the latter.
    clock = row["told" if row["delay_ms"] else "at"]
    return leaders.answer(
        row["leader"], row["generation"], clock, topics, members, row["at"], counts=row["counts"]
    )


def _topics(run: Run, offset: int) -> list[Topic]:
    """The connectors that a leader knows that has read the config topic so far."""
    known = {connector: tasks for at, connector, tasks in run["configs"] if at < offset}
    return [Topic(connector, tasks) for connector, tasks in known.items() if tasks is not None]


def _by_process(row: Row, lists: dict[str, list[list[Any]]]) -> dict[str, Tasks]:
    return {process: _tasks(lists[member]) for member, process, _ in row["members"]}


def _tasks(saved: list[list[Any]]) -> Tasks:
    return [TopicPartition(*task) for task in saved]
