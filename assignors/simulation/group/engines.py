"""Which kind of group a scenario has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.registry import get_assignor
from assignors.simulation.group.classic import Classic
from assignors.simulation.group.consumer_protocol import ConsumerProtocol

if TYPE_CHECKING:
    from assignors.simulation.group.decisions import Decisions
    from assignors.simulation.group.world import Engine, World


def make_engine(world: World, decisions: Decisions) -> Engine:
    """The group of a world, stable at time 0.

    Raises:
        ScenarioError: the strategy belongs to a protocol that is not modelled.
        UnknownStrategyError: no strategy of that name.
    """
    if get_assignor(world.scenario.assignor).protocols:
        return Classic(world, decisions)
    return ConsumerProtocol(world, decisions)
