"""Tests of code that places records find here a mock cluster and the rules that every partitioner keeps."""

from partitioning.testing.conformance import check_partitioner
from partitioning.testing.mock_cluster import MockCluster

__all__ = ["MockCluster", "check_partitioner"]


def __dir__() -> list[str]:
    """Name what the package offers, for people and their editors."""
    return __all__
