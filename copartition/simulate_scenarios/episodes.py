"""Cut a record of a group into episodes, and make a scenario of each.

A look is one reading of the group's state by `copartition watch`. A step of a record is a state that a look
was the first to show, numbered from 0 on. An episode goes from one settled step to the next. Names that end
with `_ms` are milliseconds; all other times are seconds since 1970.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from assignors.group import Topic
from assignors.state import GroupState
from copartition.assignment_diff.planner import plan
from copartition.groups.names import Names
from copartition.groups.snapshot import RecordStep
from copartition.simulation import (
    Consumer,
    Event,
    Grow,
    Join,
    Leave,
    Restart,
    Scenario,
    SimulationResult,
)
from copartition.simulation.inputs.events import SimulatedClient
from copartition.simulation.inputs.settings import QUIET_MS
from copartition.simulation.outcome.timeline import Phase
from copartition.watch.changes import ChangeKind, GroupChange, Watch

CAUSES = frozenset({ChangeKind.JOINED, ChangeKind.LEFT, ChangeKind.RESTARTED, ChangeKind.GREW})
"""Changes that make a group rebalance; they become events of a scenario."""
HEARTBEATS_MS = 60_000
"""Up to this many milliseconds, drawn at random, are added to the quiet time before a record.

A record does not show when heartbeats came. The span covers many of their intervals, so that simulated runs
begin at all moments of an interval.
"""
NAMING_NOBODY = (Phase.PAUSED, Phase.COMPUTING)
"""Phases in which the coordinator names no owner of a partition.

In the other phases it names an owner, even if that owner does not read: it may be gone without the
coordinator noticing, or may have only just got the partition.
"""


class NamedStep(NamedTuple):
    """Holds a step of a record, with names of its members that stay the same from step to step.

    Attributes:
        step: the step.
        names: the names of its members, in their order.
        changes: the changes since the step before.
    """

    step: RecordStep
    names: Sequence[str]
    changes: Sequence[GroupChange]

    @property
    def settled(self) -> bool:
        """True if the group is Stable and every partition has an owner, or if the group is empty."""
        state = self.step.state
        if not state.members:
            return state.status == "Empty"
        # `all` is true for an empty array, but a group without partitions has no owners to compare.
        return state.status == "Stable" and len(state.member) > 0 and bool((state.member >= 0).all())

    @property
    def owners(self) -> dict[tuple[str, int], str | None]:
        """The owner of each (topic, partition); None if it has none."""
        return state_owners(self.step.state, self.names)


@dataclass(frozen=True, slots=True)
class Episode:
    """Holds a stretch of a record from one settled step to the next.

    Attributes:
        first: number of the settled step at its beginning.
        steps: the steps from that one to the settled one at its end, both included.
    """

    first: int
    steps: Sequence[NamedStep]

    @property
    def last(self) -> int:
        """Number of the settled step at the end."""
        return self.first + len(self.steps) - 1

    @property
    def changes(self) -> list[GroupChange]:
        """All changes of the episode, in order; changes of its first step happened before the episode."""
        return [change for step in self.steps[1:] for change in step.changes]

    @property
    def causes(self) -> tuple[GroupChange, ...]:
        """The causes of rebalances: members that joined, left or restarted, and topics that grew."""
        return tuple(change for change in self.changes if change.kind in CAUSES)

    def plan_members(self, assignor: str) -> GroupState:
        """Return the assignment that the strategy makes for the members after the episode.

        The strategy starts from the owners before the episode. A member that is new, or has a new id, owns
        nothing then. But a static member keeps its partitions across a restart (KIP-345).
        """
        before, after = self.steps[0], self.steps[-1]
        new = {cause.name for cause in self.causes if cause.kind in {ChangeKind.JOINED, ChangeKind.RESTARTED}}
        place = {
            name: number
            for number, (name, member) in enumerate(zip(after.names, after.step.state.members, strict=True))
            if name not in new or member.instance_id
        }
        had = before.owners
        state = after.step.state
        # -1 means no owner. It stands for new partitions, for free ones, and for partitions whose owner has
        # left or has a new id.
        member = [place.get(had.get(partition) or "", -1) for partition in state.places]
        # The state tells `plan` that the group is in a rebalance. Otherwise `plan` would compute which moves
        # the group's own assignor would make without a rebalance.
        rebalancing = replace(state, member=np.array(member, np.int32), status="PreparingRebalance")
        return plan(rebalancing, assignor)

    def scenario(
        self, assignor: str, seed: int, closing_ms: float = 0, client: SimulatedClient = "java"
    ) -> Scenario:
        """Return a scenario with the causes as events, each at a random time between two looks.

        The group is quiet before the first event: for about an hour if the episode begins with the record's
        first step, and since the episode's first step otherwise.

        Args:
            assignor: the strategy that the group runs.
            seed: decides the times that no look shows.
            closing_ms: how long a member that closes works before it tells the coordinator. A look can show
                the change only after that.
            client: the client of all members, which no record shows.

        Returns:
            A scenario whose first event comes at 0 ms, or at `closing_ms` if it is not a member that closes.
        """
        random = np.random.default_rng(seed)
        # Looks take some time, so times drawn for two looks may be in the wrong order. The order of looks is
        # known, so each time becomes at least the one before.
        drawn = np.maximum.accumulate([_drawn_ms(step.step, random) for step in self.steps]).tolist()
        at_ms = dict(enumerate(drawn, self.first))
        causes = self.causes
        zero_ms = at_ms[causes[0].step]
        # Heartbeats of members drift apart while a group is quiet, so a random time spreads them.
        long_ms = QUIET_MS + random.uniform(0, HEARTBEATS_MS)
        consumers = self._consumers(client)
        return Scenario(
            topics=tuple(Topic(name, count) for name, count in self._counts().items()),
            consumers=tuple(consumers[name] for name in self.steps[0].names),
            events=tuple(
                _event(
                    cause,
                    at_ms[cause.step] - zero_ms,
                    consumers,
                    self.steps[cause.step - self.first].step,
                    closing_ms,
                )
                for cause in causes
            ),
            assignor=assignor,
            seed=seed,
            name="record",
            # How long the group was quiet is unknown only if the episode begins with the record's first step.
            settled_ms=long_ms if self.first == 0 else max(zero_ms - at_ms[self.first] - closing_ms, 0.0),
        )

    def unnamed_ms(self, result: SimulationResult) -> float:
        """Return the longest time for which the simulated coordinator named no owner of a partition.

        Only partitions that existed before the episode count. Stretches that follow one another without a gap
        are one, whatever their phases. The time is in milliseconds.

        Args:
            result: a run of `scenario`.
        """
        line = result.timeline
        counts = zip(line.topics, line.first.tolist(), strict=False)
        there = self.steps[0].step.state.counts_by_topic
        named = np.zeros(int(line.first[-1]), np.bool_)
        for topic, first in counts:
            named[first : first + there.get(topic, 0)] = True
        rows = np.isin(line.phase, NAMING_NOBODY) & named[line.partition]
        partition, start, end = line.partition[rows], line.start[rows], line.end[rows]
        longest, since = 0.0, 0.0
        for row in range(len(start)):
            # Rows of one partition follow each other in time.
            goes_on = row and partition[row] == partition[row - 1] and start[row] == end[row - 1]
            since = since if goes_on else float(start[row])
            longest = max(longest, float(end[row]) - since)
        return longest

    def _counts(self) -> dict[str, int]:
        """Return each topic's partition count before the episode, or after it if no member read it before."""
        before, after = self.steps[0].step.state, self.steps[-1].step.state
        # The counts from before the episode take precedence, because the growth of a topic comes as an event.
        return after.counts_by_topic | before.counts_by_topic

    def _consumers(self, client: SimulatedClient) -> dict[str, Consumer]:
        """Return each member as a consumer, by name; if a member is in several steps, the first step counts.

        A static member that left counts as dynamic here, because the record shows that the coordinator has
        dropped it. In a simulation, a static member that leaves would be dropped only after its session.
        """
        left = {cause.name for cause in self.causes if cause.kind is ChangeKind.LEFT}
        topics = self._counts()
        return {
            name: Consumer(
                name,
                static=member.instance_id is not None and name not in left,
                topics=tuple(topic for topic in member.topics or () if topic in topics) or None,
                rack=member.rack,
                client=client,
            )
            # The steps are visited backwards, so that the first step with a member is written last and stays.
            for named in reversed(self.steps)
            for name, member in zip(named.names, named.step.state.members, strict=True)
        }


def _drawn_ms(step: RecordStep, random: np.random.Generator) -> float:
    """Return a random time at which the change to a step's state may have happened, in ms since 1970.

    Args:
        step: the step; the first one of a record has no look before it, so it has its own time.
        random: draws once for every step, so that the draw of a step does not depend on other steps.
    """
    return 1000 * random.uniform(step.at if step.since is None else step.since, step.at)


def _event(
    cause: GroupChange, at_ms: float, consumers: dict[str, Consumer], step: RecordStep, closing_ms: float
) -> Event:
    """Return the scenario's event for a cause.

    A member that restarted is away for half of the time between two looks. A member begins to close at
    `at_ms`, and the coordinator hears of it `closing_ms` later. So events of other kinds are delayed by
    `closing_ms`, too: all causes then reach the coordinator in the order that the record shows.

    Args:
        cause: the change that a look showed.
        at_ms: the time of the event, in milliseconds from the first event on.
        consumers: the members by name.
        step: the step that showed the change; it has the time of the look before.
        closing_ms: how long a member that closes works before the coordinator hears of it.
    """
    name = str(cause.name)
    match cause.kind:
        case ChangeKind.JOINED:
            return Join(at_ms + closing_ms, consumers[name])
        case ChangeKind.LEFT:
            return Leave(at_ms, name)
        case ChangeKind.GREW:
            return Grow(at_ms + closing_ms, name, int(cause.after or 0))
        case _:
            # The time between the looks is in seconds. Multiplied by 500, it is half of that time in ms.
            away_ms = 0 if step.since is None else 500 * (step.at - step.since)
            return Restart(at_ms, name, away_ms + closing_ms)


def see(steps: Sequence[RecordStep]) -> list[NamedStep]:
    """Return the steps of a record, in order, with names of members and with changes."""
    names, watch = Names(), Watch()
    return [NamedStep(step, names.of(step.state.members), watch.see(step)) for step in steps]


def episodes(steps: Sequence[NamedStep]) -> list[Episode]:
    """Return the episodes in which members, partitions or owners changed, in order."""
    settled = [number for number, step in enumerate(steps) if step.settled]
    episodes = [Episode(first, steps[first : last + 1]) for first, last in pairwise(settled)]
    return [
        episode
        for episode in episodes
        if any(change.kind in {*CAUSES, ChangeKind.MOVED} for change in episode.changes)
    ]


def state_owners(state: GroupState, names: Sequence[str]) -> dict[tuple[str, int], str | None]:
    """Return the owner of each (topic, partition) of a state; None if it has none.

    Args:
        state: the group.
        names: the names of its members, in their order.
    """
    owners = [*names, None]
    return {place: owners[member] for place, member in zip(state.places, state.member.tolist(), strict=True)}


class DurationBounds(NamedTuple):
    """Holds bounds of a length of time in ms, from looks; `most` is None if it began before the record."""

    least: float
    most: float | None


def recorded_bounds(episode: Episode) -> DurationBounds | None:
    """Return bounds of the longest time for which a moved partition had no owner; None if none moved.

    New partitions do not count, because no look shows when they began to exist. `most` is None if at least
    one partition has no upper bound.
    """
    moved = [
        change
        for change in episode.changes
        if change.kind is ChangeKind.MOVED and change.source is not None and change.target is not None
    ]
    if not moved:
        return None
    most = [1000 * change.most_s for change in moved if change.most_s is not None]
    return DurationBounds(
        1000 * max(change.least_s or 0 for change in moved), max(most) if len(most) == len(moved) else None
    )


def whole_bounds(episode: Episode) -> DurationBounds | None:
    """Return the `recorded_bounds` of an episode; None if they cannot be compared with the model's times.

    They can be compared if the cause of the episode is known, and if they have both bounds. An episode in
    which a topic grew is left out, because no look shows when it grew.
    """
    kinds = {cause.kind for cause in episode.causes}
    usable = kinds and ChangeKind.GREW not in kinds and episode.steps[-1].names and episode.steps[0].names
    bounds = recorded_bounds(episode)
    return bounds if usable and bounds is not None and bounds.most is not None else None
