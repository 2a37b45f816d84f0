"""What an assignor would do to a group as it is, or as it might be."""

from copartition.groups.plan.planning import plan
from copartition.groups.plan.topics import as_complete
from copartition.groups.plan.what_if import Joiner, WhatIf

__all__ = ["Joiner", "WhatIf", "as_complete", "plan"]
