"""Two choices keep the rules of every partitioner."""

from copartition_two_choices import TwoChoicesPartitioner

from partitioning.testing import check_partitioner


def test_two_choices_are_a_partitioner() -> None:
    check_partitioner(TwoChoicesPartitioner)
