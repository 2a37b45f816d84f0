"""A group over time: looks at it, what changed between them, and what is kept of it."""

from copartition.watch.changes import Change, Kind, Looks, Trouble, Watch

__all__ = ["Change", "Kind", "Looks", "Trouble", "Watch"]
