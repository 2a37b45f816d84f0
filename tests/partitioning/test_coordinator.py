import pytest

from partitioning import coordinator_partition
from partitioning.errors import InvalidPartitionCountError


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        ("test", 48),
        ("my-group", 12),
        ("console-consumer-1", 24),
        ("polygenelubricants", 0),
        ("", 0),
        ("\U0001f600", 49),
    ],
)
def test_coordinator_partition(group, expected):
    assert coordinator_partition(group) == expected


@pytest.mark.parametrize("count", [0, -1, 2**31])
def test_coordinator_partition_needs_a_partition_count(count):
    with pytest.raises(InvalidPartitionCountError, match="1 to 2147483647"):
        coordinator_partition("g", count)
