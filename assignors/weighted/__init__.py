"""Assignments of weighted partitions to members of different capacity, each with a certificate."""
