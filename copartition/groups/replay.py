"""States of a simulated group."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from assignors.state import GroupState, MemberIdentity
from partitioning.errors import SourceError

if TYPE_CHECKING:
    from copartition.simulation import Consumer, Scenario, SimulationResult


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
        topics = _read_by(consumer, result.scenario, given)
        members.append(MemberIdentity(member.id, instance_id, consumer.name, topics=topics))
    return replace(given, members=tuple(members), name=name, status=f"generation {made.generation}")


def _read_by(consumer: Consumer, scenario: Scenario, now: GroupState) -> tuple[str, ...]:
    """The topics that a consumer subscribes to; a pattern's are those that there are."""
    if consumer.pattern is not None:
        return tuple(name for name in now.topics if re.fullmatch(consumer.pattern, name))
    if consumer.topics is not None:
        return consumer.topics
    return tuple(topic.name for topic in scenario.topics)
