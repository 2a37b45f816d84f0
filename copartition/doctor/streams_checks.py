"""Check a Streams group (KIP-1071): its topology, who runs which task, internal topics, lag.

A task is a subtopology and a partition number: it reads that partition of each input. Each check is a
function of the examined group and the limits.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from copartition.doctor.examination import SHOWN
from copartition.doctor.kind_checks import (
    KIND_LOOKS,
    kind_members_seen,
    need_known_lags,
    need_number,
    observe_idle,
    seen_positions,
    twice,
    two_looks,
    waiting_twice,
)
from copartition.doctor.kind_examination import KindExamination
from copartition.doctor.observing import (
    AGAIN,
    Limits,
    Observation,
    end_unknown,
    evidence,
    first_names,
    need,
    observe,
    observe_nobody,
)
from copartition.groups.kinds.model import StreamsGroupState, StreamsMemberState, SubtopologyTopics, Tasks
from copartition.kit.places import Place, by_place
from copartition.kit.words import count, duration, list_names

Streaming: TypeAlias = KindExamination[StreamsGroupState]
Task: TypeAlias = tuple[str, int]
"""A subtopology's id and a partition number; Kafka writes ("0", 3) as 0_3."""


def tasks_of(tasks: Tasks | None) -> Iterator[Task]:
    """Yield the tasks of a mapping, in its order; none for None."""
    return ((name, number) for name, numbers in (tasks or {}).items() for number in numbers)


def task_names(tasks: "list[Task] | set[Task]") -> str:
    """Return the first `SHOWN` tasks, sorted, as Kafka writes them: 0_0, 0_1 and so on."""
    return list_names([f"{name}_{number}" for name, number in sorted(tasks)], SHOWN)


def _active(group: Streaming) -> Counter[Task]:
    """Return, for each task, how many members run it as an active task.

    A task counts more than once only if several members run it, which `doubled_check` looks for.
    """
    return Counter(task for member in group.members for task in tasks_of(member.active))


def _subtopologies(group: Streaming) -> Mapping[str, SubtopologyTopics]:
    """Return the subtopologies; end the check as unknown if the source does not tell them.

    They may be missing for two reasons, which have different remedies. Either the coordinator could not set
    the topology up, which `topology_check` explains; or the source is a table that does not show
    subtopologies.
    """
    if group.state.subtopologies is None and group.state.described:
        end_unknown("the coordinator has not set the topology up", "see topology")
    # If they are still missing here, the source is a table.
    return need(group.state.subtopologies, "the source does not show the topology")


def _tasks(group: Streaming) -> set[Task]:
    """Return the topology's tasks; end the check as unknown if the topology or topics are not shown."""
    counts = need(group.state.topics, "the source does not show the partitions of topics")
    return {
        (name, number)
        for name, part in _subtopologies(group).items()
        # A subtopology has as many tasks as its input with the most partitions has partitions.
        for number in range(max((counts.get(topic, 0) for topic in part.inputs), default=0))
    }


def topology_check(group: Streaming, _: Limits) -> Observation:
    """Look for a topology that the coordinator cannot set up, and for members that run another topology.

    There are three faults, and the first one found is reported: the coordinator names no topology; the group
    is NotReady (the text says why, as far as the topics show it); members run another epoch of the topology
    than the group has.
    """
    state = group.state
    seen = kind_members_seen(group)
    if state.described and state.subtopologies is None:
        text = "the coordinator has no topology of the group"
        return Observation(
            True, text, evidence("the topology in the coordinator's answer: none"), "not_ready"
        )
    if state.status == "NotReady":
        return Observation(True, _why_not_ready(group), evidence(f"the state in {group.where}"), "not_ready")
    epochs = Counter(member.topology_epoch for member in group.members)
    # A member without a known epoch would differ from every number, and would be reported by mistake.
    if None in epochs:
        end_unknown("the source does not show the members' topology epochs")
    # A table may not tell the epoch of the group. Then the newest epoch that a member runs stands for it, so
    # that members with an older one are found.
    own = (
        state.topology_epoch
        if state.topology_epoch is not None
        else max(map(int, filter(None, epochs)), default=0)
    )
    stale = sorted(group.names[member.id] for member in group.members if member.topology_epoch != own)
    text = f"{list_names(stale, SHOWN)} run another topology than epoch {own} of the group"
    return observe(stale, text, f"every member runs topology epoch {own}", evidence(seen))


def _why_not_ready(group: Streaming) -> str:
    """Return a clause on why the coordinator does not set the topology up, as far as topics show it."""
    counts, hidden = group.state.topics or {}, {*group.state.hidden}
    # A table may show the state but no topology. Then there are no topics to compare.
    parts = (group.state.subtopologies or {}).values()
    if missing := sorted({topic for part in parts for topic in part.sources} & hidden):
        return f"the topology is not set up: source topics are missing: {list_names(missing, SHOWN)}"
    # Only subtopologies whose inputs all have a known count are compared: a hidden input is no difference.
    apart = [
        ", ".join(f"{topic} {counts[topic]}" for topic in part.inputs)
        for part in parts
        if len({counts.get(topic) for topic in part.inputs}) > 1 and counts.keys() >= {*part.inputs}
    ]
    if apart:
        return f"the topology is not set up: topics that are read together differ in partitions: {apart[0]}"
    return "the topology is not set up: see internal topics, and the members' logs"


def internal_topics_check(group: Streaming, _: Limits) -> Observation:
    """Look for changelog topics that are missing, or have fewer partitions than their subtopology has tasks.

    Missing topics are reported first, because they have no partition count to compare. A topic counts as
    missing if the cluster does not show it to this user.
    """
    counts = need(group.state.topics, "the source does not show the partitions of topics")
    parts = _subtopologies(group)
    few = []
    for part in parts.values():
        # As in `_tasks`: the input with the most partitions decides.
        tasks = max((counts.get(topic, 0) for topic in part.inputs), default=0)
        few += [
            f"{topic} ({counts[topic]} partitions for {tasks} tasks)"
            for topic in part.changelogs
            if topic in counts and counts[topic] < tasks
        ]
    gone = sorted(
        topic
        for part in parts.values()
        for topic in (*part.changelogs, *part.repartition_sources)
        if topic in group.state.hidden
    )
    internal = sum(len(part.changelogs) + len(part.repartition_sources) for part in parts.values())
    ground = evidence(f"{count(internal, 'internal topic')} of the topology, and their partitions")
    if gone:
        return Observation(True, f"internal topics are missing: {list_names(gone, SHOWN)}", ground)
    text = f"internal topics have too few partitions: {list_names(few, SHOWN)}"
    return observe(few, text, f"{count(internal, 'internal topic')} fit the tasks", ground, "few")


def unassigned_check(group: Streaming, _: Limits) -> Observation:
    """Look for tasks that no member runs as active tasks.

    If a task that runs nowhere is in a member's target, the coordinator has decided already who gets it. This
    is the case "waiting". Otherwise all tasks of the topology are compared with the tasks that run.

    The check is unknown if the group is NotReady, or if the comparison needs a topology or a partition count
    that the source does not show.
    """
    if group.state.members == ():
        return observe_nobody(group, "no member is there, so no task runs")
    seen, active = kind_members_seen(group), _active(group)
    waiting = {
        task for member in group.members for task in tasks_of(member.target_active) if task not in active
    }
    _need_ready(group)
    # A task that is in a member's target and runs nowhere proves the fault, so no topology is needed.
    free = waiting or _tasks(group) - active.keys()
    text = f"{count(len(free), 'task')} {'runs' if len(free) == 1 else 'run'} nowhere: {task_names(free)}"
    ok = f"each of {count(len(active), 'active task')} runs"
    case = "waiting" if waiting else ""
    return observe(free, text, ok, evidence(seen, "the tasks of the topology"), case)


def doubled_check(group: Streaming, _: Limits) -> Observation:
    """Look for tasks that two members run, and for a standby on the instance that runs the task.

    A standby or warm-up task on the instance that runs the task itself is on the same disk. If that disk is
    lost, both copies of the state are.
    """
    seen = kind_members_seen(group)
    twice_active = [task for task, members in _active(group).items() if members > 1]
    if twice_active:
        return Observation(True, f"two members run {task_names(twice_active)}", evidence(seen))
    running = {(member.process, task) for member in group.members for task in tasks_of(member.active)}
    beside = [
        task
        for member in group.members
        for task in (*tasks_of(member.standby), *tasks_of(member.warmup))
        # All members without a process id would count as one instance, so they are left out.
        if member.process and (member.process, task) in running
    ]
    text = f"a copy of {task_names(beside)} is on the instance that runs it"
    return observe(beside, text, "no task runs twice", evidence(seen), "beside")


def _need_ready(group: Streaming) -> None:
    """End the check as unknown if the topology is not set up yet.

    Until then no member has a task, which is no fault.
    """
    if group.state.status == "NotReady":
        end_unknown("no task is handed out before the topology is ready", "see topology")


def idle_check(group: Streaming, _: Limits) -> Observation:
    """Look for members without any task, as in an application with more threads than tasks."""
    kind_members_seen(group)
    _need_ready(group)

    def has_tasks(member: StreamsMemberState) -> bool:
        # A task is a tuple and so never false. The inner `any` returns whether there is a task.
        return any(map(any, (tasks_of(member.active), tasks_of(member.standby), tasks_of(member.warmup))))

    return observe_idle(group, has_tasks, "task")


def load_check(group: Streaming, _: Limits) -> Observation:
    """Look for members with more active tasks than their share.

    The share is the number of tasks that run, divided by the number of members and rounded up. A task that
    two members run counts once in the share but in the load of both, so it cannot hide a member with too many
    tasks.
    """
    seen, active = kind_members_seen(group), _active(group)
    if not active:
        end_unknown("no task runs", "see unassigned")
    loads = {member.id: sum(1 for _ in tasks_of(member.active)) for member in group.members}
    share = -(-len(active) // len(group.members))
    heavy = sorted(group.names[member.id] for member in group.members if loads[member.id] > share)
    least, most = min(loads.values()), max(loads.values())
    text = f"{least} to {most} active tasks a member, where {share} can be had: {list_names(heavy, SHOWN)}"
    return observe(heavy, text, f"{least} to {most} active tasks a member", evidence(seen))


def moving_check(group: Streaming, _: Limits) -> Observation:
    """Look for members whose tasks differ from their target, and for warm-up tasks.

    Members that differ from their target are reported first. If there are none, warm-up tasks are the fault,
    in the case "warmup": they read state so that a task can move later. The check is unknown if the source
    shows no member's target.
    """
    seen = kind_members_seen(group)
    if all(member.target_active is None for member in group.members):
        end_unknown("the source does not show what members are to have")
    warming = [task for member in group.members for task in tasks_of(member.warmup)]
    behind = sorted(group.names[member.id] for member in group.members if _is_moving(member))
    if behind:
        text = f"{list_names(behind, SHOWN)} have not got, or not given up, what the coordinator wants"
        return Observation(True, text, evidence(seen))
    verb = "reads" if len(warming) == 1 else "read"
    text = f"{count(len(warming), 'warm-up task')} {verb} state: {task_names(warming)}"
    return observe(warming, text, "every member has the tasks that it is to have", evidence(seen), "warmup")


def _is_moving(member: StreamsMemberState) -> bool:
    """Return whether a member has other tasks than its target.

    Warm-up tasks are not compared, because a target names only active and standby tasks. A member without a
    known target counts as one that has reached it.
    """
    if member.target_active is None:
        return False
    have = {*tasks_of(member.active)}, {*tasks_of(member.standby)}
    return have != ({*tasks_of(member.target_active)}, {*tasks_of(member.target_standby)})


def standby_check(group: Streaming, _: Limits) -> Observation:
    """Look for tasks with state that have fewer standby copies than the group's setting asks for.

    Only tasks that run are looked at, because `unassigned_check` reports the others. Tasks of a subtopology
    without changelog topics have no state to copy.
    """
    seen = kind_members_seen(group)
    wanted = need_number(group, group.state.settings, "streams.num.standby.replicas", "group")
    stateful = {name for name, part in _subtopologies(group).items() if part.changelogs}
    tasks = [task for task in _active(group) if task[0] in stateful]
    copies = Counter(task for member in group.members for task in tasks_of(member.standby))
    few = [task for task in tasks if copies[task] < wanted]
    # The coordinator puts copies of a task on other instances than the task, so too few instances may be the
    # reason.
    instances = count(len({member.process for member in group.members}), "instance")
    asked = count(wanted, "standby copy", "standby copies")
    text = (
        f"{count(len(few), 'task')} with state have fewer than {asked}: {task_names(few)}; the group has "
        f"{instances}"
    )
    ok = f"{count(len(tasks), 'task')} with state have {asked}"
    return observe(few, text, ok, evidence(seen, "streams.num.standby.replicas of the group"))


def static_check(group: Streaming, _: Limits) -> Observation:
    """Look for a group of which only some members have a group.instance.id.

    It is no fault if all members have one, or none has. The check is unknown for a table of Kafka's tool,
    which does not show these ids.
    """
    seen = kind_members_seen(group)
    if group.state.at is None:
        end_unknown("the source does not show group.instance.id")
    static = sum(member.instance_id is not None for member in group.members)
    text = f"{static} of {count(len(group.members), 'member')} have a group.instance.id"
    return observe(
        0 < static < len(group.members), text, text.replace("have", "are static by", 1), evidence(seen)
    )


def converted_check(group: Streaming, _: Limits) -> Observation:
    """Look for members that still speak the classic protocol.

    Any source can prove that a member speaks it. Only an answer of a cluster can prove that no member does.
    """
    seen = kind_members_seen(group)
    # A table may name classic members. If it names none, there may still be some.
    if group.state.at is None and not any(member.classic for member in group.members):
        end_unknown("the source does not show which protocol each member speaks")
    classic = sorted(group.names[member.id] for member in group.members if member.classic)
    text = f"{list_names(classic, SHOWN)} still speak the classic protocol"
    return observe(classic, text, "every member speaks the Streams protocol", evidence(seen))


def left_over_check(group: Streaming, _: Limits) -> Observation:
    """Look for committed offsets of topics that the topology does not read.

    The check is unknown if the source shows no offsets, or does not show the topology.
    """
    ground = seen_positions(group)
    inputs = {topic for part in _subtopologies(group).values() for topic in part.inputs}
    left = sorted({topic for topic, _ in group.positions} - inputs)
    text = f"offsets are committed of {list_names(left, SHOWN)}, which the topology does not read"
    return observe(left, text, "no offsets of topics that the topology does not read", ground)


def _read_places(group: Streaming, parts: Mapping[str, SubtopologyTopics]) -> list[Place]:
    """Return the partitions that active tasks read.

    A task reads the partition with its own number of each input of its subtopology. If two subtopologies read
    a topic, its partitions are in the list twice. The check ends as unknown if a task of a subtopology runs
    that the source does not list: without the inputs of that task, an "ok" would not be about all partitions.

    Args:
        group: the group.
        parts: its subtopologies by id.
    """
    active = _active(group)
    if unlisted := sorted({name for name, _ in active} - parts.keys()):
        end_unknown(f"tasks run of subtopologies that the source does not list: {', '.join(unlisted)}", AGAIN)
    return [(topic, number) for name, number in active for topic in parts[name].inputs]


def uncommitted_check(group: Streaming, _: Limits) -> Observation:
    """Look for inputs of running tasks with records and without a committed offset.

    An empty input needs no commit. The check is unknown if the source does not show the topology, or does not
    show the ends of partitions.
    """
    parts = _subtopologies(group)
    ends = by_place(need(group.state.ends, "the source does not show the ends of partitions"))
    places = _read_places(group, parts)
    without = [place for place in places if ends.get(place) and group.positions.get(place, -1) < 0]
    seen = kind_members_seen(group)
    text = f"records were written, and no offset is committed of {first_names(without)}"
    ok = "every input with records has a committed offset"
    return observe(without, text, ok, evidence(seen, f"the ends of {count(len(places), 'input partition')}"))


def standstill_check(group: Streaming, _: Limits) -> Observation:
    """Look for inputs of running tasks where records wait and nothing was committed between the looks.

    Partitions that no running task reads are left out, because `unassigned_check` reports them. A partition
    that has no commit at either look stands still, too.
    """
    first, last = two_looks(group)
    owned = {*_read_places(group, _subtopologies(group))}
    kind_members_seen(group)
    before, after = by_place(first.positions), by_place(last.positions)
    lags = by_place(last.lag)
    # Two missing commits (None) are equal, too: records wait, and the task has committed none of them.
    still = [place for place in waiting_twice(group, owned) if before.get(place) == after.get(place)]
    if not still:
        # "ok" is about all partitions, and a partition with an unknown lag may stand still.
        need_known_lags(group)
    elapsed = duration(group.elapsed_ms)
    ground = evidence(
        twice(group, lags),
        assumed=[f"tasks commit more often than every {elapsed} (commit.interval.ms, 30 s by default)"],
    )
    text = f"records wait and no offset was committed in {elapsed}: {_with_members(group, still)}"
    ok = "commits move wherever records wait" if any(lag > 0 for lag in lags.values()) else "no record waits"
    return observe(still, text, ok, ground)


def _with_members(group: Streaming, places: list[Place]) -> str:
    """Return the first `SHOWN` partitions, each with the member that reads it and the member's host.

    With these a user finds the process. A partition has two members if two subtopologies read it, or if its
    task runs twice.

    Args:
        group: the group.
        places: the partitions, in any order; they are named sorted.
    """
    parts = group.state.subtopologies or {}
    told = []
    for topic, number in sorted(places):
        members = [
            f"{group.names[member.id]} on {member.host or 'an unknown host'}"
            for member in group.members
            for name, task in tasks_of(member.active)
            if task == number and name in parts and topic in parts[name].inputs
        ]
        told.append(f"{topic}-{number} of {list_names(members)}")
    return list_names(told, SHOWN)


STREAMS_LOOKS: Mapping[str, Callable[[Streaming, Limits], Observation]] = {
    **KIND_LOOKS,
    "topology": topology_check,
    "internal_topics": internal_topics_check,
    "unassigned": unassigned_check,
    "doubled": doubled_check,
    "moving": moving_check,
    "idle": idle_check,
    "load": load_check,
    "standby": standby_check,
    "static": static_check,
    "converted": converted_check,
    "left_over": left_over_check,
    "uncommitted": uncommitted_check,
    "standstill": standstill_check,
}
"""The function of each check, by the name of its table in `streams_checks.toml`, whose order counts."""
