"""A group of the consumer protocol (KIP-848), as the main loop sees it.

Sources: `assignors.simulation.group.consumer_group` for the coordinator; for clients Kafka's own
ConsumerMembershipManager and ConsumerHeartbeatRequestManager, and `benchmarks/rebalances/facts.md`.

A heartbeat is simulated only where it may tell a member something, or moves the group; all others only prove
that somebody is alive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.errors import ScenarioError
from assignors.simulation.group.clients import PROFILES
from assignors.simulation.group.consumer_client import Client
from assignors.simulation.group.consumer_coordinator import ConsumerCoordinator
from assignors.simulation.group.consumer_group import Error
from assignors.simulation.group.timers import Timers

if TYPE_CHECKING:
    from assignors.simulation.group.decisions import Decisions
    from assignors.simulation.group.world import World


class ConsumerProtocol:
    """A consumer group at a moment in time; see `assignors.simulation.group.world.Engine`."""

    def __init__(self, world: World, decisions: Decisions) -> None:
        self._world = world
        self._timers = Timers()
        self._coordinator = ConsumerCoordinator(world, decisions, self._timers)
        self._clients: dict[int, Client] = {}
        self._begin()

    @property
    def members(self) -> int:
        """See `Engine`."""
        return len(self._coordinator.group.members)

    @property
    def member_pause_ms(self) -> float:
        """See `Engine`."""
        return self._coordinator.member_pause_ms

    def start(self, consumer: int, now_ms: float) -> None:
        """Its first heartbeat is its join."""
        configured = self._world.consumers[consumer]
        if PROFILES[configured.client].consumer_late_ms is None:
            self._world.note("refused", configured.name, reason=_speaks_not(configured.client))
            self._world.stopped(consumer)
            return
        client = Client(self._world, self._coordinator, self._timers, consumer, configured)
        self._clients[consumer] = client
        client.start(now_ms)

    def stop(self, consumer: int, now_ms: float, *, cleanly: bool) -> None:
        """One that closes says so; a static one that it will be back."""
        client = self._clients.pop(consumer, None)
        if client is not None:
            client.stop(now_ms, cleanly=cleanly)

    def slow_poll(self, consumer: int, now_ms: float, until_ms: float) -> None:
        """Its partitions wait, and so does what it is asked to give up; nobody else does."""
        if consumer in self._clients:
            self._clients[consumer].slow(now_ms, until_ms)

    def stall(self, consumer: int, now_ms: float, until_ms: float) -> None:
        """It says nothing; after more than its session it wakes up without knowing that it is out."""
        if consumer in self._clients:
            self._clients[consumer].stall(now_ms, until_ms)

    def duplicate(self, consumer: int, now_ms: float) -> None:
        """The second is refused, and ends; the first hears nothing of it."""
        name = self._world.consumers[consumer].name
        self._world.note("refused", name, reason=Error.UNRELEASED_INSTANCE_ID.name)

    def failover(self, now_ms: float, until_ms: float) -> None:
        """Sessions begin anew when another broker has loaded the group."""
        self._coordinator.failover(now_ms, until_ms)

    def grown(self, topic: int, now_ms: float, *, created: bool) -> None:
        """The coordinator sees it at the next heartbeat."""
        self._coordinator.grown(topic, created=created)

    def next_ms(self) -> float:
        """See `Engine`."""
        return self._timers.next_ms()

    def advance(self) -> None:
        """See `Engine`."""
        self._timers.run()

    def settle(self, now_ms: float) -> None:
        """Nothing is told late."""

    def _begin(self) -> None:
        """The consumers at time 0 are a stable group, each with a heartbeat timer of its own."""
        scenario, random = self._world.scenario, self._world.random
        coordinator = self._coordinator
        for number, configured in enumerate(scenario.consumers):
            if PROFILES[configured.client].consumer_late_ms is None:
                raise ScenarioError(f"consumer {configured.name!r}: {_speaks_not(configured.client)}")
            client = Client(self._world, coordinator, self._timers, number, configured)
            self._clients[number] = client
            drawn_ms = float(random.uniform(-client.every_ms, 0))
            beat_ms = configured.beat_ms
            coordinator.enter(client, drawn_ms if beat_ms is None else beat_ms - client.every_ms)
        coordinator.begin()


def _speaks_not(client: str) -> str:
    return f"{client} does not speak the consumer protocol (KIP-848)"
