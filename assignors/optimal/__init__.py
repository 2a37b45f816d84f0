"""Assignments that are provably best: exact loads, fewest moves."""
