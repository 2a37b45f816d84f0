"""The generations of a classic group: who leads, what is decided, who gets what from then on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from copartition.simulation.group.leader import subscription
from copartition.simulation.outcome.timeline import Phase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from copartition.simulation.group.hearing import Hearing
    from copartition.simulation.group.leader import Answer, Leader
    from copartition.simulation.group.members import Members
    from copartition.simulation.group.world import World
    from copartition.simulation.outcome.history import Rebalance


class Generations:
    """One generation after another.

    Attributes:
        number: of the last generation.
        leader: the membership that leads; None until one is elected.
        brain: what the leader knows.
        revoking: members that must give something up, and rejoin, after the last one.
        member_pause_ms: how long running consumers stood still for the protocol, summed.
    """

    def __init__(self, world: World, members: Members, hearing: Hearing, brain: Leader) -> None:
        self.number = 0
        self.leader: int | None = None
        self.brain = brain
        self.revoking = np.empty(0, np.int32)
        self.member_pause_ms = 0.0
        self._world = world
        self._members = members
        self._hearing = hearing

    def elect(self) -> None:
        """Somebody who has joined leads, the one from before if it has."""
        members, now_ms = self._members, self._world.now_ms
        if self.leader is None or members.joins_ms[self.leader] > now_ms:
            rows = members.rows
            self.leader = int(rows[members.joins_ms[rows] <= now_ms][0])
            self.brain.new = True

    def decide(self, counts: list[int]) -> Answer:
        """A new generation: what its leader decides, with these partitions of each topic."""
        members = self._members
        rows = members.rows
        carries = members.carries[rows]
        bare = rows[members.eager[rows] & carries].tolist() if self._world.varied else ()
        answer = self.brain.decide(rows.tolist(), rows[~carries].tolist(), counts, self.number, bare)
        self.number += 1
        return answer

    def apply(
        self,
        answer: Answer,
        cause: int,
        started_ms: float,
        causes: tuple[str, ...],
        absence: Mapping[int, int],
        *,
        at_rest: bool = False,
    ) -> Rebalance:
        """Everybody has the assignment: what is lost stops, what is won is opened.

        Args:
            answer: the leader's.
            cause: of what stands still.
            started_ms: when the rebalance began.
            causes: why.
            absence: the members that are silent, and the cause of what they do not read.
            at_rest: whether everything was opened long ago.
        """
        world, members, partitions = self._world, self._members, self._world.partitions
        now_ms, rows = world.now_ms, members.rows
        self.brain.settle(answer)
        owner, position = partitions.places(answer.assignment)
        living = members.living()
        cooperative = living[~members.eager[living]]
        before = partitions.now.owner
        losing = members.mask(before[before != owner])
        self.revoking = cooperative[losing[cooperative]]
        change, moved = partitions.give(owner, position, now_ms, cause)
        for member, why in absence.items():
            for phase in (Phase.PAUSED, Phase.COMPUTING):
                partitions.wait(member, phase, now_ms, Phase.UNNOTICED, why)
        if at_rest:
            partitions.start(now_ms)
        else:
            self.open(living, cause)
        self._count_pauses(living, owner)
        members.carries[rows] |= not answer.held
        world.note("generation", number=self.number, members=len(rows), moved=moved, causes=list(causes))
        return world.history.made(
            self.number,
            started_ms,
            now_ms,
            causes,
            moved,
            members=rows,
            change=change,
            counts=answer.counts,
            subscribed=self.topics(),
            transferring=dict(answer.assignment.transferring),
        )

    def open(self, members: NDArray[np.int32], cause: int) -> None:
        """These open what they were given and do not read yet."""
        now_ms = self._world.now_ms
        self._world.partitions.open_all(members, now_ms, self._hearing.begins(members, now_ms), cause)

    def _count_pauses(self, living: NDArray[np.int32], owner: NDArray[np.int32]) -> None:
        """Add what running members stood still; one without partitions waits on if more are to come."""
        members = self._members
        standing = living[~np.isnan(members.stands_ms[living])]
        if len(self.revoking):
            standing = standing[members.mask(owner)[standing]]
        self.member_pause_ms += float((self._world.now_ms - members.stands_ms[standing]).sum())
        members.stands_ms[standing] = np.nan

    def topics(self) -> frozenset[str]:
        """Topics that some member subscribes to."""
        world, counts = self._world, self._world.partitions.counts
        kinds = world.subscriptions
        if len(kinds) > 1:
            consumers = world.memberships.consumers
            kinds = {
                (consumers[row].topics, consumers[row].pattern): consumers[row]
                for row in self._members.rows.tolist()
            }
        return frozenset().union(*(subscription(each, world, counts) for each in kinds.values()))
