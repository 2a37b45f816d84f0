"""Who in a group notices new partitions, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from copartition.simulation.group.clients import PROFILES
from copartition.simulation.group.leader import subscription
from copartition.simulation.group.members import State
from copartition.simulation.group.timers import first_after

if TYPE_CHECKING:
    from copartition.simulation.group.classic_group import ClassicGroup
    from copartition.simulation.group.members import Members, RebalanceNotifier
    from copartition.simulation.group.timers import Timer, Timers
    from copartition.simulation.group.world import World

MISSING_TOPIC_MS = 1_000
"""How often clients ask again for a topic that they subscribe to by name and that does not exist
(`retry.backoff.max.ms`)."""


class _Growth(NamedTuple):
    at_ms: float
    topic: int
    partitions: int
    created: bool


class Metadata:
    """What members know of the topics, and when they know more."""

    def __init__(
        self,
        world: World,
        coordinator: ClassicGroup,
        members: Members,
        timers: Timers,
        notifier: RebalanceNotifier,
    ) -> None:
        self._world = world
        self._coordinator = coordinator
        self._members = members
        self._timers = timers
        self._notifier = notifier
        self._growth: list[_Growth] = []
        self._timer: Timer | None = None

    def grown(self, topic: int, now_ms: float, *, created: bool) -> None:
        """A topic has more partitions, or is there at last."""
        self._growth.append(_Growth(now_ms, topic, self._world.partitions.counts[topic], created))
        self.watch()

    def counts(self) -> list[int]:
        """Partitions of each topic, as the leader has them when it assigns."""
        now_ms, leader = self._world.now_ms, self._coordinator.generations.leader
        assert leader is not None
        consumer = self._world.memberships.consumers[leader]
        # A pattern is matched against what there is (Java asks before each join), librdkafka asks anyhow.
        if consumer.pattern is not None or PROFILES[consumer.client].asks_before_assigning:
            return list(self._world.partitions.counts)
        # A leader asks anew where others subscribe to topics that are none of its own.
        own = subscription(consumer, self._world, self._world.partitions.counts)
        if self._growth and not self._coordinator.generations.topics().issubset(own):
            return list(self._world.partitions.counts)
        # At the least it knows what was given out last: members claim it, and ask for what they are given.
        counts = list(self._seen())
        for growth in self._growth:
            if self._sees(leader, growth) <= now_ms:
                counts[growth.topic] = max(counts[growth.topic], growth.partitions)
        return counts

    def watch(self) -> None:
        """The group is stable: wait for the first member that sees something new."""
        self.forget()
        if not self._growth or self._coordinator.state is not State.STABLE:
            return
        unseen = self._unseen()
        found = [
            (at_ms, member)
            for member in self._watchers()
            for growth in unseen
            if (at_ms := self._notices(member, growth)) is not None
        ]
        if found:
            at_ms, member = min(found)
            # A leader that puts its decision off (KIP-415) would be told in vain until then.
            holds_ms = self._coordinator.generations.brain.holds_ms or 0.0
            at_ms = max(at_ms, self._coordinator.down_ms, holds_ms)
            self._timer = self._timers.at(at_ms, lambda: self._notice(member))

    def forget(self) -> None:
        """The group rebalances, so nobody needs to see to that."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _seen(self) -> list[int]:
        return self._coordinator.generations.brain.counts

    def _unseen(self) -> list[_Growth]:
        """What was not assigned yet, of the topics that some member subscribes to."""
        seen, subscribed = self._seen(), self._coordinator.generations.topics()
        return [
            each
            for each in self._growth
            if each.partitions > seen[each.topic] and self._world.partitions.topics[each.topic] in subscribed
        ]

    def _watchers(self) -> list[int]:
        """Members that rejoin where they see something new: the leader, and some others."""
        leader = self._coordinator.generations.leader
        consumers = self._world.memberships.consumers
        return [
            member
            for member in self._members.living().tolist()
            if member == leader
            or consumers[member].pattern is not None
            or PROFILES[consumers[member].client].anyone_sees_growth
        ]

    def _notices(self, member: int, growth: _Growth) -> float | None:
        """When a member rejoins for what is new; None where it does not."""
        consumer = self._world.memberships.consumers[member]
        name = self._world.partitions.topics[growth.topic]
        is_leader = member == self._coordinator.generations.leader
        if not is_leader and name not in subscription(consumer, self._world, self._world.partitions.counts):
            return None
        # Who is not the leader and asks for what it asked for last is told its generation, and nobody else
        # hears of it; a cooperative member tells what it owns besides, which is no longer what it was.
        rejoins = PROFILES[consumer.client].anyone_sees_growth and not self._members.eager[member]
        if not (is_leader or growth.created or rejoins):
            return None
        sees_ms = self._sees(member, growth)
        if sees_ms > self._world.now_ms:
            return sees_ms
        return self._world.now_ms if is_leader else None  # the others have been told in vain

    def _sees(self, member: int, growth: _Growth) -> float:
        """When a member's metadata show what is new."""
        age_ms = self._world.scenario.settings.metadata_max_age_ms
        refresh_ms = first_after(float(self._members.metadata_ms[member]), age_ms, growth.at_ms)
        named = self._world.memberships.consumers[member].topics or ()
        if growth.created and self._world.partitions.topics[growth.topic] in named:
            return min(refresh_ms, growth.at_ms + MISSING_TOPIC_MS)
        return refresh_ms

    def _notice(self, member: int) -> None:
        """A member rejoins for what it has seen; one that is dead or stands still leaves that to others."""
        if not self._members.alive[member]:
            self.watch()
            return
        world, partitions = self._world, self._world.partitions
        unseen = dict.fromkeys(each.topic for each in self._unseen())
        names = [f"{partitions.topics[each]} to {partitions.counts[each]}" for each in unseen]
        text = f"partitions added ({', '.join(names)})"
        cause = partitions.cause(text)
        partitions.notice(-1, world.now_ms, cause)
        self._coordinator.prepare(text, cause)
        self._notifier.notify(member, world.now_ms)
        for other in self._watchers():
            seen_ms = min(self._sees(other, growth) for growth in self._growth if growth.topic in unseen)
            if world.now_ms < seen_ms < self._members.next_beat(other, world.now_ms):
                self._notifier.notify(other, seen_ms)
