"""The classic group coordinator and its members: who is in, who waits for whom, who consumes what.

Sources: KIP-62 (heartbeats), KIP-134 (initial delay), KIP-345 and KIP-814 (static members), KIP-429
(cooperative), and the classic group of the broker's group coordinator.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

import numpy as np

from assignors.errors import ScenarioError
from assignors.group import Group, Member, Topic
from assignors.interface import RebalanceProtocol
from assignors.registry import get_assignor
from assignors.simulation.group.partitions import Partitions
from assignors.simulation.group.recurring import first_after, last_until
from assignors.simulation.inputs.events import Consumer, Join
from assignors.simulation.outcome.result import Rebalance
from assignors.simulation.outcome.timeline import Phase

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assignors.assignment import Assignment
    from assignors.simulation.group.decisions import Decisions
    from assignors.simulation.inputs.scenario import Scenario
    from assignors.simulation.outcome.timeline import Timeline


class _State(Enum):
    EMPTY = auto()
    STABLE = auto()
    PREPARING = auto()
    """Waiting at the join barrier."""


@dataclass(slots=True)
class _Member:
    """One membership: a member id, from its first JoinGroup until the coordinator drops it."""

    serial: int
    id: str
    consumer: int
    beat_ms: float
    """It sends a heartbeat at this time plus any multiple of the interval."""
    metadata_ms: float
    """It refreshes its metadata at this time plus any multiple of the maximum age."""
    running: bool = True
    carries: bool = False
    """Whether it rejoins with what the last assignment gave it."""
    joins_ms: float = math.inf
    """When it arrives at the present barrier."""
    heard_ms: float = -math.inf
    """When its session was last renewed by something else than a heartbeat."""
    expires_ms: float = math.inf
    waits_ms: float | None = None
    """Since when it waits for its first partitions."""


class Coordinator:
    """A group of the scenario at a moment in time; `simulate` tells it what happens."""

    def __init__(self, scenario: Scenario, decisions: Decisions) -> None:
        self.now_ms = 0.0
        self.member_pause_ms = 0.0
        self.rebalances: list[Rebalance] = []
        self._decisions = decisions
        self._decision = decisions.start
        self._eager = _is_eager(scenario.assignor)
        self._settings = scenario.settings
        self._in_step = False
        self._random = np.random.Generator(np.random.Philox(key=scenario.seed))

        everyone = {consumer.name: consumer for consumer in scenario.consumers}
        everyone |= {
            event.consumer.name: event.consumer for event in scenario.events if isinstance(event, Join)
        }
        self._consumers = tuple(everyone.values())
        self._number = {name: number for number, name in enumerate(everyone)}
        self._incarnations = [0] * len(everyone)

        self._topics = scenario.topics
        self._partitions = Partitions(scenario)
        self._assigned_counts = list(self._partitions.counts)  # what the leader knew when it last assigned
        self._growth: list[tuple[float, int, int]] = []
        self._state = _State.EMPTY
        self._members: dict[int, _Member] = {}
        self._of_consumer: dict[int, _Member] = {}
        self._serials = 0
        self._leader: _Member | None = None
        self._new_leader = True  # whether the leader remembers nothing
        self._over = True  # whether the group starts from nothing
        self._gone: set[str] = set()
        self._generation = 0
        self._causes: list[str] = []
        self._started_ms = 0.0
        self._deadline_ms = math.inf
        self._delay_ms: float | None = None  # end of the initial delay of a group that was empty
        self._delay_left_ms = 0.0
        self._newcomer = False

        self.initial = self._begin(scenario.consumers)
        # The rebalance that made the group at the start was long ago: its heartbeats have drifted apart.
        self._in_step = scenario.settled_ms < 600_000

    def start(self, name: str, now_ms: float) -> None:
        """A consumer starts and sends JoinGroup."""
        self.now_ms = now_ms
        number = self._number[name]
        back = self._of_consumer.get(number)
        if self._consumers[number].static and back is not None and back.serial in self._members:
            self._return(back)
            return
        empty = self._state is _State.EMPTY
        if empty:
            self._open_initial()
        elif self._delay_ms is not None:
            self._newcomer = True
        self._prepare(f"{name} joined")
        member = self._add(number)
        member.joins_ms = member.waits_ms = now_ms

    def stop(self, name: str, now_ms: float, *, cleanly: bool) -> None:
        """A consumer stops; only a dynamic one that closes cleanly tells the coordinator (LeaveGroup)."""
        self.now_ms = now_ms
        member = self._of_consumer[self._number[name]]
        joined = self._state is _State.PREPARING and member.joins_ms <= now_ms
        since_ms = member.joins_ms if self._eager and joined and member.waits_ms is None else member.waits_ms
        self.member_pause_ms += 0.0 if since_ms is None else now_ms - since_ms
        member.waits_ms = None
        member.running = False
        tells = cleanly and not self._consumers[member.consumer].static
        if self._eager and joined:
            self._partitions.stop(member.serial, member.joins_ms, Phase.PAUSED)
        else:
            self._partitions.stop(member.serial, now_ms, Phase.PAUSED if tells else Phase.UNNOTICED)
        if tells:
            self._drop(member, f"{name} left")
        elif not joined:
            # A member that waits at the barrier has no session to lose; it gets one with the assignment.
            member.joins_ms = math.inf
            member.expires_ms = self._last_heard(member) + self._settings.session_timeout_ms

    def grow(self, topic: str, partitions: int, now_ms: float) -> None:
        """A topic gets more partitions; the leader notices at its next metadata refresh."""
        self.now_ms = now_ms
        number = self._partitions.grow(topic, partitions, now_ms)
        self._growth.append((now_ms, number, partitions))

    def next_ms(self) -> float:
        """When something happens next without an event; infinite where nothing does."""
        return min(self._barrier_ms(), self._expiry_ms(), self._notice_ms())

    def advance(self, now_ms: float) -> None:
        """Let happen what `next_ms` announced."""
        self.now_ms = now_ms
        if self._barrier_ms() <= now_ms:
            self._pass_barrier()
        elif self._expiry_ms() <= now_ms:
            member = next(each for each in self._members.values() if each.expires_ms <= now_ms)
            self._partitions.notice(member.serial, now_ms)
            self._drop(member, f"session of {self._consumers[member.consumer].name} timed out")
        else:
            self._notice_growth()

    def timeline(self) -> Timeline:
        """Everything up to now."""
        return self._partitions.timeline(self.now_ms, tuple(consumer.name for consumer in self._consumers))

    @property
    def unread(self) -> int:
        """Partitions that exist and nobody reads now."""
        return self._partitions.unread

    def _barrier_ms(self) -> float:
        if self._state is not _State.PREPARING:
            return math.inf
        if self._delay_ms is not None:
            return self._delay_ms
        last_ms = max(member.joins_ms for member in self._members.values())
        return max(min(last_ms, self._deadline_ms), self.now_ms)

    def _expiry_ms(self) -> float:
        return min((member.expires_ms for member in self._members.values()), default=math.inf)

    def _notice_ms(self) -> float:
        leader = self._leader
        if self._state is not _State.STABLE or leader is None or not leader.running:
            return math.inf
        unseen = [at_ms for at_ms, topic, count in self._growth if count > self._assigned_counts[topic]]
        return (
            max(first_after(leader.metadata_ms, self._settings.metadata_max_age_ms, unseen[0]), self.now_ms)
            if unseen
            else math.inf
        )

    def _begin(self, consumers: tuple[Consumer, ...]) -> Rebalance | None:
        if not consumers:
            return None
        for consumer in consumers:
            member = self._add(self._number[consumer.name])
            member.joins_ms = 0.0
            member.metadata_ms = float(self._random.uniform(0, self._settings.metadata_max_age_ms))
        self._causes = ["the group at the start"]
        return self._complete()

    def _add(self, number: int) -> _Member:
        self._incarnations[number] += 1
        member = _Member(
            self._serials,
            f"{self._consumers[number].name}#{self._incarnations[number]}",
            number,
            beat_ms=self._draw_beat(),
            metadata_ms=self.now_ms,
        )
        self._serials += 1
        self._members[member.serial] = self._of_consumer[number] = member
        return member

    def _draw_beat(self) -> float:
        return self.now_ms + float(self._random.uniform(0, self._settings.heartbeat_interval_ms))

    def _return(self, member: _Member) -> None:
        """A static member is back before its session ended: in a stable group nobody else hears of it."""
        member.running = True
        member.expires_ms = math.inf
        member.heard_ms = self.now_ms
        member.beat_ms = self._draw_beat()
        member.metadata_ms = self.now_ms
        if member is self._leader:
            self._new_leader = True
        if self._state is _State.STABLE:
            self._partitions.resume(member.serial, member.consumer, self.now_ms)
            if member is self._leader:
                # It takes the topics it finds for those that are assigned, so it overlooks what grew while it
                # was away (KIP-814).
                self._assigned_counts = list(self._partitions.counts)
            return
        member.joins_ms = member.waits_ms = self.now_ms
        if member.carries:
            self._gone.add(member.id)
            member.carries = False
        self._partitions.notice(member.serial, self.now_ms)

    def _drop(self, member: _Member, cause: str) -> None:
        del self._members[member.serial]
        if member.carries:
            self._gone.add(member.id)
        if member is self._leader:
            self._leader = None
        if self._members:
            self._prepare(cause)
            return
        self._state = _State.EMPTY
        self._over = True
        self._gone.clear()
        self._delay_ms = None

    def _prepare(self, cause: str) -> None:
        """Open the join barrier, or note one more reason for the open one."""
        if self._state is _State.STABLE:
            self._state = _State.PREPARING
            self._started_ms = self.now_ms
            self._deadline_ms = self.now_ms + self._settings.max_poll_interval_ms
            self._causes = []
            for member in self._members.values():
                member.joins_ms = (
                    first_after(member.beat_ms, self._settings.heartbeat_interval_ms, self.now_ms)
                    if member.running
                    else math.inf
                )
        self._causes.append(cause)

    def _open_initial(self) -> None:
        self._state = _State.PREPARING
        self._started_ms = self.now_ms
        self._causes = []
        delay_ms = self._settings.group_initial_rebalance_delay_ms
        self._delay_ms = self.now_ms + delay_ms
        self._delay_left_ms = max(self._settings.max_poll_interval_ms - delay_ms, 0)
        self._deadline_ms = self.now_ms + self._settings.max_poll_interval_ms
        self._newcomer = False

    def _pass_barrier(self) -> None:
        if self._delay_ms is not None and self._newcomer and self._delay_left_ms > 0:
            delay_ms = min(self._settings.group_initial_rebalance_delay_ms, self._delay_left_ms)
            self._delay_left_ms -= delay_ms
            self._delay_ms += delay_ms
            self._newcomer = False
            return
        self._delay_ms = None
        for member in [each for each in self._members.values() if each.joins_ms > self.now_ms]:
            self._drop(member, f"{self._consumers[member.consumer].name} did not rejoin in time")
        if self._members:
            self.rebalances.append(self._complete())

    def _notice_growth(self) -> None:
        unseen = [topic for _, topic, count in self._growth if count > self._assigned_counts[topic]]
        counts = self._partitions.counts
        grown = ", ".join(f"{self._topics[topic].name} to {counts[topic]}" for topic in dict.fromkeys(unseen))
        self._partitions.notice(-1, self.now_ms)
        self._prepare(f"partitions added ({grown})")
        assert self._leader is not None
        self._leader.joins_ms = self.now_ms

    def _complete(self) -> Rebalance:
        """Everybody is here: the leader assigns, and all of them get the new generation at once."""
        if self._leader is None:
            self._leader = next(iter(self._members.values()))
            self._new_leader = True
        assignment = self._decide()
        owner = self._partitions.owners(
            assignment, {member.id: member.serial for member in self._members.values()}
        )
        followers = [] if self._eager else self._running(self._partitions.losers(owner))
        moved = self._hand_over(owner)
        self._count_pauses(set(owner.tolist()), more_to_come=bool(followers))
        done = Rebalance(
            self._generation,
            self._started_ms,
            self.now_ms,
            tuple(self._causes),
            moved,
            assignment,
            {member.id: self._consumers[member.consumer] for member in self._members.values()},
        )
        self._state = _State.STABLE
        for member in self._members.values():
            member.carries = True
            member.heard_ms = self.now_ms
            if self._in_step:
                member.beat_ms = self.now_ms
            if not member.running:
                member.expires_ms = self.now_ms + self._settings.session_timeout_ms
        if followers:
            self._prepare("partitions revoked")
            for serial in followers:
                self._members[serial].joins_ms = self.now_ms
        return done

    def _decide(self) -> Assignment:
        """What the leader makes of the members, with the topics as its own metadata has them."""
        self._assigned_counts = self._seen_by_leader()
        join = tuple(member for member in self._members.values() if not member.carries)
        # Nothing else tells the next group from another one with the same history.
        change = (
            self._generation if self._over else None,
            tuple(member.id for member in join),
            frozenset(self._gone),
            tuple(self._assigned_counts),
        )
        self._decision = self._decisions.decide(
            self._decision, change, lambda: self._join_response(join), new_leader=self._new_leader
        )
        group, assignment = self._decision.group, self._decision.assignment
        assert group is not None
        assert assignment is not None
        self._generation = group.generation + 1
        self._new_leader = self._over = False
        self._gone.clear()
        return assignment

    def _seen_by_leader(self) -> list[int]:
        assert self._leader is not None
        refreshed_ms = last_until(self._leader.metadata_ms, self._settings.metadata_max_age_ms, self.now_ms)
        counts = [topic.partitions for topic in self._topics]
        for at_ms, topic, count in self._growth:
            if at_ms <= refreshed_ms:
                counts[topic] = count
        return counts

    def _join_response(self, join: tuple[_Member, ...]) -> Group:
        topics = [
            Topic(topic.name, count, id=topic.id) if count != topic.partitions else topic
            for topic, count in zip(self._topics, self._assigned_counts, strict=True)
        ]
        names = tuple(topic.name for topic in self._topics)
        newcomers = []
        for member in join:
            consumer = self._consumers[member.consumer]
            subscribed = names if consumer.topics is None else consumer.topics
            instance_id = consumer.name if consumer.static else None
            newcomers.append(Member(member.id, subscribed, instance_id=instance_id))
        group, assignment = self._decision.group, self._decision.assignment
        if self._over or group is None or assignment is None:
            return Group(topics, newcomers, generation=self._generation)
        return group.next(assignment, join=newcomers, leave=self._gone, topics=topics)

    def _running(self, serials: list[int]) -> list[int]:
        return [serial for serial in serials if serial in self._members and self._members[serial].running]

    def _hand_over(self, owner: NDArray[np.int64]) -> int:
        # The last element serves index -1, the owner of nothing.
        consumer = np.full(self._serials + 1, -1, np.int64)
        running = np.zeros(self._serials + 1, np.bool_)
        joins_ms = np.zeros(self._serials + 1, np.float64)
        for member in self._members.values():
            consumer[member.serial] = member.consumer
            running[member.serial] = member.running
            joins_ms[member.serial] = member.joins_ms
        if self._eager:
            self._partitions.stop_all(joins_ms)
        return self._partitions.hand_over(owner, consumer, running, self._assigned_counts, self.now_ms)

    def _count_pauses(self, busy: set[int], *, more_to_come: bool) -> None:
        """Add what running members stood still at this barrier; `busy` are those with partitions."""
        for member in self._members.values():
            if not member.running:
                continue
            since_ms = member.waits_ms
            if since_ms is None and self._eager:
                since_ms = member.joins_ms
            if since_ms is None or (more_to_come and member.serial not in busy):
                continue
            self.member_pause_ms += self.now_ms - since_ms
            member.waits_ms = None

    def _last_heard(self, member: _Member) -> float:
        beat_ms = last_until(member.beat_ms, self._settings.heartbeat_interval_ms, self.now_ms)
        return max(member.heard_ms, beat_ms)


def _is_eager(assignor: str) -> bool:
    protocols = get_assignor(assignor).protocols
    if not protocols:
        raise ScenarioError(
            f"assignor {assignor!r} belongs to the broker (KIP-848), whose protocol is not simulated yet; "
            "name a client-side one such as 'cooperative-sticky'"
        )
    return max(protocols) is RebalanceProtocol.EAGER
