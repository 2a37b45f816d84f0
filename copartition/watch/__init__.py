"""A group over time: looks at it, what changed between them, and what is kept of it."""

from copartition.watch.changes import Change, Kind, Watch
from copartition.watch.poll import Looks

__all__ = ["Change", "Kind", "Looks", "Watch"]
