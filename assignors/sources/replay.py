"""States of a simulated group."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from assignors.diff.state import GroupState, MemberIdentity
from assignors.errors import SourceError

if TYPE_CHECKING:
    from assignors.simulation import SimulationResult


def step_state(result: SimulationResult, step: int) -> GroupState:
    """The group after a rebalance of the run; step 0 is the first assignment, -1 the last.

    Raises:
        SourceError: the run has no such step.
    """
    steps = result.steps
    name = result.scenario.name
    if not -len(steps) <= step < len(steps):
        raise SourceError(f"{name}#{step}: the run has {len(steps)} steps, 0 to {len(steps) - 1}")
    made = steps[step]
    given = GroupState.of(made.assignment)
    members = []
    for member in given.members:
        consumer = made.consumers[member.id]
        instance_id = consumer.name if consumer.static else None
        members.append(MemberIdentity(member.id, instance_id, consumer.name, topics=consumer.topics))
    return replace(given, members=tuple(members), name=name, status=f"generation {made.generation}")
