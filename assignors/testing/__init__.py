"""Tests of code that assigns partitions find here the rules that every assignor keeps."""

from assignors.testing.conformance import check_assignor

__all__ = ["check_assignor"]
