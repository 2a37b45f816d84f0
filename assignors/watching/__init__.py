"""A group over time: looks at it, what changed between them, and what is kept of it."""

from assignors.watching.changes import Change, Kind, Watch
from assignors.watching.looking import Looks

__all__ = ["Change", "Kind", "Looks", "Watch"]
