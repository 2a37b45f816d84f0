"""The rebalances that follow one another until a group has come to rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from assignors.assignment import Assignment
    from assignors.group import Group


def settle(decide: Callable[[Group], Assignment], group: Group, follow_ups: int) -> tuple[Group, Assignment]:
    """The group at its last rebalance, and the answer to it, after which no partition is held back.

    Args:
        decide: answers one rebalance.
        group: the group at the first one.
        follow_ups: the most rebalances after the first.
    """
    assignment = decide(group)
    for _ in range(follow_ups):
        if not assignment.transferring:
            break
        group = group.next(assignment)
        assignment = decide(group)
    return group, assignment
