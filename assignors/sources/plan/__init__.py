"""What an assignor would do to a group as it is, or as it might be."""

from assignors.sources.plan.planning import plan
from assignors.sources.plan.topics import as_complete
from assignors.sources.plan.what_if import Joiner, WhatIf

__all__ = ["Joiner", "WhatIf", "as_complete", "plan"]
