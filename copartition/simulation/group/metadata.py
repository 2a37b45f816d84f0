"""Model what the members of a classic group know of topics, and who rejoins when topics change.

A client asks for metadata once in `metadata.max.age.ms`. The client decides which members look at the answer,
and whether they rejoin for it (`clients.ClientBehaviour`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from copartition.simulation.group.classic_states import ClassicGroupState
from copartition.simulation.group.clients import BEHAVIOURS
from copartition.simulation.group.leader import subscription
from copartition.simulation.group.members import Members, RebalanceNotifier
from copartition.simulation.group.timers import DONE, Timers, first_after
from copartition.simulation.group.world import World

if TYPE_CHECKING:
    from copartition.simulation.group.classic_group import ClassicGroup

MISSING_TOPIC_MS = 1_000
"""Interval at which clients ask for a missing topic that they name (`retry.backoff.max.ms`), milliseconds."""


class _Growth(NamedTuple):
    """One change of a topic: it has `partitions` partitions since `at_ms`, or was created then.

    `topic` is a number of `Partitions`, `partitions` is the total after the change, and `at_ms` is in
    milliseconds of the run.
    """

    at_ms: float
    topic: int
    partitions: int
    created: bool


class Metadata:
    """The members' knowledge of topics: what the leader sees, and when a member sees new partitions.

    A change stays in `_growth` for the whole run. At most one timer runs, for the first member that will
    notice a change, and only while the group is stable.

    Each client asks for metadata at times of its own: at `Members.metadata_ms` plus multiples of
    `metadata.max.age.ms`. It sees a change at the first such time after the change, so no request in between
    needs to be simulated.
    """

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
        self._timer = DONE

    def on_growth(self, topic: int, *, created: bool) -> None:
        """Record that a topic grew or was created, and wait for the first member that sees it."""
        count = self._world.partitions.counts[topic]
        self._growth.append(_Growth(self._world.now_ms, topic, count, created))
        self.watch()

    def on_racks(self, topic: int) -> None:
        """Let the leader rejoin at its next refresh if it reads a topic whose replicas are in other racks.

        A client without a rack of its own does not look at racks (KIP-881). Followers do not rejoin.
        """
        leader, world = self._coordinator.leader.member, self._world
        if leader is None or self._coordinator.state is ClassicGroupState.EMPTY:
            return
        consumer = world.memberships.consumers[leader]
        looks = BEHAVIOURS[consumer.client].notices_racks and consumer.rack is not None
        if looks and world.partitions.topics[topic] in self._coordinator.leader.topics():
            age_ms = world.scenario.settings.metadata_max_age_ms
            sees_ms = first_after(float(self._members.metadata_ms[leader]), age_ms, world.now_ms)
            self._timers.at(sees_ms, lambda: self._rejoin_for_racks(leader, topic))

    def _rejoin_for_racks(self, leader: int, topic: int) -> None:
        """Let the leader rejoin, unless the group has another leader or is rebalancing anyway."""
        stable = self._coordinator.state is ClassicGroupState.STABLE
        if stable and leader == self._coordinator.leader.member and self._members.alive[leader]:
            text = self._world.partitions.growth([topic])
            self._coordinator.prepare(text, self._world.ledger.cause(text))
            self._notifier.notify(leader, self._world.now_ms)

    def counts(self) -> list[int]:
        """Return each topic's number of partitions that the leader knows when it assigns, by topic number."""
        now_ms, leader = self._world.now_ms, self._coordinator.leader.member
        assert leader is not None
        consumer = self._world.memberships.consumers[leader]
        # A client with a pattern knows all topics (Java asks before each join), and so does a client that
        # asks before it assigns (librdkafka).
        if consumer.pattern is not None or BEHAVIOURS[consumer.client].asks_before_assigning:
            return list(self._world.partitions.counts)
        # A leader asks for metadata again if other members subscribe to topics that it does not.
        own = subscription(consumer, self._world, self._world.partitions.counts)
        if self._growth and not self._coordinator.leader.topics().issubset(own):
            return list(self._world.partitions.counts)
        # The leader knows at least the partitions that were assigned last: members claim them, and ask for
        # their metadata.
        counts = list(self._coordinator.leader.counts)
        for growth in self._growth:
            if self._sees(leader, growth) <= now_ms:
                counts[growth.topic] = max(counts[growth.topic], growth.partitions)
        return counts

    def watch(self) -> None:
        """Set the timer for the first member that sees a change and rejoins for it.

        Only a stable group has this timer.
        """
        self.forget()
        if not self._growth or self._coordinator.state is not ClassicGroupState.STABLE:
            return
        unseen = self._unassigned_growth()
        noticed = [
            (at_ms, member)
            for member in self._watchers()
            for growth in unseen
            if (at_ms := self._notices(member, growth)) is not None
        ]
        if noticed:
            at_ms, member = min(noticed)
            # A leader that puts its decision off (KIP-415) does not act on a change before the delay is over.
            holds_ms = self._coordinator.leader.holds_ms or 0.0
            # A coordinator that is down answers no JoinGroup, so the member rejoins when it is up again.
            at_ms = max(at_ms, self._coordinator.down_ms, holds_ms)
            self._timer = self._timers.at(at_ms, lambda: self._notice(member))

    def forget(self) -> None:
        """Cancel the timer: the group rebalances, and its leader will see the change then."""
        self._timer.cancel()

    def _unassigned_growth(self) -> list[_Growth]:
        """Return the changes that are not assigned yet, of topics that at least one member subscribes to.

        A change is assigned if the leader's last decision knew at least as many partitions of its topic.
        """
        assigned, subscribed = self._coordinator.leader.counts, self._coordinator.leader.topics()
        return [
            growth
            for growth in self._growth
            if growth.partitions > assigned[growth.topic]
            and self._world.partitions.topics[growth.topic] in subscribed
        ]

    def _watchers(self) -> list[int]:
        """Return the members that may rejoin if they see a change.

        These are the leader, members that subscribe to a pattern, and members whose clients all rejoin for
        new partitions. They are in the order of `Members.rows`; dead and stalled members are left out.
        """
        leader = self._coordinator.leader.member
        consumers = self._world.memberships.consumers
        return [
            member
            for member in self._members.living().tolist()
            if member == leader
            or consumers[member].pattern is not None
            or BEHAVIOURS[consumers[member].client].anyone_sees_growth
        ]

    def _notices(self, member: int, growth: _Growth) -> float | None:
        """Return the time at which a member rejoins for a change, in milliseconds; None if it does not."""
        consumer = self._world.memberships.consumers[member]
        name = self._world.partitions.topics[growth.topic]
        is_leader = member == self._coordinator.leader.member
        if not is_leader and name not in subscription(consumer, self._world, self._world.partitions.counts):
            return None
        # A follower that joins with the same subscription only gets the present generation as the answer, and
        # no other member learns of it. A cooperative member also reports what it owns, which has changed
        # since it joined before.
        rejoins = BEHAVIOURS[consumer.client].anyone_sees_growth and not self._members.eager[member]
        if not (is_leader or growth.created or rejoins):
            return None
        sees_ms = self._sees(member, growth)
        if sees_ms > self._world.now_ms:
            return sees_ms
        # A follower has seen the change already and did not rejoin then, so it does not rejoin now.
        return self._world.now_ms if is_leader else None

    def _sees(self, member: int, growth: _Growth) -> float:
        """Return the time at which a member's metadata shows a change: its next refresh, or its next retry.

        A client asks again and again for a missing topic that it names, so it finds it within
        `MISSING_TOPIC_MS`. A topic of a pattern is found only at a refresh.
        """
        age_ms = self._world.scenario.settings.metadata_max_age_ms
        refresh_ms = first_after(float(self._members.metadata_ms[member]), age_ms, growth.at_ms)
        named = self._world.memberships.consumers[member].topics or ()
        if growth.created and self._world.partitions.topics[growth.topic] in named:
            return min(refresh_ms, growth.at_ms + MISSING_TOPIC_MS)
        return refresh_ms

    def _notice(self, member: int) -> None:
        """Let a member rejoin for the changes it sees; if it is dead or stalled, the next member will."""
        if not self._members.alive[member]:
            self.watch()
            return
        world, ledger = self._world, self._world.ledger
        unseen = dict.fromkeys(growth.topic for growth in self._unassigned_growth())
        cause = ledger.cause(world.partitions.growth(unseen))
        # New partitions have no owner (-1). The group knows of them from here on, so their pause now counts
        # as waiting at the barrier.
        ledger.notice(-1, world.now_ms, cause)
        self._coordinator.prepare(ledger.causes[cause], cause)
        self._notifier.notify(member, world.now_ms)
        for other in self._watchers():
            seen_ms = min(self._sees(other, growth) for growth in self._growth if growth.topic in unseen)
            # A member that refreshes its metadata before its next heartbeat rejoins at once, without waiting
            # for that heartbeat.
            if world.now_ms < seen_ms < self._members.next_beat(other, world.now_ms):
                self._notifier.notify(other, seen_ms)
