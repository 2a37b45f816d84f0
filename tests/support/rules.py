"""The rules by the names of their assignors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.rules.broker_range import assign_broker_range
from assignors.rules.range import assign_range
from assignors.rules.round_robin import assign_round_robin
from assignors.rules.uniform import assign_uniform

if TYPE_CHECKING:
    from assignors.assignment import Assignment
    from assignors.group import Group

RULES = {
    "range": assign_range,
    "roundrobin": assign_round_robin,
    "uniform": assign_uniform,
    "broker-range": assign_broker_range,
}


class RuleLeader:
    """A leader that asks the rule of an assignor that remembers nothing."""

    def __init__(self, assignor: str) -> None:
        self._rule = RULES[assignor]

    def assign(self, group: Group) -> Assignment:
        return self._rule(group)
