"""Which kind of group a scenario has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.errors import ScenarioError
from assignors.registry import get_assignor
from assignors.simulation.group.classic import Classic

if TYPE_CHECKING:
    from assignors.simulation.group.decisions import Decisions
    from assignors.simulation.group.world import Engine, World


def make_engine(world: World, decisions: Decisions) -> Engine:
    """The group of a world, stable at time 0.

    Raises:
        ScenarioError: the strategy belongs to a protocol that is not modelled.
        UnknownStrategyError: no strategy of that name.
    """
    assignor = world.scenario.assignor
    if not get_assignor(assignor).protocols:
        raise ScenarioError(
            f"assignor {assignor!r} belongs to the broker (KIP-848), whose protocol is not simulated yet; "
            "name a client-side one such as 'cooperative-sticky'"
        )
    return Classic(world, decisions)
