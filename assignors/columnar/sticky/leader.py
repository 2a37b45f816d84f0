"""What a leader of a sticky group decides: who owns what, then who gets what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.columnar.numbering import Numbering, in_name_order, topics_that_exist
from assignors.columnar.odd_group import OddGroup
from assignors.columnar.racks import Racks
from assignors.columnar.sticky.claims import read_claims
from assignors.columnar.sticky.constrained import assign_constrained
from assignors.columnar.sticky.cooperative import recall_owned, with_transfers
from assignors.columnar.sticky.general import assign_general
from assignors.columnar.sticky.user_data import recall_user_data
from assignors.columnar.subscriptions import Subscriptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from assignors.assignment import Assignment
    from assignors.columnar.sticky.claims import Claims, Memory
    from assignors.columnar.sticky.outcome import Outcome
    from assignors.group import Group


def assign_sticky(group: Group, highest: int) -> tuple[Assignment, int]:
    """The assignment of "sticky", and the highest generation the leader has seen by then.

    Args:
        group: the group.
        highest: the highest generation the leader has seen before.

    Raises:
        OddGroup: the rule has to answer.
    """
    numbering, claims, outcome = _decide(group, highest, recall_user_data)
    return outcome.assignment(numbering, hold_back=False), claims.highest


def assign_cooperative_sticky(group: Group, highest: int) -> tuple[Assignment, int]:
    """The same for "cooperative-sticky", which holds back what another member has to give up first."""
    numbering, claims, outcome = _decide(group, highest, recall_owned)
    if not numbering.subscriptions.are_equal:
        outcome = with_transfers(numbering, claims, outcome)
    return outcome.assignment(numbering, hold_back=True), claims.highest


def _decide(
    group: Group, highest: int, recall: Callable[[Numbering], Memory]
) -> tuple[Numbering, Claims, Outcome]:
    """Who gets what, and what that was decided from."""
    subscriptions = Subscriptions.of(group.members)
    if not group.members or (len(subscriptions.lists) > 1 and () in subscriptions.lists):
        raise OddGroup
    topics = topics_that_exist(group, set().union(*subscriptions.lists))
    numbering = Numbering.of(group.members, subscriptions, in_name_order(topics.values()))
    claims = read_claims(numbering, recall(numbering), highest)
    assign = assign_constrained if subscriptions.are_equal else assign_general
    return numbering, claims, assign(numbering, claims, Racks.of(topics, numbering))
