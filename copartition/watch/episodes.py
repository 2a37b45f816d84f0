"""What happened in a record from one settled state of the group to the next, in the words of the model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assignors.group import Topic
from copartition.groups.plan import plan
from copartition.simulation import Consumer, Grow, Join, Leave, Restart, Scenario
from copartition.simulation.inputs.scenario import QUIET_MS
from copartition.simulation.outcome.timeline import Phase
from copartition.watch.changes import Kind, Names, Watch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assignors.state import GroupState
    from copartition.groups.record import Step
    from copartition.simulation import Event, SimulationResult
    from copartition.watch.changes import Change

CAUSES = frozenset({Kind.JOINED, Kind.LEFT, Kind.RESTARTED, Kind.GREW})
HEARTBEATS_MS = 60_000
"""How much the quiet time before a record is drawn from: many heartbeats, which may have come at any time."""
NAMING_NOBODY = (Phase.PAUSED, Phase.COMPUTING)
"""In these phases the coordinator names nobody: it names who is not missed yet, and who has just heard."""


class Seen(NamedTuple):
    """A step of a record.

    Attributes:
        step: the group and when it was so.
        names: what its members are called, in their order.
        changes: what it shows that is new.
    """

    step: Step
    names: Sequence[str]
    changes: Sequence[Change]

    @property
    def settled(self) -> bool:
        """Whether who has what is known and every partition has an owner."""
        state = self.step.state
        if not state.members:
            return state.status == "Empty"
        return state.status == "Stable" and len(state.member) > 0 and bool((state.member >= 0).all())

    @property
    def owners(self) -> dict[tuple[str, int], str | None]:
        """Who has each partition."""
        return owners_of(self.step.state, self.names)


@dataclass(frozen=True, slots=True)
class Episode:
    """What a record tells from one settled step to the next.

    Attributes:
        first: number of the step before.
        seen: that step, and the others up to the one after.
    """

    first: int
    seen: Sequence[Seen]

    @property
    def last(self) -> int:
        """Number of the step after."""
        return self.first + len(self.seen) - 1

    @property
    def changes(self) -> list[Change]:
        """All that changed."""
        return [change for seen in self.seen[1:] for change in seen.changes]

    @property
    def causes(self) -> tuple[Change, ...]:
        """Who came and went, and what grew."""
        return tuple(change for change in self.changes if change.kind in CAUSES)

    def planned(self, assignor: str) -> GroupState:
        """What an assignor makes of the members there are after, who have what they had before."""
        before, after = self.seen[0], self.seen[-1]
        new = {each.name for each in self.causes if each.kind in {Kind.JOINED, Kind.RESTARTED}}
        place = {
            name: number
            for number, (name, member) in enumerate(zip(after.names, after.step.state.members, strict=True))
            if name not in new or member.instance_id
        }
        had = before.owners
        state = after.step.state
        member = [place.get(had.get(partition) or "", -1) for partition in owners_of(state, after.names)]
        # In this state nobody is asked whether the group's own assignor would have moved anything anyway.
        told = replace(state, member=np.array(member, np.int32), status="PreparingRebalance")
        return plan(told, assignor)

    def scenario(self, assignor: str, seed: int) -> Scenario:
        """The causes as events, each at a time drawn from those between the look before it and its own.

        Before the record the group was quiet for about an hour; later, since it was seen to have settled.
        """
        random = np.random.default_rng(seed)
        # A look begins before its answer comes, so that what two looks show may overlap; its order is known.
        drawn = np.maximum.accumulate([_drawn_ms(each.step, random) for each in self.seen]).tolist()
        at_ms = dict(enumerate(drawn, self.first))
        causes = self.causes
        zero_ms = at_ms[causes[0].step]
        long_ms = QUIET_MS + random.uniform(0, HEARTBEATS_MS)
        consumers = dict(self._consumers())
        return Scenario(
            topics=tuple(Topic(name, count) for name, count in self._counts().items()),
            consumers=tuple(consumers[name] for name in self.seen[0].names),
            events=tuple(_event(each, at_ms[each.step] - zero_ms, consumers) for each in causes),
            assignor=assignor,
            seed=seed,
            name="record",
            settled_ms=long_ms if self.first == 0 else zero_ms - at_ms[self.first],
        )

    def unnamed_ms(self, result: SimulationResult) -> float:
        """The longest time that the simulated coordinator named no owner of a partition there was before."""
        line = result.timeline
        counts = zip(line.topics, line.first.tolist(), strict=False)
        state = self.seen[0].step.state
        there = dict(zip(state.topics, state.highest_counts.tolist(), strict=True))
        known = np.zeros(int(line.first[-1]), np.bool_)
        for topic, first in counts:
            known[first : first + there.get(topic, 0)] = True
        rows = np.isin(line.phase, NAMING_NOBODY) & known[line.partition]
        partition, start, end = line.partition[rows], line.start[rows], line.end[rows]
        longest, since = 0.0, 0.0
        for row in range(len(start)):
            goes_on = row and partition[row] == partition[row - 1] and start[row] == end[row - 1]
            since = since if goes_on else float(start[row])
            longest = max(longest, float(end[row]) - since)
        return longest

    def _counts(self) -> dict[str, int]:
        """The partitions of each topic before; of one that nobody read then, after."""
        counts: dict[str, int] = {}
        for seen in (self.seen[-1], self.seen[0]):
            state = seen.step.state
            counts |= dict(zip(state.topics, state.highest_counts.tolist(), strict=True))
        return counts

    def _consumers(self) -> Iterator[tuple[str, Consumer]]:
        """Each member as a consumer. A static one that left has been dropped by the coordinator just then."""
        left = {each.name for each in self.causes if each.kind is Kind.LEFT}
        topics = self._counts()
        for seen in reversed(self.seen):
            for name, member in zip(seen.names, seen.step.state.members, strict=True):
                reads = tuple(topic for topic in member.topics or () if topic in topics)
                yield (
                    name,
                    Consumer(
                        name,
                        static=member.instance_id is not None and name not in left,
                        topics=reads or None,
                        rack=member.rack,
                    ),
                )


def _drawn_ms(step: Step, random: np.random.Generator) -> float:
    """When the state of a step came about."""
    return 1000 * random.uniform(step.at if step.since is None else step.since, step.at)


def _event(cause: Change, at_ms: float, consumers: dict[str, Consumer]) -> Event:
    name = str(cause.name)
    match cause.kind:
        case Kind.JOINED:
            return Join(at_ms, consumers[name])
        case Kind.LEFT:
            return Leave(at_ms, name)
        case Kind.GREW:
            return Grow(at_ms, name, int(cause.after or 0))
        case _:
            return Restart(at_ms, name, 500 * (cause.most_s or 0))


def see(steps: Sequence[Step]) -> list[Seen]:
    """What each step of a record shows."""
    names, watch = Names(), Watch()
    return [Seen(step, names.of(step.state.members), watch.see(step)) for step in steps]


def episodes(seen: Sequence[Seen]) -> list[Episode]:
    """What lies between settled steps, where somebody came or went, a topic grew or partitions moved."""
    settled = [number for number, each in enumerate(seen) if each.settled]
    found = [Episode(first, seen[first : last + 1]) for first, last in pairwise(settled)]
    return [each for each in found if any(change.kind in {*CAUSES, Kind.MOVED} for change in each.changes)]


def owners_of(state: GroupState, names: Sequence[str]) -> dict[tuple[str, int], str | None]:
    """Who has each partition of a state whose members have these names."""
    owners = [*names, None]
    columns = (state.topic.tolist(), state.partition.tolist(), state.member.tolist())
    return {
        (state.topics[topic], partition): owners[member]
        for topic, partition, member in zip(*columns, strict=True)
    }
