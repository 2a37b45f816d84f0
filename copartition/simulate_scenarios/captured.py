"""Scenarios of a captured group, which run it through a deploy, a crash or a growth.

Times that end with `_ms` are milliseconds of the run, which begins at 0; times of a record are seconds since
1970.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, pairwise

import numpy as np
from numpy.typing import NDArray

from assignors.group import Topic
from assignors.state import GroupState
from copartition.assignment_diff.planned_members import WhatIf, find_member, seat_members, topics_read
from copartition.assignment_diff.planner import as_complete
from copartition.groups.names import Names
from copartition.groups.offers import with_strategy
from copartition.groups.snapshot import Step, read_record
from copartition.kit.words import duration
from copartition.simulation import Consumer, Crash, Deployment, Grow, Load, RollingRestart, Scenario
from copartition.simulation.inputs.events import Event
from copartition.simulation.inputs.scenario import CapturedScenario
from copartition.simulation.inputs.settings import QUIET_MS
from partitioning.errors import SourceError
from partitioning.kit.limits import MAX_GROUP_PARTITIONS, parse_number

DEPLOYS = ("rolling", "surge", "crash MEMBER", "grow TOPIC=N")
"""The things that may happen to a captured group, as people write them."""

_BEGIN_MS = 60_000.0
"""The time at which the deploy, the crash or the growth begins."""
_EVERY_MS = 60_000.0
"""The time between two restarts of a rolling restart."""
_DOWN_MS = 10_000.0
"""The time that a restarted member is away, or that a new one takes to start and to be ready."""
_STRETCH_S = 60.0
"""The shortest time that rates are computed from."""
_PROFILES = {"java", "librdkafka", "kafka-python", "aiokafka"}
"""Clients that the simulation has rules for; a client of another name is taken for Java's."""


def scenario_of(
    state: GroupState,
    deploy: str | None = None,
    *,
    assignor: str | None = None,
    quiet_ms: float | None = None,
) -> CapturedScenario:
    """Return the group at rest, and what happens to it.

    Args:
        state: the group.
        deploy: what happens, see `DEPLOYS`; None for nothing.
        assignor: the strategy of the group; None for the one that the group tells.
        quiet_ms: how long it has been as it is, by which its heartbeats have drifted apart; None: an hour.

    Returns:
        The scenario, and a sentence for each thing that the capture does not tell and that was taken for
        granted.

    Raises:
        SourceError: the group has no member, is one of Connect's workers, or a deploy makes no sense for it.
        ScenarioError: no scenario can hold the group.
    """
    state = as_complete(state if assignor else with_strategy(state))
    strategy = assignor or state.strategy
    if strategy is None:
        raise SourceError("these are workers of Kafka Connect, which no scenario holds")
    seats = seat_members(state, WhatIf())
    if not seats.all:
        raise SourceError("the group has no members, so there is nothing to simulate")
    names = Names().of(state.members)
    clients = [client for client in state.clients if client in _PROFILES]
    # A capture does not tell which member has which client, so only a single one can be used.
    client = clients[0] if len(clients) == 1 else "java"
    consumers = tuple(
        Consumer(
            name,
            static=seat.identity.instance_id is not None,
            topics=tuple(seat.member.topics),
            rack=seat.identity.rack,
            client=client,  # type: ignore[arg-type] # one of the profiles
        )
        for name, seat in zip(names, seats.all, strict=True)
    )
    read = topics_read(state)
    event, times = (None, []) if deploy is None else _event(state, names, read, deploy)
    assumed = [*state.assumed, *seats.assumed]
    if unread := sorted({*state.topics}.difference(read)):
        assumed.append(f"no member reads {', '.join(unread)}, so the scenario goes without")
    if not clients:
        assumed.append("clients are Java's")
    elif len(clients) > 1:
        assumed.append(f"clients are Java's; the group has {' and '.join(clients)}")
    quiet = "an hour" if quiet_ms is None else duration(quiet_ms)
    assumed.append(f"the group begins as {strategy!r} assigns it anew, and has been quiet for {quiet}")
    return CapturedScenario(
        Scenario(
            tuple(topic for topic in _topics(state) if topic.name in read),
            consumers,
            () if event is None else (event,),
            assignor=strategy,
            name=", ".join(filter(None, [state.name or "group", deploy])),
            settled_ms=QUIET_MS if quiet_ms is None else quiet_ms,
        ),
        (*assumed, *times),
    )


def scenarios_of_record(
    path: str, deploys: Sequence[str] = (), assignors: Sequence[str | None] = (None,)
) -> list[CapturedScenario]:
    """Return the last stable group of a record, through deploys: a roll and a crash by default.

    It has the rates of the record, what waited when it was seen last, and has been quiet as long as it was.

    Args:
        path: the record, FILE.ndjson.
        deploys: what happens, see `DEPLOYS`; if empty, a rolling restart and the crash of the first member.
        assignors: the strategies that run each; None for the one that the group tells.

    Returns:
        A scenario for each deploy and assignor, all assignors of a deploy next to each other.

    Raises:
        SourceError: no step shows a stable group, or as `scenario_of`.
        ScenarioError: no scenario can hold the group.
    """
    steps = read_record(path)
    stable = [n for n, step in enumerate(steps) if step.state.status == "Stable" and step.state.members]
    if not stable:
        raise SourceError(f"{path}: no step shows a stable group with members; watch it for longer")
    # Steps after the last stable one are of a rebalance that the record does not show to its end.
    state, quiet_ms = steps[stable[-1]].state, _quiet_ms(steps, stable[-1])
    captured = [
        scenario_of(state, deploy, assignor=assignor, quiet_ms=quiet_ms)
        for deploy in deploys or ("rolling", f"crash {state.members[0].id}")
        for assignor in assignors
    ]
    load, shown = _recorded_load(steps, state, captured[0].scenario.topics)
    return [
        CapturedScenario(replace(event.scenario, load=load), (shown, *event.assumed)) for event in captured
    ]


def _quiet_ms(steps: Sequence[Step], last: int) -> float | None:
    """Return how long the group has been as it is in this step when it was last seen so.

    None if it was so before the record began.

    Args:
        steps: the record.
        last: the number of the step, from 0 on.
    """
    first = last
    while first and _decided(steps[first - 1].state) == _decided(steps[last].state):
        first -= 1
    # The group was last seen so when the next step's look began.
    until = steps[last + 1].since if last + 1 < len(steps) else steps[last].at
    return None if first == 0 or until is None else 1_000 * max(until - steps[first].at, 0.0)


def _decided(state: GroupState) -> tuple[object, ...]:
    """Return what the last rebalance of a group has decided.

    A group has stayed as it is between two states if these values are equal.
    """
    rows = zip(state.topic.tolist(), state.partition.tolist(), state.member.tolist(), strict=True)
    return state.status, state.members, state.topics, sorted(rows)


def _recorded_load(
    steps: Sequence[Step], state: GroupState, topics: Sequence[Topic]
) -> tuple[Load | None, str]:
    """Return the load of the busiest stretch of a record, and a sentence on it.

    The rates are records a second for each partition. They come from steps that have the ends of all
    partitions, at least `_STRETCH_S` apart; without two such steps there is no load. What waits at the start
    is the lag of the group in `state`.
    """
    numbers = [(topic.name, number) for topic in topics for number in range(topic.partitions)]
    samples: list[tuple[float, NDArray[np.float64]]] = []
    for step in steps:
        offsets = step.ends or {}
        ends = np.array([offsets.get(topic, {}).get(number, np.nan) for topic, number in numbers])
        if not np.isnan(ends).any() and (not samples or step.at >= samples[-1][0] + _STRETCH_S):
            samples.append((step.at, ends))
    stretches = [(later[0] - sooner[0], later[1] - sooner[1]) for sooner, later in pairwise(samples)]
    # Ends go back if a topic was made anew.
    stretches = [(seconds, came) for seconds, came in stretches if (came >= 0).all()]
    if not stretches:
        return None, f"the record shows no rates: it has no ends of all partitions {_STRETCH_S:g} s apart"
    seconds, came = max(stretches, key=lambda stretch: float(stretch[1].sum()) / stretch[0])
    rates = iter((came / seconds).tolist())
    waiting, text = _waiting(state, topics)
    load = Load({topic.name: tuple(islice(rates, topic.partitions)) for topic in topics}, waiting=waiting)
    stretch = f"the busiest {duration(1_000 * seconds)} between two ends"
    return load, f"rates are those of {stretch} in the record; {text}"


def with_waiting(captured: CapturedScenario, state: GroupState) -> CapturedScenario:
    """Return the scenario of a group with the group's lags at its start.

    A scenario without a load, or whose load says already what waits, stays as it is.

    Args:
        captured: the scenario.
        state: the group that it was made of.
    """
    load, topics = captured.scenario.load, captured.scenario.topics
    if load is None or load.waiting:
        return captured
    waiting, text = _waiting(state, topics)
    scenario = replace(captured.scenario, load=replace(load, waiting=waiting))
    return CapturedScenario(scenario, (*captured.assumed, text))


def _waiting(state: GroupState, topics: Sequence[Topic]) -> tuple[dict[str, tuple[int, ...]], str]:
    """Return the records that the group had not committed of each partition, and a sentence on them.

    By topic, in the order of partitions; a partition of unknown lag has none.
    """
    lags = state.lag_by_place
    waiting = {
        topic.name: tuple(max(lags.get((topic.name, number), 0), 0) for number in range(topic.partitions))
        for topic in topics
    }
    return waiting, f"{'what was not committed' if lags else 'nothing'} waits at the start"


def _topics(state: GroupState) -> list[Topic]:
    """Return the topics of a group; replicas' racks only if the capture has them for every partition."""
    counts = state.highest_counts.tolist()
    racks = state.racks or [None] * len(counts)
    ids = state.topic_ids or [None] * len(counts)
    return [
        Topic(name, count, where if where is not None and len(where) == count else None, id_)
        for name, count, where, id_ in zip(state.topics, counts, racks, ids, strict=True)
    ]


def _event(
    state: GroupState, names: Sequence[str], read: Sequence[str], deploy: str
) -> tuple[Event, list[str]]:
    """Return what happens, and what is taken for granted of when it does.

    Args:
        state: the group.
        names: the names of its members in the scenario, in their order.
        read: the topics that a member reads; only these may grow.
        deploy: what happens, in the words of `DEPLOYS`.

    Raises:
        SourceError: it is none of `DEPLOYS`, or names a member or a topic that the group does not have.
    """
    what, _, whom = deploy.strip().partition(" ")
    match what, whom.strip():
        case "rolling", "":
            event = RollingRestart(at_ms=_BEGIN_MS, every_ms=_EVERY_MS, down_ms=_DOWN_MS)
            return event, ["one member a minute is restarted, and is away for 10 s"]
        case "surge", "":
            pods = Deployment(at_ms=_BEGIN_MS, start_ms=_DOWN_MS, ready_ms=_DOWN_MS)
            return pods, ["one new member at a time, up in 10 s and ready 10 s later"]
        case "crash", member if member:
            return Crash(_BEGIN_MS, names[find_member(state, member, "--deploy crash")]), []
        case "grow", change if change:
            topic, _, digits = change.rpartition("=")
            count = parse_number(digits, MAX_GROUP_PARTITIONS)
            if topic in read and count is not None:
                return Grow(_BEGIN_MS, topic, count), []
            raise SourceError(
                f"--deploy 'grow {change}' is not grow TOPIC=N of a topic that the group reads: "
                f"{', '.join(read)}"
            )
    kinds = ", ".join(DEPLOYS)
    raise SourceError(f"--deploy {deploy!r} is none of {kinds}; quote those with a blank")
