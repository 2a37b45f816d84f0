"""What a change costs: who stops reading, and for how long, under each rebalance protocol.

The times are the simulator's (`copartition.simulation`), for Java clients in a group that has been quiet for
an hour, where nothing takes time but waiting; no run is made.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from copartition.diff.changes import Action
from copartition.diff.members import Presence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from copartition.diff.compare import AssignmentDiff
    from copartition.simulation.inputs.settings import Settings

    Mask = NDArray[np.bool_]


class Stop(NamedTuple):
    """What a change of a group costs under one protocol, as the simulator has it.

    All who joined are taken to join at one moment, and all who left to leave at one. Members that joined do
    so before others leave, as in a rollout that starts the new ones first.

    Attributes:
        event: what happens: "join", "leave", "crash" or "growth"; "rebalance" where partitions moved between
            members that were there all the time, so that nobody can see what made the group rebalance.
        protocol: "eager", "cooperative" or "consumer".
        members: members that stop reading something for a while; not those that left.
        partitions: partitions that nobody reads for a while.
        detection_ms: the mean time until the group knows; nobody reads what a member had that is gone.
        pause_ms: the mean time for which a stopped partition is not read, detection included.
        partition_seconds: the sum over all stopped partitions.
    """

    event: str
    protocol: str
    members: int
    partitions: int
    detection_ms: float
    pause_ms: float
    partition_seconds: float


class _Event(NamedTuple):
    """Something that makes the group rebalance.

    Attributes:
        name: as in `Stop.event`.
        members: the members there are then.
        waiting: rows that nobody reads until the group has rebalanced: of members that are gone, or new.
        reading: rows that somebody reads meanwhile.
        handed: those of them that another member gets.
        silent: of each member that is gone without a word, how long ago it may have committed, see
            `mean_barrier`.
        told: whether the group hears of it at once.
        missed: the share of the waiting rows that belongs to members that are gone without a word.
    """

    name: str
    members: int
    waiting: Mask
    reading: Mask
    handed: Mask
    silent: tuple[float, ...] = ()
    told: bool = True
    missed: float = 0.0


def find_stops(diff: AssignmentDiff, settings: Settings) -> tuple[Stop, ...]:
    """What the change costs, by what happens and by protocol; nothing where it stops nobody."""
    events = [event for event in _events(diff, settings) if event.members]
    stops = [stop for event in events for stop in _costs(diff, event, settings)]
    return tuple(stop for stop in stops if stop.partition_seconds > 0)


def _events(diff: AssignmentDiff, settings: Settings) -> Iterator[_Event]:
    joined, left = (
        np.array([member.presence is presence for member in diff.members], np.bool_)
        for presence in (Presence.JOINED, Presence.LEFT)
    )
    before, after = int((~joined).sum()), int((~left).sum())
    owned = (diff.source >= 0) & (diff.target >= 0)
    handed = owned & (diff.action == Action.MOVE)
    reading = owned & (diff.action == Action.KEEP) | handed
    new = (diff.action == Action.ADDED) & (diff.target >= 0)
    nothing = np.zeros_like(owned)
    # The last element serves index -1, nobody.
    lost = handed & np.append(left, np.False_)[diff.source]
    won = handed & ~lost & np.append(joined, np.False_)[diff.target]
    if joined.any():
        yield _Event("join", before, nothing, reading, won if left.any() else handed)
    if left.any():
        static = {member.id for member in diff.before.members if member.instance_id}
        had = np.bincount(diff.source[lost], minlength=len(left))
        gone = [(int(had[index]), diff.members[index].before_id in static) for index in np.flatnonzero(left)]
        rest = reading & ~lost, handed & ~lost & ~won
        # A static member does not say that it closes, but commits then.
        silent = tuple(0.0 if rows else math.inf for rows, is_static in gone if is_static)
        told = len(silent) < len(gone)
        missed = sum(rows for rows, is_static in gone if is_static) / max(1, int(lost.sum())) if told else 1.0
        yield _Event("leave", after, lost, *rest, silent, told, missed)
        silent = tuple(settings.auto_commit_interval_ms if rows else math.inf for rows, _ in gone)
        yield _Event("crash", after, lost, *rest, silent, told=False, missed=1.0)
    if new.any():
        yield _Event("growth", before, new, reading, nothing if joined.any() or left.any() else handed)
    elif before == after == len(diff.members) and handed.any():
        yield _Event("rebalance", after, nothing, reading, handed)


def _costs(diff: AssignmentDiff, event: _Event, settings: Settings) -> Iterator[Stop]:
    from copartition.simulation.group.clients import PROFILES  # noqa: PLC0415 - few diffs need the simulator
    from copartition.simulation.timing import mean_barrier  # noqa: PLC0415

    java, grows = PROFILES["java"], event.name == "growth"
    assert java.consumer_late_ms is not None
    readers, givers = (len(np.unique(diff.source[rows])) for rows in (event.reading, event.handed))
    # The leader sees new partitions by itself, when it refreshes its metadata.
    hearing = event.members - grows
    seen_ms = settings.metadata_max_age_ms / 2 if grows else 0.0
    barrier = mean_barrier(hearing, settings, silent=event.silent, told=event.told)
    known_ms, passed_ms = seen_ms + event.missed * barrier.noticed_ms, seen_ms + barrier.passed_ms
    stands_ms = barrier.passed_ms - barrier.heard_ms * hearing / event.members
    yield _stop(event, "eager", readers, known_ms, passed_ms, event.reading, stands_ms)
    # Who gives something up rejoins at once; the follow-up waits for the next heartbeats of all others.
    others = sum(member.presence is not Presence.LEFT for member in diff.members) - givers
    least_ms, most_ms = java.late_ms
    again_ms = settings.heartbeat_interval_ms + least_ms + (most_ms - least_ms) * others / (others + 1)
    again_ms *= others > 0
    yield _stop(event, "cooperative", givers, known_ms, passed_ms, event.handed, again_ms)
    # Nobody waits for all: what is free waits for the next heartbeat of its new owner.
    beat_ms = settings.group_consumer_heartbeat_interval_ms + sum(java.consumer_late_ms) / 2
    known_ms = event.missed * (settings.group_consumer_session_timeout_ms - beat_ms / 2)
    passed_ms = known_ms + beat_ms / 2
    if grows:
        known_ms = beat_ms / (event.members + 1)  # any member's heartbeat makes the coordinator look
    yield _stop(event, "consumer", givers, known_ms, passed_ms, event.handed, beat_ms / 2)


def _stop(
    event: _Event,
    protocol: str,
    members: int,
    detection_ms: float,
    waits_ms: float,
    stopped: Mask,
    stands_ms: float,
) -> Stop:
    """The rows that wait and those that are stopped beside them, each for so long."""
    waiting, standing = int(event.waiting.sum()), int(stopped.sum()) if stands_ms > 0 else 0
    total_ms = waiting * waits_ms + standing * stands_ms
    return Stop(
        event.name,
        protocol,
        members if standing else 0,
        waiting + standing,
        detection_ms,
        total_ms / max(1, waiting + standing),
        total_ms / 1_000,
    )
