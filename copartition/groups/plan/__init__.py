"""What an assignor would do to a group as it is, or as it might be."""

from copartition.groups.plan.members import Joiner, WhatIf
from copartition.groups.plan.planner import as_complete, plan

__all__ = ["Joiner", "WhatIf", "as_complete", "plan"]
