"""Who has most and who has fewest partitions, while partitions are handed out or moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class MemberAssignmentBalancer:
    """A topic's subscribers by how many partitions they have, from both ends.

    It is `UniformHeterogeneousAssignmentBuilder.MemberAssignmentBalancer`, Kafka 4.4.0 (as 4.0 to 4.4). The
    members with fewest are a range that grows to the right: each gets one partition a round, then members
    with as many join in. Members with most are a range that grows to the left: each loses one a round.

    Args:
        subscribers: the members, ascending; there is one.
        sizes: how many partitions each member of the group has. They change while partitions go round.

    Attributes:
        imbalance: by how much the most and the fewest partitions differ to begin with.
    """

    def __init__(self, subscribers: Sequence[int], sizes: Sequence[int]) -> None:
        self._sizes = sizes
        self._sorted_members = sorted(subscribers, key=sizes.__getitem__)  # stable: ties stay ascending
        least, most = sizes[self._sorted_members[0]], sizes[self._sorted_members[-1]]
        self.imbalance = most - least
        # The first range is [0, end), the last one is [start, end).
        self._least_loaded_range_end = 0
        self._least_loaded_range_partition_count = least - 1
        self._next_least_loaded_member = 0
        self._most_loaded_range_start = self._most_loaded_range_end = len(self._sorted_members)
        self._most_loaded_range_partition_count = most + 1
        self._next_most_loaded_member = len(self._sorted_members) - 1

    def is_balanced(self) -> bool:
        """Whether what both ranges have come to differs by one at most."""
        return self._most_loaded_range_partition_count - self._least_loaded_range_partition_count <= 1

    def next_least_loaded_member(self) -> int:
        """The member that gets the next partition."""
        if self._next_least_loaded_member >= self._least_loaded_range_end:
            # All of the range have got one, so now they have as many as the next ones.
            self._least_loaded_range_partition_count += 1
            while (
                self._least_loaded_range_end < len(self._sorted_members)
                and self._size_at(self._least_loaded_range_end) == self._least_loaded_range_partition_count
            ):
                self._least_loaded_range_end += 1
            self._next_least_loaded_member = 0
        member = self._sorted_members[self._next_least_loaded_member]
        self._next_least_loaded_member += 1
        return member

    def next_most_loaded_member(self) -> int | None:
        """The member that gives up the next partition; None where all were excluded."""
        if self._next_most_loaded_member < self._most_loaded_range_start:
            is_empty = self._most_loaded_range_end <= self._most_loaded_range_start
            if is_empty and self._most_loaded_range_start > 0:
                # All of the range were excluded: go on with the next ones, however many they have.
                self._most_loaded_range_partition_count = self._size_at(self._most_loaded_range_start - 1)
            else:
                self._most_loaded_range_partition_count -= 1
            while (
                self._most_loaded_range_start > 0
                and self._size_at(self._most_loaded_range_start - 1)
                == self._most_loaded_range_partition_count
            ):
                self._most_loaded_range_start -= 1
            self._next_most_loaded_member = self._most_loaded_range_end - 1
        if self._next_most_loaded_member < 0:
            return None
        member = self._sorted_members[self._next_most_loaded_member]
        self._next_most_loaded_member -= 1
        return member

    def exclude_most_loaded_member(self) -> None:
        """Takes the member that `next_most_loaded_member` gave last out of the range, to its right."""
        self._most_loaded_range_end -= 1
        members = self._sorted_members
        excluded, last = self._next_most_loaded_member + 1, self._most_loaded_range_end
        members[excluded], members[last] = members[last], members[excluded]

    def _size_at(self, place: int) -> int:
        return self._sizes[self._sorted_members[place]]
