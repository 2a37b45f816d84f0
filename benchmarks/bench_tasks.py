"""The assignors of share groups, Connect and Kafka Streams against the warm JVM, with 10,000 tasks each.

Their rows are in the table of `bench_assignors.py`, which says how to read them.
"""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from assignors import Group, Member, Topic, get_assignor
from assignors.answers import numbers_by_topic
from assignors.share import SimpleAssignor
from assignors.streams.classic_sticky import StreamsClassicStickyAssignor
from assignors.streams.high_availability import StreamsHighAvailabilityAssignor
from assignors.streams.sticky import StreamsStickyAssignor
from benchmarks.bench_assignors import EVENTS, Jvm, Table, table  # noqa: F401 - a fixture
from tests.support.oracle import Oracle
from tests.support.tasks import (
    application_difference,
    classic_sticky_difference,
    connect_difference,
    streams_application,
    streams_difference,
    streams_group,
)
from tests.support.workloads import Workload, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from assignors import PartitionList

Json = dict[str, Any]
WARM_UP = 20
MEMBERS = [100, 1000]
TASKS = 10_000
GROUPS = 100
"""Topics, or connectors."""
SUBTOPOLOGIES = 10
STANDBYS = 1


@pytest.fixture(scope="module")
def task_oracle() -> Iterator[Oracle]:
    with Oracle("-Xmx4g", main=("tasks", "TaskOracle"), timeout=900) as oracle:
        yield oracle


class RepeatedRequest:
    """The JVM's assignor on a request that the oracle repeats; its last answer is kept."""

    name = "the JVM"

    def __init__(self, oracle: Oracle, op: str, request: Json, warm_up: int = WARM_UP) -> None:
        self._oracle, self._op, self._request = oracle, op, request
        self.answer = self._ask(warm_up)

    def turn(self, rounds: int) -> list[float]:
        """So many rounds, in ms."""
        self.answer = self._ask(rounds)
        times: list[float] = self.answer["ms"]
        return times

    def _ask(self, rounds: int) -> Json:
        return self._oracle.ask(self._op, rounds=rounds, **self._request)


def ms(call: Callable[[], object]) -> float:
    """The CPU time of a call."""
    start = time.thread_time()
    call()
    return (time.thread_time() - start) * 1e3


def cell(members: int, groups: int = GROUPS) -> str:
    """As the table names it."""
    return f"{members}/{TASKS // members}/{groups}"


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("members", MEMBERS)
def test_share_groups(benchmark, table: Table, members: int, event: Any):  # noqa: F811 - the fixture
    workload = Workload(members, TASKS // members, GROUPS, event)
    group = before = workload.before()
    if event != "full":
        lists = SimpleAssignor().assign(before)
        carried = [
            Member(member.id, member.topics, owned=lists[member.id])
            for member in before.members
            if event == "join" or member.id != "member0"
        ]
        new = [Member("newMember", before.members[0].topics)] if event == "join" else []
        group = Group(before.topics, [*carried, *new])
    rival = Jvm(table.oracle, "simple", workload)
    table.run(
        benchmark,
        ("simple", cell(members), event),
        lambda: ms(lambda: SimpleAssignor().assign(group)),
        rival,
    )
    assert rival.answers == {digest(group, SimpleAssignor().assign(group))}  # type: ignore[arg-type]


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("workers", MEMBERS)
@pytest.mark.parametrize("name", ["connect-eager", "connect-incremental"])
def test_connect(benchmark, table: Table, task_oracle: Oracle, name: str, workers: int, event: str):  # noqa: F811
    ids = [f"worker-{number}" for number in range(workers)]
    cluster = {
        "connectors": {f"connector-{number}": TASKS // GROUPS for number in range(GROUPS)},
        "leader": ids[1],
    }
    lives = {
        "full": [ids],
        "join": [ids[:-1], ids],
        "leave": [ids, ids[1:]],
    }
    steps = [{"at": 1_000, **cluster, "members": members} for members in lives[event]]
    rival = RepeatedRequest(task_oracle, "connect", {"assignor": name, "max_delay_ms": 0, "steps": steps})

    def our_round() -> float:
        leader = get_assignor(name) if name == "connect-eager" else get_assignor(name, max_delay_ms=0)
        topics = [Topic(connector, tasks) for connector, tasks in cluster["connectors"].items()]
        group = Group(topics, [Member(worker, []) for worker in lives[event][0]])
        if len(lives[event]) > 1:
            group = group.next(
                leader.assign(group),
                join=[Member(worker, []) for worker in lives[event][1] if worker not in lives[event][0]],
                leave=[worker for worker in lives[event][0] if worker not in lives[event][1]],
            )
        return ms(lambda: leader.assign(group))

    table.run(benchmark, (name, cell(workers), event), our_round, rival)
    answered = [{**step, **answer} for step, answer in zip(steps, rival.answer["steps"], strict=True)]
    assert connect_difference(name, {"name": event, "max_delay_ms": 0, "steps": answered}) is None


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("members", MEMBERS)
def test_streams_groups(benchmark, table: Table, members: int, event: str):  # noqa: F811
    everybody = [
        {"id": f"{process}-{thread}", "process": process}
        for process in processes(members // 2)
        for thread in range(2)
    ]
    step: Json = {"standbys": STANDBYS, "subtopologies": subtopologies(), "members": everybody}
    if event != "full":
        step["members"] = everybody[:-1] if event == "join" else everybody
        carried = [
            {**of, "active": active, "standby": standby}
            for of, (_, active, standby) in zip(
                sorted(step["members"], key=lambda of: of["id"]),
                table.oracle.ask("streams", **step)["assignment"],
                strict=True,
            )
        ]
        step["members"] = [*carried, everybody[-1]] if event == "join" else carried[1:]
    rival = RepeatedRequest(table.oracle, "streams", step)
    group = streams_group(step)
    table.run(
        benchmark,
        ("streams-sticky", cell(members, SUBTOPOLOGIES), event),
        lambda: ms(lambda: StreamsStickyAssignor().assign(group)),
        rival,
    )
    assert streams_difference({"name": event, "steps": [{**step, **rival.answer}]}) is None


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("members", MEMBERS)
def test_streams_applications(benchmark, table: Table, task_oracle: Oracle, members: int, event: str):  # noqa: F811
    settings = {"standbys": STANDBYS, "warmups": 2, "lag": 10_000, "tags": []}
    ids = processes(members // 2)
    end = 1_000_000
    step: Json = {
        "subtopologies": subtopologies(),
        "ends": [
            [subtopology["id"], *(number for task in range(subtopology["tasks"]) for number in (task, end))]
            for subtopology in subtopologies()
        ],
        "processes": [{"id": process, "threads": 2} for process in ids],
    }
    if event != "full":
        everybody = step["processes"]
        step["processes"] = everybody[:-1] if event == "join" else everybody
        answer = task_oracle.ask("streams", settings=settings, **step)["assignment"]
        carried = [
            {"id": process, "threads": 2, "offsets": offsets(active, standby, end)}
            for process, active, standby in answer
        ]
        step["processes"] = [*carried, everybody[-1]] if event == "join" else carried[1:]
    rival = RepeatedRequest(task_oracle, "streams", {"settings": settings, **step})
    group = streams_application(settings, step)
    table.run(
        benchmark,
        ("streams-high-availability", cell(members, SUBTOPOLOGIES), event),
        lambda: ms(
            lambda: StreamsHighAvailabilityAssignor(
                max_warmup_replicas=2, acceptable_recovery_lag=10_000, rack_aware_assignment_tags=[]
            ).assign(group)
        ),
        rival,
    )
    steps = [{**step, **rival.answer}]
    assert application_difference({"name": event, "settings": settings, "steps": steps}) is None


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("members", MEMBERS)
def test_classic_sticky_applications(benchmark, table: Table, task_oracle: Oracle, members: int, event: str):  # noqa: F811
    settings = {"standbys": STANDBYS}
    everybody: list[Json] = [{"id": process, "threads": 2} for process in processes(members // 2)]
    # Stateful tasks get standby tasks by subtopology and number, as without `standby_order`.
    step: Json = {"subtopologies": subtopologies(), "processes": everybody, "ranks": [1, 0]}
    if event != "full":
        step["processes"] = everybody[:-1] if event == "join" else everybody
        answer = StreamsClassicStickyAssignor().assign(streams_application(settings, step))
        carried = [
            {
                "id": process["id"],
                "threads": 2,
                "offsets": offsets(*map(runs, (active, standby)), end=1_000_000),
            }
            for process in step["processes"]
            for active, standby in [(answer.active[process["id"]], answer.standby[process["id"]])]
        ]
        step["processes"] = [*carried, everybody[-1]] if event == "join" else carried[1:]
    rival = RepeatedRequest(
        task_oracle, "sticky", {"settings": settings, **step}, warm_up=1
    )  # a round takes 20 s
    group = streams_application(settings, step)
    table.run(
        benchmark,
        ("streams-classic-sticky", cell(members, SUBTOPOLOGIES), event),
        lambda: ms(lambda: StreamsClassicStickyAssignor().assign(group)),
        rival,
    )
    steps = [{**step, **rival.answer}]
    assert classic_sticky_difference({"name": event, "settings": settings, "steps": steps}) is None


def runs(tasks: PartitionList) -> list[list[Any]]:
    """The numbers of a process's tasks behind the id of their subtopology."""
    return [[name, *numbers] for name, numbers in numbers_by_topic(tasks)]


def processes(count: int) -> list[str]:
    """Ids of so many processes, each of which has two threads."""
    return [
        str(uuid.UUID(int=0x9E3779B97F4A7C15F39CC0605CEDC835 * (1 + number) % 2**128))
        for number in range(count)
    ]


def subtopologies() -> list[Json]:
    """Those of an application, with state, that have all tasks."""
    return [
        {"id": str(number), "tasks": TASKS // SUBTOPOLOGIES, "stateful": True}
        for number in range(SUBTOPOLOGIES)
    ]


def offsets(active: list[list[Any]], standby: list[list[Any]], end: int) -> list[list[Any]]:
    """What a process reports of its tasks: those that it runs, and those whose state it keeps up to date."""
    return [
        [name, *(number for task in tasks for number in (task, offset))]
        for runs, offset in ((active, -2), (standby, end))
        for name, *tasks in runs
    ]
