"""The rebalances that follow one another until a group has come to rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from assignors.assignment import Assignment
    from assignors.group import Group


def settle(decide: Callable[[Group], Assignment], group: Group, follow_ups: int) -> Iterator[Assignment]:
    """The answers to a group and to what becomes of it, while partitions are held back.

    Args:
        decide: answers one rebalance.
        group: the group at the first one.
        follow_ups: the most rebalances after the first.
    """
    assignment = decide(group)
    yield assignment
    for _ in range(follow_ups):
        if not assignment.transferring:
            return
        group = group.next(assignment)
        assignment = decide(group)
        yield assignment
