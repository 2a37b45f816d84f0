"""Model a group of the consumer protocol (KIP-848) as the main loop sees it.

A heartbeat is simulated only if it may bring news to a member or moves the group. All others only show that a
member is alive. The modules `consumer_group` and `consumer_client` name the sources.

This module starts and stops processes. `client` models a process, and `consumer_client` and `classic_client`
add what depends on its protocol. `group_coordinator` takes requests and keeps timers, `consumer_group` has
the state that Kafka's coordinator keeps, and `targets` has the assignor's answers.
"""

from collections.abc import Callable
from functools import partial

from copartition.simulation.group.classic_client import ClassicClient
from copartition.simulation.group.client import Client
from copartition.simulation.group.clients import BEHAVIOURS
from copartition.simulation.group.consumer_client import ConsumerClient
from copartition.simulation.group.consumer_group import Error
from copartition.simulation.group.group_coordinator import GroupCoordinator
from copartition.simulation.group.leader import Decisions, require_shared_strategy, speaks_consumer_protocol
from copartition.simulation.group.memberships import Handover, RebalanceReason
from copartition.simulation.group.timers import Timers
from copartition.simulation.group.world import Engine, World
from partitioning.errors import ScenarioError


class ConsumerProtocol:
    """A consumer group at a moment in time; see `copartition.simulation.group.world.Engine`.

    `downgrade` is called when the group becomes a classic one. It gets the group as it is, and the reason to
    rebalance if there is one; it returns the engine of the new group.

    Consumers are numbers of `World.consumers`; `_clients` has the last process of each, whether it is a
    member or not. This engine makes the timers and the coordinator, which shares them with all clients.
    """

    def __init__(
        self,
        world: World,
        decisions: Decisions,
        downgrade: Callable[[Handover, RebalanceReason | None], Engine],
    ) -> None:
        self._downgrade = downgrade
        self._world = world
        self._timers = Timers()
        self._coordinator = GroupCoordinator(world, decisions, self._timers, self._hand_over_to_classic)
        self._clients: dict[int, Client] = {}

    @property
    def members(self) -> int:
        """The number of members the coordinator counts; see `Engine`."""
        return len(self._coordinator.group.members)

    def start(self, consumer: int, now_ms: float) -> None:
        """Start a process, whose first heartbeat is its join; a client without the protocol is refused."""
        configured = self._world.consumers[consumer]
        classic = not speaks_consumer_protocol(configured, self._world)
        if not classic and BEHAVIOURS[configured.client].consumer_late_ms is None:
            self._world.refuse(consumer, _no_protocol(configured.client))
        # An empty group takes the protocol of its first member.
        elif classic and not self.members:
            self._downgrade(self.hand_over(), None).start(consumer, now_ms)
        else:
            member = self._world.memberships.add(consumer, configured)
            self._clients[consumer] = self._client(consumer, member, classic=classic)
            self._clients[consumer].start(now_ms)

    def stop(self, consumer: int, now_ms: float, *, cleanly: bool) -> None:
        """End a process; if it closes cleanly it says so, and a static member says that it will be back."""
        client = self._clients.pop(consumer, None)
        if client is not None:
            client.stop(now_ms, cleanly=cleanly)

    def slow_poll(self, consumer: int, now_ms: float, until_ms: float) -> None:
        """Keep an application busy with one batch until `until_ms`; its heartbeats go on.

        Other members wait only for the partitions that this member must give up.
        """
        if consumer in self._clients:
            self._clients[consumer].slow(now_ms, until_ms)

    def stall(self, consumer: int, now_ms: float, until_ms: float) -> None:
        """Stop a process until `until_ms`.

        If the process stands still for longer than its session, it wakes up without knowing that it was
        dropped.
        """
        if consumer in self._clients:
            self._clients[consumer].stall(now_ms, until_ms)

    def duplicate(self, consumer: int, now_ms: float) -> None:  # noqa: ARG002 - at once
        """Refuse a second process with the same instance id, which ends; the first does not learn of it."""
        name = self._world.consumers[consumer].name
        self._world.note("refused", name, reason=Error.UNRELEASED_INSTANCE_ID.name)

    def failover(self, now_ms: float, until_ms: float) -> None:
        """Let another broker load the group until `until_ms`; sessions start again at that time."""
        self._coordinator.failover(now_ms, until_ms)

    def on_growth(self, topic: int, *, created: bool) -> None:
        """Let the coordinator see new partitions at the next heartbeat."""
        self._coordinator.on_growth(topic, created=created)

    def on_racks(self, topic: int) -> None:
        """Let the coordinator see other racks, which raise its epoch at the next heartbeat (KIP-1101)."""
        self._coordinator.on_growth(topic, created=False)

    def next_ms(self) -> float:
        """Return the time of the next timer; see `Engine`."""
        return self._timers.next_ms()

    def advance(self) -> None:
        """Run the next timer's action; see `Engine`."""
        self._timers.run()

    def settle(self, now_ms: float) -> None:
        """Do nothing, since this kind of group writes everything to the ledger at its own time."""

    def begin(self) -> None:
        """Make the consumers at time 0 a stable group, each with a heartbeat timer of its own.

        Raises:
            ScenarioError: a consumer's client does not speak the protocol, or the consumers of the classic
                protocol have no strategy in common.
        """
        scenario, random = self._world.scenario, self._world.random
        for number, configured in enumerate(scenario.consumers):
            classic = not speaks_consumer_protocol(configured, self._world)
            if not classic and BEHAVIOURS[configured.client].consumer_late_ms is None:
                raise ScenarioError(f"consumer {configured.name!r}: {_no_protocol(configured.client)}")
            member = self._world.memberships.add(number, configured)
            client = self._clients[number] = self._client(number, member, classic=classic)
            self._world.commits_ms(number)
            # Under this protocol a rebalance does not bring heartbeats in step, so each member has a phase of
            # its own, within one interval before time 0. The phase is drawn even if the scenario gives one,
            # so that other draws stay the same.
            drawn_ms = float(random.uniform(-client.every_ms, 0))
            beat_ms = configured.beat_ms
            self._coordinator.enter(client, drawn_ms if beat_ms is None else beat_ms - client.every_ms)
        require_shared_strategy(scenario.consumers, self._world)
        self._coordinator.begin()

    def hand_over(self) -> Handover:
        """Return the group as a classic group needs it to go on; this engine must not be used afterwards."""
        coordinator = self._coordinator
        coordinator.epochs.end()
        members = [coordinator.clients[member] for member in coordinator.group.members]
        # A client whose leave is on its way to the coordinator is no member of the new group.
        staying = [client for client in members if not client.leaving]
        joining = [
            # The consumer joins when its request would have arrived, but not before its application polls and
            # its process wakes up.
            (consumer, max(client.joins_ms, client.busy_ms, client.wakes_ms))
            for consumer, client in self._clients.items()
            if client.member not in coordinator.group.members and not client.gone
        ]
        group = Handover(
            coordinator.group.epoch,
            [client.process() for client in staying if isinstance(client, ClassicClient)],
            joining,
            coordinator.down_ms,
        )
        for client in coordinator.clients.values():
            client.gone = True  # messages on their way to it are dropped; the new group has its own client
        return group

    def adopt(self, handover: Handover) -> None:
        """Go on with the members of a classic group.

        All members speak the classic protocol, and none of them is asked to rejoin for this. The caller then
        starts the consumer that caused the upgrade.
        """
        coordinator = self._coordinator
        coordinator.down_ms = handover.down_ms
        clients = [
            ClassicClient(self._world, coordinator, self._timers, member.consumer, member.member)
            for member in handover.members
        ]
        self._clients.update((client.consumer, client) for client in clients)
        coordinator.adopt(clients, handover.generation)
        # Clients go on only after the coordinator knows all of them, because a silent client starts its
        # session there.
        for client, process in zip(clients, handover.members, strict=True):
            client.go_on(process)
        for consumer, at_ms in handover.joining:
            self._timers.soon(at_ms, self._world.now_ms, partial(self.start, consumer, at_ms))

    def _hand_over_to_classic(self, reason: RebalanceReason | None) -> None:
        """Become a classic group, which rebalances now if there is a reason."""
        self._downgrade(self.hand_over(), reason)

    def _client(self, consumer: int, member: int, *, classic: bool) -> Client:
        """Return a client, with the protocol that the consumer speaks."""
        kind = ClassicClient if classic else ConsumerClient
        return kind(self._world, self._coordinator, self._timers, consumer, member)


def _no_protocol(client: str) -> str:
    """Return the message for a client without the consumer protocol."""
    return f"{client} does not speak the consumer protocol (KIP-848)"
