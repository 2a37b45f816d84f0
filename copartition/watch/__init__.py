"""A group over time: looks at it, what changed between them, and what is kept of it."""

from copartition.watch.changes import Change, Kind, Looks, Watch

__all__ = ["Change", "Kind", "Looks", "Watch"]
