"""Helpers for tests of code that places records: a mock cluster, and a check of the rules of partitioners."""

from partitioning.testing.conformance import check_partitioner
from partitioning.testing.mock_cluster import MockCluster

__all__ = ["MockCluster", "check_partitioner"]


def __dir__() -> list[str]:
    """Return the names that the package offers, for people and their editors."""
    return __all__
