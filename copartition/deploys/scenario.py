"""Build the scenario of a captured group: its members and topics at rest, and what happens to them.

This is the only place where a captured group becomes a scenario. Times whose names end with `_ms` are in
milliseconds of the run, which begins at 0; times in a record are in seconds since 1970.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assignors.group import Topic
from assignors.state import GroupState, MemberIdentity
from copartition.deploys.assumptions import pace_sentences, timeouts_sentence
from copartition.deploys.pace import Pace, full_names
from copartition.groups.names import Names
from copartition.groups.offers import with_strategy
from copartition.groups.planned_members import (
    WhatIf,
    as_complete,
    find_member,
    seat_members,
    topics_read,
)
from copartition.groups.snapshot import RecordStep, read_record
from copartition.kit.words import count, duration
from copartition.simulation import (
    Consumer,
    Crash,
    Deployment,
    Event,
    Grow,
    Join,
    Leave,
    Load,
    RollingRestart,
    Scenario,
)
from copartition.simulation.group.clients import BEHAVIOURS
from copartition.simulation.inputs.file import with_settings
from copartition.simulation.inputs.scenario import CapturedScenario
from copartition.simulation.inputs.settings import QUIET_MS
from partitioning.errors import SourceError
from partitioning.kit.limits import MAX_GROUP_MEMBERS, MAX_GROUP_PARTITIONS, parse_number

DEPLOYS = ("rolling", "surge", "crash MEMBER", "leave MEMBER", "add N", "grow TOPIC=N")
"""The things that can happen to a captured group, as reports name them."""

_BEGIN_MS = 60_000.0
"""The time of the first event, in milliseconds; before it the group is at rest."""
_STRETCH_S = 60.0
"""The shortest stretch from which rates are computed, in seconds."""


@dataclass(frozen=True, slots=True)
class Happening:
    """The events of a captured group, in this order: joins, leaves, growth, and then a deploy.

    Attributes:
        text: the user's words for what happens, such as "crash pod-1"; empty if it was read from a diff or a
            migration.
        joins: members that join, all at one moment.
        leaves: indexes of the members that leave, all at one moment.
        crash: True if the members that leave crash, so that the group learns it only by a timeout.
        grows: topic -> new partition count.
        deploy: how all members are replaced, one after the other, see `WhatIf.deploy`; None for no deploy.
        bounces: for each deploy, the strategies of all members after it; empty for one deploy that keeps the
            strategies.
    """

    text: str = ""
    joins: tuple[MemberIdentity, ...] = ()
    leaves: tuple[int, ...] = ()
    crash: bool = False
    grows: Mapping[str, int] = field(default_factory=dict)
    deploy: Literal["rolling", "surge"] | None = None
    bounces: tuple[tuple[str, ...], ...] = ()

    @property
    def name(self) -> str:
        """The name in reports: "rolling", "crash pod-1", "3 members join"; empty if nothing happens."""
        joins, leaves = len(self.joins), len(self.leaves)
        one, many = ("crashes", "crash") if self.crash else ("leaves", "leave")
        # A migration is named by the strategy that it ends with.
        last = self.bounces[-1][0] if self.bounces else ""
        words = (
            f"{count(joins, 'member')} join{'s' * (joins == 1)}" if joins else "",
            f"{count(leaves, 'member')} {one if leaves == 1 else many}" if leaves else "",
            *(f"growth of {topic} to {partitions:,} partitions" for topic, partitions in self.grows.items()),
            f"{count(len(self.bounces), 'rolling bounce')} to {last}" if self.bounces else self.deploy or "",
        )
        return self.text or ", ".join(filter(None, words))


NOTHING = Happening()
"""Nothing happens: the group stays at rest."""


def parse_happening(state: GroupState, text: str) -> Happening:
    """Return what happens according to a text that has one of the forms of `DEPLOYS`.

    Raises:
        SourceError: the text has no such form, or names a member or topic that the group does not have.
    """
    what, _, whom = text.strip().partition(" ")
    match what, whom.strip():
        case ("rolling" | "surge") as deploy, "":
            return Happening(deploy, deploy=deploy)
        case (("crash" | "leave"), member) if member:
            number = find_member(state, member, "`crash_member`" if what == "crash" else "`remove_members`")
            return Happening(text, leaves=(number,), crash=what == "crash")
        case "add", digits if (members := parse_number(digits, MAX_GROUP_MEMBERS)) is not None:
            # The planner makes the new members' names, so that they are the same as in a diff of the same
            # question.
            seats = seat_members(as_complete(state), WhatIf(add_members=members)).all
            return Happening(text, joins=tuple(seat.identity for seat in seats if seat.prefix is not None))
        case "grow", change if change:
            # The last "=" counts, so that an error shows a wrong topic name whole.
            topic, _, digits = change.rpartition("=")
            partitions = parse_number(digits, MAX_GROUP_PARTITIONS)
            if topic in topics_read(state) and partitions is not None:
                return Happening(text, grows={topic: partitions})
            raise SourceError(
                f"`grow` {change} is not TOPIC=N of a topic that the group reads: "
                f"{', '.join(topics_read(state))}"
            )
    raise SourceError(f"{text!r} is none of {', '.join(DEPLOYS)}")


def scenario_of(
    state: GroupState,
    happening: Happening = NOTHING,
    pace: Pace | None = None,
    *,
    assignor: str | None = None,
    quiet_ms: float | None = None,
    load: Load | None = None,
) -> CapturedScenario:
    """Return the scenario of the group at rest and of what happens to it.

    Args:
        state: the group.
        happening: what happens.
        pace: how fast it happens, and the group's settings; None for a usual deployment and Kafka's defaults.
        assignor: the strategy of the group; None for the one that the source shows.
        quiet_ms: for how long the group has not changed, in milliseconds, which decides how far its
            heartbeats have drifted apart; None: an hour.
        load: the records that producers send; `pace.changes` takes precedence. None: no lag is computed.

    Returns:
        The scenario, and one sentence for each assumption about what the capture does not show. The first
        sentences are about the pace of what happens.

    Raises:
        SourceError: the group has no members, is one of Connect's workers, or a deploy is impossible for it.
        ScenarioError: no scenario can hold the group, or a setting of the pace is impossible.
    """
    pace = pace or Pace()
    state = as_complete(state if assignor else with_strategy(state))
    strategy = assignor or state.strategy
    if strategy is None:
        raise SourceError("these are workers of Kafka Connect, which no scenario holds")
    seats = seat_members(state, WhatIf())
    if not seats.all:
        raise SourceError("the group has no members, so there is nothing to simulate")
    # A client whose behaviour in a group is not known is treated as Java's.
    clients = [client for client in state.clients if client in BEHAVIOURS]
    consumers = _consumers(state, [seat.identity for seat in seats.all], happening.joins, clients)
    present = len(seats.all)
    read = topics_read(state)
    assumed = [*state.assumed, *seats.assumed]
    if unseen := sorted({*read}.difference(state.topics)):
        assumed.append(f"the partitions of {', '.join(unseen)} are unknown, so the scenario goes without")
    if unread := sorted({*state.topics}.difference(read)):
        assumed.append(f"no member reads {', '.join(unread)}, so the scenario goes without")
    if not clients:
        assumed.append("clients are Java's")
    elif len(clients) > 1:
        assumed.append(f"clients are Java's; the group has {' and '.join(clients)}")
    assumed.append(f"the group begins as {strategy!r} assigns it anew")
    scenario = Scenario(
        tuple(_topics(state)),
        tuple(consumers[:present]),
        tuple(_events(happening, consumers, present, pace)),
        assignor=strategy,
        name=", ".join(filter(None, [state.name or "group", happening.name])),
        settled_ms=QUIET_MS if quiet_ms is None else quiet_ms,
        load=load,
    )
    scenario = with_settings(scenario, full_names(pace.changes))
    return CapturedScenario(
        scenario, (*pace_sentences(scenario), *assumed, timeouts_sentence(scenario.settings))
    )


def _consumers(
    state: GroupState,
    present: Sequence[MemberIdentity],
    joining: Sequence[MemberIdentity],
    clients: Sequence[str],
) -> list[Consumer]:
    """Return the members of a group as consumers of a scenario, and after them those that join.

    Args:
        state: the group; it decides what a member with an unknown subscription reads.
        present: its members.
        joining: members that join.
        clients: the client libraries in the group that the simulation knows.
    """
    # A capture does not show which member has which client, so the client is used only if there is one.
    client = clients[0] if len(clients) == 1 else "java"
    everything = topics_read(state)
    identities = [*present, *joining]
    known = {*state.topics}
    return [
        Consumer(
            name,
            static=identity.instance_id is not None,
            # A topic is left out if the source shows none of its partitions. A member that subscribes to
            # nothing reads nothing; only a member with an unknown subscription is assumed to read everything.
            topics=tuple(
                topic
                for topic in (everything if identity.topics is None else identity.topics)
                if topic in known
            ),
            rack=identity.rack,
            client=client,  # type: ignore[arg-type] # one of `BEHAVIOURS`
        )
        for name, identity in zip(Names().of(identities), identities, strict=True)
    ]


def _events(happening: Happening, consumers: Sequence[Consumer], present: int, pace: Pace) -> Iterator[Event]:
    """Yield what happens as events of a scenario.

    Args:
        happening: what happens.
        consumers: the present members, then those that join.
        present: the number of present members.
        pace: how fast it happens.
    """
    at_ms = _BEGIN_MS
    leave = Crash if happening.crash else Leave
    moments: tuple[list[Event], ...] = (
        [Join(at_ms, consumer) for consumer in consumers[present:]],
        [leave(at_ms, consumers[number].name) for number in happening.leaves],
        [Grow(at_ms, topic, partitions) for topic, partitions in happening.grows.items()],
    )
    for moment in filter(None, moments):
        yield from (replace(event, at_ms=at_ms) for event in moment)
        at_ms += pace.every_ms
    if happening.deploy is None:
        return
    members = len(consumers) - len(happening.leaves)
    # Two members cannot share an instance id, so a group of static members is restarted even in a surge.
    restarts = happening.deploy == "rolling" or all(consumer.static for consumer in consumers)
    for strategies in happening.bounces or (None,):
        if restarts:
            yield RollingRestart(
                at_ms=at_ms, every_ms=pace.every_ms, down_ms=pace.down_ms, assignors=strategies
            )
            at_ms += members * pace.every_ms + pace.longest_down_ms
        else:
            yield Deployment(at_ms, start_ms=pace.down_ms, ready_ms=pace.ready_ms, assignors=strategies)
            at_ms += members * (pace.longest_down_ms + pace.ready_ms) + pace.every_ms


def scenarios_of_record(
    path: str,
    deploys: Sequence[str] = (),
    assignors: Sequence[str | None] = (None,),
    pace: Pace | None = None,
) -> list[CapturedScenario]:
    """Return scenarios of the group in the last stable step of a record, one for each deploy and assignor.

    Records come at the rates of the record, the lag at the start is that of the step, and the group has been
    quiet for as long as in the record.

    Args:
        path: the record, FILE.ndjson.
        deploys: what happens, see `DEPLOYS`; if empty, a rolling restart and the crash of the first member.
        assignors: the strategies to run each deploy with; None for the one that the group shows.
        pace: how fast it happens, and settings, which take precedence over what the record shows.

    Returns:
        A scenario for each deploy and assignor; all assignors of a deploy are next to each other.

    Raises:
        SourceError: no step shows a stable group; or see `scenario_of`.
        ScenarioError: no scenario can hold the group.
    """
    steps = read_record(path)
    stable = [n for n, step in enumerate(steps) if step.state.status == "Stable" and step.state.members]
    if not stable:
        raise SourceError(f"{path}: no step shows a stable group with members; watch it for longer")
    # Steps after the last stable one belong to a rebalance that the record does not show to its end.
    state, quiet_ms = steps[stable[-1]].state, _quiet_ms(steps, stable[-1])
    load, shown = _recorded_load(steps, state, _topics(as_complete(state)))
    scenarios = [
        scenario_of(
            state,
            parse_happening(state, deploy),
            pace,
            assignor=assignor,
            quiet_ms=quiet_ms,
            load=load,
        )
        for deploy in deploys or ("rolling", f"crash {state.members[0].id}")
        for assignor in assignors
    ]
    return [scenario._replace(assumed=(shown, *scenario.assumed)) for scenario in scenarios]


def _quiet_ms(steps: Sequence[RecordStep], last: int) -> float | None:
    """Return a lower bound for the time that the group was in the state of this step, in milliseconds.

    None if the group was in this state when the record began, because the start of the state is then unknown.

    Args:
        steps: the record.
        last: the index of the step.
    """
    first = last
    while first and _last_decision(steps[first - 1].state) == _last_decision(steps[last].state):
        first -= 1
    # `since` of the next step is the time at which the group was last seen in this state.
    until = steps[last + 1].since if last + 1 < len(steps) else steps[last].at
    return None if first == 0 or until is None else 1_000 * max(until - steps[first].at, 0.0)


def _last_decision(state: GroupState) -> tuple[object, ...]:
    """Return a value that is equal for two states if the group has not changed between them."""
    rows = zip(state.topic.tolist(), state.partition.tolist(), state.member.tolist(), strict=True)
    return state.status, state.members, state.topics, sorted(rows)


def _recorded_load(
    steps: Sequence[RecordStep], state: GroupState, topics: Sequence[Topic]
) -> tuple[Load | None, str]:
    """Return the load of the busiest stretch of a record, and a sentence on it.

    Rates are records a second for each partition. They come from steps that have the end offsets of all
    partitions and are at least `_STRETCH_S` apart; without two such steps there is no load. The records that
    wait at the start are the lag of the group in `state`.
    """
    numbers = [(topic.name, number) for topic in topics for number in range(topic.partitions)]
    samples: list[tuple[float, NDArray[np.float64]]] = []
    for step in steps:
        offsets = step.ends or {}
        ends = np.array([offsets.get(topic, {}).get(number, np.nan) for topic, number in numbers])
        if not np.isnan(ends).any() and (not samples or step.at >= samples[-1][0] + _STRETCH_S):
            samples.append((step.at, ends))
    stretches = [(later[0] - sooner[0], later[1] - sooner[1]) for sooner, later in pairwise(samples)]
    # End offsets go back if a topic was recreated.
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

    A scenario without a load, or whose load already says what waits, is returned as it is.

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
    """Return topic -> records of each partition that the group had not committed, and a sentence on them.

    A partition with unknown lag counts as 0.
    """
    lags = state.lag_by_place
    waiting = {
        topic.name: tuple(max(lags.get((topic.name, number), 0), 0) for number in range(topic.partitions))
        for topic in topics
    }
    return waiting, f"{'what was not committed' if lags else 'nothing'} waits at the start"


def _topics(state: GroupState) -> list[Topic]:
    """Return the topics that a group reads; racks of replicas only if they are known for every partition."""
    read = topics_read(state)
    counts = state.highest_counts.tolist()
    racks = state.racks or [None] * len(counts)
    ids = state.topic_ids or [None] * len(counts)
    return [
        Topic(name, partitions, where if where is not None and len(where) == partitions else None, id_)
        for name, partitions, where, id_ in zip(state.topics, counts, racks, ids, strict=True)
        if name in read
    ]
