"""The mutations: small mistakes that a hand could make, and the tests that have to notice each."""

from typing import NamedTuple

from tools.mutations import of_assignors, of_copartition, of_partitioning, of_spark


class Mutation(NamedTuple):
    """One change.

    Attributes:
        path: a source file.
        old: text that it has exactly once.
        new: what stands there instead.
        tests: what pytest runs, divided by blanks.
    """

    path: str
    old: str
    new: str
    tests: str


MUTATIONS = [
    Mutation(*row) for part in (of_partitioning, of_assignors, of_copartition, of_spark) for row in part.ROWS
]
