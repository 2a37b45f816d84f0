"""Leaders that ask the rule of a built-in strategy, also where the columns would have answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors import get_assignor
from assignors.interface import record_nothing

if TYPE_CHECKING:
    from assignors import Assignment, Group
    from assignors.interface import Recorder


class RuleLeader:
    """A leader that asks the rule of the assignor of this name."""

    def __init__(self, assignor: str, record: Recorder = record_nothing) -> None:
        self._leader = get_assignor(assignor)
        self._record = record

    def assign(self, group: Group) -> Assignment:
        return self._leader.assign_recorded(group, self._record)
