"""What the JVM's task assignors answered, as committed under `tests/golden/tasks`, and whether ours agree."""

from __future__ import annotations

from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assignors import Group, Member, Topic, get_assignor
from assignors.share import SimpleAssignor
from assignors.streams.classic_sticky import StreamsClassicStickyAssignor
from assignors.streams.high_availability import StreamsHighAvailabilityAssignor
from assignors.streams.sticky import StreamsGroup, StreamsMember, StreamsStickyAssignor, Subtopology
from partitioning.errors import AssignorError
from partitioning.topic_partition import TopicPartition
from tests.support import golden
from tests.support.agreement import Difference, differing, first_difference, told_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from assignors import ProcessAssignment

Json = dict[str, Any]

_RUNNING = -2
"""The offset sum of a task that its process runs."""

GOLDEN = Path(__file__).parents[1] / "golden" / "tasks"

golden_lines = partial(golden.golden_lines, folder=GOLDEN)
"""The lines of one golden file of tasks, as `tests.support.golden.golden_lines` gives them."""


def connect_difference(assignor: str, life: Json) -> Difference | None:
    """Where our Connect assignor first answers differently from the JVM's; None if it never does."""
    leader: Any = None
    for number, step in enumerate(life["steps"]):
        if leader is None or step.get("new_leader"):
            config = {} if assignor == "connect-eager" else {"max_delay_ms": life["max_delay_ms"]}
            leader = get_assignor(assignor, **config)
        group = Group(
            [Topic(name, tasks) for name, tasks in step["connectors"].items()],
            [Member(about["id"], [], owned=_tasks(about.get("owned", ()))) for about in step["members"]],
            generation=step["completed"],
        )
        theirs: dict[str, Any] = _lists(step["assignment"])
        if assignor == "connect-eager":
            ours: dict[str, Any] = {worker: list(mine) for worker, mine in leader.assign(group).items()}
        else:
            told = leader.assign_at(group, step["at"], step["generation"])
            ours = {
                **{worker: list(mine) for worker, mine in told.assignment.items()},
                **{f"{worker} revokes": list(some) for worker, some in told.revoked.items()},
                "delay_ms": told.delay_ms,
            }
            revoked = {f"{worker} revokes": some for worker, some in _lists(step.get("revoked", ())).items()}
            theirs |= {**revoked, "delay_ms": step["delay_ms"]}
        if answers := differing(theirs, ours):
            return Difference(f"{assignor}, {life['name']}", number, told_of(step), answers)
    return None


def share_difference(scenario: Json) -> Difference | None:
    """Where our assignor of share groups first differs from the JVM's; None if it never does."""
    return first_difference("simple", scenario, lambda _: SimpleAssignor())


def streams_group(step: Json) -> StreamsGroup:
    """The streams group of one step."""
    members = [
        StreamsMember(
            about["id"],
            about["process"],
            active=_tasks(about.get("active", ())),
            standby=_tasks(about.get("standby", ())),
            offsets={TopicPartition(name, task): offset for name, task, offset in about.get("offsets", ())},
        )
        for about in step["members"]
    ]
    subtopologies = [Subtopology(**about) for about in step["subtopologies"]]
    return StreamsGroup(subtopologies, members, standby_replicas=step["standbys"])


def streams_difference(life: Json) -> Difference | None:
    """Where our "sticky" of streams groups first differs from the JVM's; None if it never does."""
    for number, step in enumerate(life["steps"]):
        found = StreamsStickyAssignor().assign(streams_group(step))
        theirs, ours = dict[str, Any](), dict[str, Any]()
        for member, active, standby in step["assignment"]:
            theirs |= {member: sorted(_tasks(active)), f"{member} stands by": sorted(_tasks(standby))}
        for member in found.active:
            ours |= {member: list(found.active[member]), f"{member} stands by": list(found.standby[member])}
        if answers := differing(theirs, ours):
            return Difference(f"streams sticky, {life['name']}", number, told_of(step), answers)
    return None


def streams_application(settings: Json, step: Json) -> StreamsGroup:
    """The classic group of a Kafka Streams application in one step: the first two threads report for all."""
    members = []
    for about in step["processes"]:
        reports = chain([about, about.get("second", {})], repeat({}))
        for thread, report in zip(range(about["threads"]), reports, strict=False):
            offsets = _offsets(report.get("offsets", ()))
            active = _tasks(report.get("active", ()))
            if "ends" in step:
                active += [task for task, offset in offsets.items() if offset == _RUNNING]
                offsets = {task: offset for task, offset in offsets.items() if offset != _RUNNING}
            members.append(
                StreamsMember(
                    f"{about['id']}-{thread}",
                    about["id"],
                    active=active,
                    offsets=offsets,
                    tags=about.get("tags", {}),
                    rack={**about, **report}.get("rack"),
                )
            )
    subtopologies = []
    for about in step["subtopologies"]:
        sources, changelogs = (
            [
                Topic(f"{kind}-{about['id']}-{number}", len(racks), [set(some) for some in racks])
                if isinstance(racks, list)
                else racks
                for number, racks in enumerate(about.get(kind, ()))
            ]
            for kind in ("sources", "changelogs")
        )
        subtopologies.append(
            Subtopology(
                about["id"],
                about["tasks"],
                stateful=about["stateful"],
                source_topics=sources,
                changelog_topics=[
                    sources[changelog] if isinstance(changelog, int) else changelog
                    for changelog in changelogs
                ],
            )
        )
    ends = _offsets(step.get("ends", ()))
    return StreamsGroup(subtopologies, members, standby_replicas=settings["standbys"], end_offsets=ends)


def application_difference(life: Json) -> Difference | None:
    """Where our "streams-high-availability" first differs from the JVM's; None if it never does."""
    settings = life["settings"]
    assignor = StreamsHighAvailabilityAssignor(
        max_warmup_replicas=settings["warmups"],
        acceptable_recovery_lag=settings["lag"],
        rack_aware_assignment_tags=settings["tags"],
        **_rack_settings(settings),
    )
    return _process_difference(life, lambda _, group: assignor.assign(group))


def classic_sticky_difference(life: Json, kafka_version: str = "4.4") -> Difference | None:
    """Where our "streams-classic-sticky" first differs from the JVM's; None if it never does."""

    def assign(step: Json, group: StreamsGroup) -> ProcessAssignment:
        tasks = [
            TopicPartition(subtopology["id"], number)
            for subtopology in sorted(step["subtopologies"], key=lambda about: int(about["id"]))
            for number in range(subtopology["tasks"] if subtopology["stateful"] else 0)
        ]
        factor, offset = step["ranks"]
        ranks = {task: (factor * place + offset) % len(tasks) for place, task in enumerate(tasks)}
        settings = _rack_settings(life["settings"])
        return StreamsClassicStickyAssignor(kafka_version=kafka_version, **settings).assign(
            group, standby_order=sorted(tasks, key=ranks.__getitem__)
        )

    return _process_difference(life, assign)


def _process_difference(
    life: Json, assign: Callable[[Json, StreamsGroup], ProcessAssignment]
) -> Difference | None:
    settings = life["settings"]
    for number, step in enumerate(life["steps"]):
        theirs, ours = dict[str, Any](), dict[str, Any]()
        if "error" in step:
            theirs["throws"] = str(step["error"])
        else:
            for process, active, standby in step["assignment"]:
                theirs |= {process: _tasks(active), f"{process} stands by": _tasks(standby)}
            theirs |= {"processes": list(theirs), "probing rebalance": step.get("probing", False)}
        try:
            answer = assign(step, streams_application(settings, step))
        except AssignorError as error:
            ours["throws"] = str(error.jvm_exception)
        else:
            for process, mine in answer.active.items():
                ours |= {process: list(mine), f"{process} stands by": list(answer.standby[process])}
            # The order of processes is an answer, too: dictionaries are equal in any order.
            ours |= {"processes": list(ours), "probing rebalance": answer.probing_rebalance}
        if answers := differing(theirs, ours):
            told = [f"settings {settings}", *told_of(step)]
            return Difference(f"streams application, {life['name']}", number, told, answers)
    return None


def _rack_settings(settings: Json) -> Json:
    names = ("strategy", "traffic_cost", "non_overlap_cost")
    return {f"rack_aware_assignment_{name}": settings[name] for name in names if name in settings}


def _offsets(runs: Iterable[list[Any]]) -> dict[TopicPartition, int]:
    """Offset sums from their runs: a subtopology, then task and offset, task and offset."""
    return {
        TopicPartition(name, number): offset
        for name, *pairs in runs
        for number, offset in zip(pairs[::2], pairs[1::2], strict=True)
    }


def _lists(answers: Iterable[Any]) -> dict[str, list[TopicPartition]]:
    return {worker: _tasks(runs) for worker, runs in answers}


def _tasks(runs: Iterable[list[Any]]) -> list[TopicPartition]:
    """Tasks from their runs; -1 is the connector itself."""
    return [
        TopicPartition(f"connector:{name}", 0) if number == -1 else TopicPartition(name, number)
        for name, *numbers in runs
        for number in numbers
    ]
