"""Leaders that ask the rules of the sticky strategies, and remember what a leader does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors import AssignorError
from assignors.reasons import unrecorded
from assignors.rules import cooperative_sticky, sticky
from assignors.rules.sticky_claims import DEFAULT_GENERATION, max_generation_of

if TYPE_CHECKING:
    from assignors import Assignment, Group
    from assignors.reasons import Recorder

RULES = {
    "sticky": (sticky.assign_sticky, sticky.member_data),
    "cooperative-sticky": (cooperative_sticky.assign_cooperative_sticky, cooperative_sticky.member_data),
}


class RuleLeader:
    """A leader whose decisions are those of a rule; a decision that fails counts for its memory too."""

    def __init__(self, assignor: str, record: Recorder = unrecorded) -> None:
        self._assign, self._recall = RULES[assignor]
        self._record = record
        self.highest = DEFAULT_GENERATION

    def assign(self, group: Group) -> Assignment:
        try:
            assignment, self.highest = self._assign(group, self.highest, self._record)
        except AssignorError:
            self.highest = max_generation_of(map(self._recall, group.members), self.highest)
            raise
        return assignment
