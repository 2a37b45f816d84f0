"""The "cooperative-sticky" assignor (KIP-429)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from assignors.interface import RebalanceProtocol
from assignors.protocol import decode_cooperative_user_data
from assignors.sticky.assignor import StickyLeader
from assignors.sticky.ownership import Memory

if TYPE_CHECKING:
    from assignors.assignment import Assignment
    from assignors.group import Group, Member
    from assignors.sticky.catalogue import Catalogue
    from assignors.sticky.outcome import Outcome
    from assignors.sticky.ownership import Ownership


class CooperativeStickyAssignor:
    """As "sticky", but a partition waits a round before it moves, so that its old owner can give it up first.

    What waits is in the assignment's `transferring`; the members that lose partitions rejoin at once.
    """

    name = "cooperative-sticky"
    protocols = frozenset({RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER})

    def __init__(self) -> None:
        self._leader = StickyLeader(recall_owned)

    def assign(self, group: Group) -> Assignment:
        """Who gets what in this round.

        Raises:
            AssignorError: where the JVM throws.
        """
        catalogue, owned, outcome = self._leader.decide(group)
        if not catalogue.all_equal:
            outcome = _with_transfers(catalogue, owned, outcome)
        return outcome.assignment(catalogue, hold_back=True)


def recall_owned(catalogue: Catalogue) -> Memory:
    """What cooperative members remember: the partitions they own, and since which generation (KIP-792)."""
    members = catalogue.members
    return Memory([member.owned for member in members], [_generation(member) for member in members])


def _generation(member: Member) -> int | None:
    """A member's generation: from its subscription, or else its user data, where it was before KIP-792."""
    generation = member.generation
    if generation is not None and generation >= 0:
        return generation
    data = member.user_data
    return None if data is None else decode_cooperative_user_data(bytes(data))


def _with_transfers(catalogue: Catalogue, owned: Ownership, outcome: Outcome) -> Outcome:
    """Marks what is new to its member and given up by another one that claims it."""
    rows = np.flatnonzero((outcome.partition >= 0) & (outcome.partition < catalogue.counts[outcome.topic]))
    ids, member = catalogue.starts[outcome.topic[rows]] + outcome.partition[rows], outcome.member[rows]
    exists = owned.id < catalogue.total
    claims, claimant = owned.id[exists], owned.member[exists]

    # A partition has one member, or two where claims of partitions that do not exist confuse the JVM.
    holder = np.full((2, catalogue.total), -1)
    holder[0, ids] = member
    other = holder[0, ids] != member
    holder[1, ids[other]] = member[other]
    keeps = holder[:, claims] == claimant
    known = np.zeros((2, catalogue.total), np.bool_)
    known[0, claims[keeps[0]]] = True
    known[1, claims[keeps[1]]] = True
    given_up = np.zeros(catalogue.total, np.bool_)
    given_up[claims[~keeps.any(axis=0)]] = True
    moving = given_up[ids] & ~known[other.astype(np.intp), ids]
    if not moving.any():
        return outcome

    rows, ids, member = rows[moving], ids[moving], member[moving]
    if other.any():
        # The JVM holds a partition back from one member, the one that its HashMap visits last.
        order = np.lexsort((rows, -np.argsort(catalogue.by_owner_hash)[member], ids))
        rows = rows[order[np.unique(ids[order], return_index=True)[1]]]
    transferring = np.zeros(len(outcome.member), np.bool_)
    transferring[rows] = True
    return replace(outcome, transferring=transferring)
