"""Which kind of group a scenario has, and how it becomes one of another kind while it runs (KIP-848)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from copartition.simulation.group.classic_protocol import ClassicProtocol
from copartition.simulation.group.consumer_protocol import ConsumerProtocol
from copartition.simulation.group.leader import speaks_consumer_protocol

if TYPE_CHECKING:
    from copartition.simulation.group.decisions import Decisions
    from copartition.simulation.group.memberships import Handover, Reason
    from copartition.simulation.group.world import World


def begin(world: World, decisions: Decisions) -> None:
    """Make the group of a world, stable at time 0; one member of the consumer protocol makes it of that kind.

    Raises:
        ScenarioError: there is no such group.
        UnknownStrategyError: no strategy of that name.
    """
    kinds = Kinds(world, decisions)
    consumers = world.scenario.consumers
    if consumers:
        modern = any(speaks_consumer_protocol(each, world) for each in consumers)
    else:
        modern = not world.protocols(world.scenario.assignor)
    engine = kinds.consumer() if modern else kinds.classic()
    engine.begin()


class Kinds:
    """The two kinds of groups, either of which takes over the members of the other."""

    def __init__(self, world: World, decisions: Decisions) -> None:
        self._world = world
        self._decisions = decisions

    def classic(self) -> ClassicProtocol:
        """The group is a classic one from now on."""
        engine = self._world.engine = ClassicProtocol(self._world, self._decisions, self._upgrade)
        return engine

    def consumer(self) -> ConsumerProtocol:
        """The group is one of the consumer protocol from now on."""
        engine = self._world.engine = ConsumerProtocol(self._world, self._decisions, self._downgrade)
        return engine

    def _upgrade(self, handover: Handover, consumer: int, since_ms: float) -> None:
        self._world.note("upgrade", generation=handover.generation)
        engine = self.consumer()
        engine.adopt(handover)
        engine.start(consumer, since_ms)

    def _downgrade(self, handover: Handover, reason: Reason | None) -> None:
        self._world.note("downgrade", generation=handover.generation)
        self.classic().adopt(handover, reason)
