"""What a test of code that assigns partitions needs: the rules that every assignor keeps."""

from assignors.testing.conformance import check_assignor

__all__ = ["check_assignor"]
