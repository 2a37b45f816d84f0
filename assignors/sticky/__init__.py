"""The sticky assignors' algorithms; `StickyAssignor` is "sticky"."""

from assignors.sticky.assignor import StickyAssignor

__all__ = ["StickyAssignor"]
