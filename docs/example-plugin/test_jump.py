"""Jump keeps the rules of every partitioner."""

from copartition_jump import JumpPartitioner

from partitioning.testing import check_partitioner


def test_jump_is_a_partitioner() -> None:
    check_partitioner(JumpPartitioner)
