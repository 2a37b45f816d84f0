"""Tests of code that assigns partitions find here the rules that every assignor keeps.

Call `check_assignor(MyAssignor)` in a test: it tells an assignor a few dozen stories of groups and checks
each answer.
"""

from assignors.testing.conformance import check_assignor

__all__ = ["check_assignor"]


def __dir__() -> list[str]:
    """Name what the package offers, for people and their editors."""
    return __all__
