"""What the sticky rules keep: racks, members by size, and moves that go back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.group import Member, Topic
from assignors.rules.sticky_structures import (
    ConsumerPair,
    PartitionMovements,
    RackInfo,
    SortedSubscriptions,
    balance_score,
)
from partitioning.topic_partition import TopicPartition

TOPIC = Topic("t", 3, racks=[{"a"}, {"b"}, {"a", "b"}])
FIRST, SECOND, BOTH = (TopicPartition("t", number) for number in range(3))
NEAR_A, NEAR_B, NOWHERE = Member("x", ["t"], rack="a"), Member("y", ["t"], rack="b"), Member("z", ["t"])


def test_a_member_without_a_rack_is_near_nothing_and_far_from_nothing() -> None:
    racks = RackInfo([TOPIC], [NEAR_A, NEAR_B, NOWHERE])
    assert [racks.is_near(member, FIRST) for member in "xyz"] == [True, False, False]
    assert [racks.racks_mismatch(member, FIRST) for member in "xyz"] == [False, True, False]


def test_partitions_that_the_fewest_members_are_near_come_first_and_ties_stay() -> None:
    racks = RackInfo([TOPIC], [NEAR_A, Member("w", ["t"], rack="a"), NEAR_B])
    assert racks.sort_partitions_by_rack_consumers([BOTH, FIRST, SECOND]) == [SECOND, FIRST, BOTH]
    assert RackInfo([TOPIC], [NOWHERE]).sort_partitions_by_rack_consumers([BOTH, FIRST]) == [BOTH, FIRST]


@pytest.mark.parametrize(("start", "position"), [(0, 0), (1, 2), (2, 2)])
def test_the_next_near_member_is_looked_for_round_the_circle(start: int, position: int) -> None:
    racks = RackInfo([TOPIC], [NEAR_A, NEAR_B])
    assert racks.next_rack_consumer(FIRST, ["x", "y", "x"], start) == position
    assert racks.next_rack_consumer(FIRST, ["y"], 0) is None


@given(
    sizes=st.lists(st.integers(0, 4), min_size=1, max_size=6),
    readers=st.sets(st.integers(0, 5), min_size=1),
    changes=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=8),
)
def test_the_first_subscriber_has_fewest_then_the_least_id(
    sizes: list[int], readers: set[int], changes: list[tuple[int, int]]
) -> None:
    held = {f"m{number}": [*range(size)] for number, size in enumerate(sizes)}
    subscribers = [name for name in (f"m{number}" for number in readers) if name in held] or [*held]
    order = SortedSubscriptions(held, {"t": subscribers}, {})
    for number, size in changes:
        name = f"m{number % len(sizes)}"
        before, held[name][:] = len(held[name]), range(size)
        order.update_size(name, before)
        assert order.first("t") == min(subscribers, key=lambda member: (len(held[member]), member))
        every = [len(partitions) for partitions in held.values()]
        assert order.difference == max(every) - min(every)
        assert order.ascending() == sorted(held, key=lambda member: (len(held[member]), member))


@given(st.lists(st.integers(0, 1000), max_size=6))
def test_the_score_is_the_sum_of_the_differences_of_all_pairs(sizes: list[int]) -> None:
    assert balance_score(sizes) == sum(abs(a - b) for a in sizes for b in sizes) // 2


def test_the_score_overflows_as_in_java() -> None:
    assert balance_score([0, 2**31]) == -(2**31)


def test_of_two_members_that_would_swap_the_partition_that_came_goes_back() -> None:
    moves = PartitionMovements()
    moves.move_partition(FIRST, "x", "y")
    assert moves.actual_partition_to_be_moved(SECOND, "y", "x") == FIRST
    assert moves.actual_partition_to_be_moved(SECOND, "x", "y") == SECOND
    assert moves.actual_partition_to_be_moved(TopicPartition("u", 0), "y", "x") == ("u", 0)


def test_a_partition_that_is_back_where_it_was_has_not_moved() -> None:
    moves = PartitionMovements()
    for source, destination in ("xy", "yz"):
        moves.move_partition(FIRST, source, destination)
    (moved,) = moves.state()
    assert moved[:2] == ("t", ConsumerPair("x", "z"))
    moves.move_partition(FIRST, "z", "x")
    assert not moves.state()
