"""Compute the costs of a change: which members stop reading, and for how long, under each rebalance protocol.

The times are the simulator's (`copartition.simulation`), for Java clients in a group that has been quiet for
an hour, where nothing takes time but waiting; no run is made.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assignors.interface import RebalanceProtocol
from assignors.registry import get_assignor
from assignors.state import CONNECT, GroupState
from copartition.assignment_diff.changes import Action, MemberChange, Presence
from copartition.assignment_diff.needed import Columns
from copartition.kit.evidence import Evidence
from copartition.simulation.group.clients import PROFILES
from copartition.simulation.inputs.settings import QUIET_MS, Settings
from partitioning.errors import UnknownStrategyError

Mask = NDArray[np.bool_]
"""One truth value for each row of a diff."""


class Stop(NamedTuple):
    """The cost of a change of a group under one protocol, as the simulator has it.

    All who joined are taken to join at one moment, and all who left to leave at one. Members that joined do
    so before others leave, as in a rollout that starts the new ones first.

    Attributes:
        event: what happens: "join", "leave", "crash" or "growth"; "rebalance" where partitions moved between
            members that were there all the time, so that no source shows the cause.
        protocol: "eager", "cooperative" or "consumer".
        members: members that stop reading something for a while; not who left.
        partitions: partitions that nobody reads for a while.
        detection_ms: the mean time until the group knows; nobody reads what a member had that is gone.
        pause_ms: the mean time for which a stopped partition is not read, detection included.
        partition_seconds: the sum over all stopped partitions.
        longest_mean_ms: the mean time of those partitions that stop longest, of those that had a reader.
        new_ms: the mean time until new partitions are read, detection included; 0 if there are none.
    """

    event: str
    protocol: str
    members: int
    partitions: int
    detection_ms: float
    pause_ms: float
    partition_seconds: float
    longest_mean_ms: float
    new_ms: float = 0.0


class Event(NamedTuple):
    """A cause of a rebalance, in numbers of partitions and members."""

    name: str  # as in `Stop.event`; "restart": a static member that is back before its session ends
    members: int  # the members there are then
    waiting: int  # partitions unread until the group has rebalanced: new, or of members that left
    reading: int  # partitions that somebody reads meanwhile
    readers: int  # members that read them
    handed: int  # those of them that another member gets
    givers: int  # members that hand some over
    others: int  # members that stay and hand nothing over
    silent: tuple[float, ...] = ()  # as `mean_barrier` takes it
    announced: bool = True  # whether the group hears of it at once
    missed: float = 0.0  # share of the waiting partitions whose members are gone without a word

    @classmethod
    def of(
        cls,
        name: str,
        members: int,
        staying: int,
        source: NDArray[np.integer[Any]],
        masks: tuple[Mask, Mask, Mask],
        **silence: Any,
    ) -> Event:
        """Return an event with its rows and members counted.

        Args:
            name: as in `Stop.event`.
            members: the members that are there.
            staying: those of them that do not leave.
            source: place of the owner of each row before.
            masks: rows that wait, that are read meanwhile, and that are handed over.
            silence: the other fields.
        """
        waiting, reading, handed = (int(mask.sum()) for mask in masks)
        readers, givers = (len(np.unique(source[mask])) for mask in masks[1:])
        return cls(name, members, waiting, reading, readers, handed, givers, staying - givers, **silence)


@dataclass(frozen=True, slots=True)
class Consumption:
    """The stops of consumption on the way to a planned state, under the group's own protocol.

    Attributes:
        protocol: "eager", "cooperative" or "consumer".
        rebalances: how often the group rebalances; under "cooperative" with the follow-ups.
        stopped_at_once: the most partitions that nobody reads at one time.
        all_stopped: how often nobody reads any partition.
        longest_mean_ms: the mean pause of a partition in the rebalance where that is longest; a single pause
            can be longer, and a static member's own restart comes on top.
        partition_seconds: the sum over all stopped partitions; likewise.
        static_restarts: static members that restart; what they have is not read while they are down.
        new_partitions: partitions that are new and get an owner.
        new_ms: the mean time until these are read for the first time.
        ground: the strategy that this was read from, and what was assumed because no source shows it.
    """

    protocol: str
    rebalances: int
    stopped_at_once: int
    all_stopped: int
    longest_mean_ms: float
    partition_seconds: float
    static_restarts: int
    new_partitions: int
    new_ms: float
    ground: Evidence


def find_consumption(
    before: GroupState, after: GroupState, events: Sequence[Event], settings: Settings, *, new_strategy: bool
) -> Consumption | None:
    """Return the stops on the way to a plan; None if nothing stops, or the protocol is unknown.

    Args:
        before: the group now.
        after: the plan, with its way if it has one.
        events: of the change, see `find_events`.
        settings: timeouts of the group.
        new_strategy: the plan has another strategy, so the way has the own one.
    """
    way: tuple[Event, ...] = after.way
    # On the way to another strategy the group still has its own one.
    bounced = new_strategy and way
    deciding = before if bounced else after
    protocol = _own_protocol(deciding)
    if after.status != "planned" or protocol is None:
        return None
    # A crash is the alternative to a leave, not a further event; a way names its own rebalances.
    skipped = {"crash", "rebalance"} if way else {"crash"}
    own = [] if bounced else [event for event in events if event.name not in skipped]
    static = [event for event in (*own, *way) if event.name == "restart"]
    # A static member's restart makes no rebalance, so it is counted apart.
    happening = [event for event in (*own, *way) if event.name != "restart" and event.members]
    stops = [
        (event, stop)
        for event in happening
        for stop in _costs(event, settings)
        if stop.protocol == protocol and stop.partitions
    ]
    if not stops and not static:
        return None
    # Under "cooperative" partitions are handed over in a second rebalance.
    follow_ups = sum(protocol == "cooperative" and event.handed > 0 for event in happening)
    return Consumption(
        protocol,
        len(happening) + follow_ups,
        max([*(stop.partitions for _, stop in stops), *(event.waiting for event in static)]),
        sum(stop.partitions == event.waiting + event.reading for event, stop in stops)
        + sum(event.reading == 0 for event in static),
        max((stop.longest_mean_ms for _, stop in stops), default=0.0),
        sum(stop.partition_seconds for _, stop in stops),
        len(static),
        sum(event.waiting for event, stop in stops if stop.new_ms),
        max((stop.new_ms for _, stop in stops), default=0.0),
        Evidence((f"the strategy {deciding.strategy!r}",), (_WAITING,)),
    )


_WAITING = "timeouts are Kafka's defaults but for those of --set, and nothing takes a member time but waiting"


def find_protocols(before: GroupState, after: GroupState) -> tuple[str, ...]:
    """Return the rebalance protocols that a group may have: of the later side, of the earlier one, or all.

    Empty for Connect, whose protocols are others.
    """
    if CONNECT in {before.protocol, after.protocol}:
        return ()
    for state in (after, before):
        protocol = _own_protocol(state)
        if protocol is not None:
            return (protocol,)
    classic = "classic" in {before.protocol, after.protocol}
    return ("eager", "cooperative") if classic else ("eager", "cooperative", "consumer")


def _own_protocol(state: GroupState) -> str | None:
    """Return the rebalance protocol of a group, as far as its strategy tells; None if it does not."""
    if state.protocol == "consumer":
        return "consumer"
    try:
        protocols = None if state.strategy is None else get_assignor(state.strategy).protocols
    except UnknownStrategyError:
        return None
    if protocols is None:
        return None
    return "cooperative" if RebalanceProtocol.COOPERATIVE in protocols else "eager"


def find_stops(
    before: GroupState, after: GroupState, events: Sequence[Event], settings: Settings
) -> tuple[Stop, ...]:
    """Return the costs of each event under each protocol; empty if nobody stops, or for Connect (unknown)."""
    if CONNECT in {before.protocol, after.protocol}:
        return ()
    stops = [stop for event in events if event.members for stop in _costs(event, settings)]
    return tuple(stop for stop in stops if stop.partition_seconds > 0)


def find_events(
    before: GroupState, members: Sequence[MemberChange], rows: Columns, settings: Settings
) -> Iterator[Event]:
    """Yield the events that bring the change about; "crash" is each "leave" without a word to the group.

    Args:
        before: the state before, for instance ids.
        members: by place.
        rows: the rows of the diff.
        settings: timeouts of the group.
    """
    joined, left = (
        np.array([member.presence is presence for member in members], np.bool_)
        for presence in (Presence.JOINED, Presence.LEFT)
    )
    there, staying = int((~joined).sum()), int((~left).sum())
    owned = (rows.source >= 0) & (rows.target >= 0)
    handed = owned & (rows.action == Action.MOVE)
    reading = owned & (rows.action == Action.KEEP) | handed
    new = (rows.action == Action.ADDED) & (rows.target >= 0)
    nothing = np.zeros_like(owned)
    event = partial(Event.of, staying=staying, source=rows.source)
    # The last element serves index -1, nobody.
    lost = handed & np.append(left, np.False_)[rows.source]
    won = handed & ~lost & np.append(joined, np.False_)[rows.target]
    if joined.any():
        yield event("join", there, masks=(nothing, reading, won if left.any() else handed))
    if left.any():
        static = {member.id for member in before.members if member.instance_id}
        had = np.bincount(rows.source[lost], minlength=len(left))
        gone = [
            (int(had[index]), members[index].before_id in static) for index in np.flatnonzero(left).tolist()
        ]
        masks = lost, reading & ~lost, handed & ~lost & ~won
        # A static member does not say that it closes, but commits then.
        silent = tuple(0.0 if lost_rows else math.inf for lost_rows, is_static in gone if is_static)
        announced = len(silent) < len(gone)
        missed = (
            sum(lost_rows for lost_rows, is_static in gone if is_static) / max(1, int(lost.sum()))
            if announced
            else 1.0
        )
        yield event("leave", staying, masks=masks, silent=silent, announced=announced, missed=missed)
        silent = tuple(settings.auto_commit_interval_ms if lost_rows else math.inf for lost_rows, _ in gone)
        yield event("crash", staying, masks=masks, silent=silent, announced=False, missed=1.0)
    if new.any():
        passed_on = nothing if joined.any() or left.any() else handed
        yield event("growth", there, masks=(new, reading, passed_on))
    elif there == staying == len(members) and handed.any():
        yield event("rebalance", staying, masks=(nothing, reading, handed))


_JAVA = PROFILES["java"]
_DRAWS = (64, 4_096)
_NUMBERS = 2**17
"""A barrier is drawn so often: as many numbers as this for all members together, within those bounds."""


class Barrier(NamedTuple):
    """A rebalance that begins at any moment, in mean milliseconds since what it is for."""

    noticed_ms: float  # when the group has missed a member that fell silent
    heard_ms: float  # when a member has heard of the rebalance
    passed_ms: float  # when all have


def mean_barrier(
    members: int,
    settings: Settings,
    *,
    silent: Sequence[float] = (),
    announced: bool = True,
    settled_ms: float = QUIET_MS,
) -> Barrier:
    """Return the mean times until all members of a classic group have heard of a rebalance.

    Each hears at its next heartbeat. Heartbeats were in step when the group last rebalanced, and have drifted
    apart since, by how late those of each member are. A barrier also waits for members that are silent, until
    their sessions are over. Drawn, always the same, for many moments spread over a heartbeat interval.

    Args:
        members: those that send heartbeats.
        settings: timeouts of the group.
        silent: for each member that fell silent, the longest time in milliseconds since it last committed: 0
            if that was its last act, else `auto.commit.interval.ms`; infinite if it has nothing to commit.
        announced: the rebalance begins at once, not when the first silent member is missed.
        settled_ms: milliseconds since the last rebalance was answered.
    """
    fewest, most = _DRAWS
    # Few members are drawn often, many members seldom: the mean over many is steady anyway.
    draws = max(fewest, min(most, _NUMBERS // max(1, members + len(silent))))
    random = np.random.default_rng(0)
    interval_ms = settings.heartbeat_interval_ms
    every_ms = interval_ms + random.uniform(*_JAVA.late_ms, (draws, members + len(silent)))
    since_ms = settled_ms + (np.arange(draws)[:, None] + 0.5) / draws * interval_ms
    beats_ms, gone_ms = every_ms[:, :members], every_ms[:, members:]
    committed_ms = (1 - random.random(gone_ms.shape)) * np.array(silent)
    missed_ms = settings.session_timeout_ms - np.minimum(since_ms % gone_ms, committed_ms)
    begins_ms = np.zeros((draws, 1)) if announced or not silent else missed_ms.min(axis=1, keepdims=True)
    heard_ms = begins_ms + beats_ms - (since_ms + begins_ms) % beats_ms
    passed_ms = np.concatenate([begins_ms, heard_ms, missed_ms], axis=1).max(axis=1, keepdims=True)
    passed_ms = np.minimum(passed_ms, begins_ms + settings.max_poll_interval_ms)
    return Barrier(
        float(missed_ms.mean()) if silent else 0.0,
        float(heard_ms.mean()) if members else 0.0,
        float(passed_ms.mean()),
    )


def _costs(event: Event, settings: Settings) -> Iterator[Stop]:
    """Yield the stop of an event under each of the three protocols."""
    grows = event.name == "growth"
    assert _JAVA.consumer_late_ms is not None
    # The leader sees new partitions by itself, when it refreshes its metadata.
    hearing = event.members - grows
    seen_ms = settings.metadata_max_age_ms / 2 if grows else 0.0
    barrier = mean_barrier(hearing, settings, silent=event.silent, announced=event.announced)
    known_ms, passed_ms = seen_ms + event.missed * barrier.noticed_ms, seen_ms + barrier.passed_ms
    stands_ms = barrier.passed_ms - barrier.heard_ms * hearing / event.members
    yield _stop(event, "eager", event.readers, known_ms, passed_ms, event.reading, stands_ms)
    # Who gives something up rejoins at once; the follow-up waits for the next heartbeats of all others.
    others = event.others
    least_ms, most_ms = _JAVA.late_ms
    again_ms = settings.heartbeat_interval_ms + least_ms + (most_ms - least_ms) * others / (others + 1)
    again_ms *= others > 0
    yield _stop(event, "cooperative", event.givers, known_ms, passed_ms, event.handed, again_ms)
    # Nobody waits for all: what is free waits for the next heartbeat of its new owner.
    beat_ms = settings.group_consumer_heartbeat_interval_ms + sum(_JAVA.consumer_late_ms) / 2
    known_ms = event.missed * (settings.group_consumer_session_timeout_ms - beat_ms / 2)
    passed_ms = known_ms + beat_ms / 2
    if grows:
        known_ms = beat_ms / (event.members + 1)  # any member's heartbeat makes the coordinator look
    yield _stop(event, "consumer", event.givers, known_ms, passed_ms, event.handed, beat_ms / 2)


def _stop(
    event: Event,
    protocol: str,
    members: int,
    detection_ms: float,
    waits_ms: float,
    stopped: int,
    stands_ms: float,
) -> Stop:
    """Return the stop of an event under one protocol.

    Args:
        event: the event, whose waiting rows wait in any case.
        protocol: its name.
        members: those that stop reading if rows are stopped.
        detection_ms: until the group knows.
        waits_ms: the time for which waiting rows are not read.
        stopped: rows that are stopped beside them.
        stands_ms: the time for which those are not read.
    """
    grows = event.name == "growth"
    # A protocol that stops rows for no time stops nobody.
    waiting, standing = event.waiting, stopped if stands_ms > 0 else 0
    total_ms = waiting * waits_ms + standing * stands_ms
    return Stop(
        event.name,
        protocol,
        members if standing else 0,
        waiting + standing,
        detection_ms,
        total_ms / max(1, waiting + standing),
        total_ms / 1_000,
        max(0.0 if grows or not waiting else waits_ms, stands_ms if standing else 0.0),
        waits_ms if grows and waiting else 0.0,
    )
