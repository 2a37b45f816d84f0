"""Checks, for tests of your own assignor, the rules that every assignor must keep.

Call `check_assignor(MyAssignor)` in a test. It asks the assignor to assign groups through a few dozen random
stories, in which members join and leave and topics change, and checks each answer.
"""

from assignors.testing.conformance import check_assignor

__all__ = ["check_assignor"]


def __dir__() -> list[str]:
    """Name what the package offers, for people and their editors."""
    return __all__
