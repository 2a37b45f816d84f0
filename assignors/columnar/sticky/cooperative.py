"""The hand-over of "cooperative-sticky" (KIP-429)."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from assignors.columnar.sticky.claims import Memory
from assignors.protocol import decode_cooperative_user_data

if TYPE_CHECKING:
    from assignors.columnar.numbering import Numbering
    from assignors.columnar.sticky.claims import Claims
    from assignors.columnar.sticky.outcome import Outcome
    from assignors.group import Member


def recall_owned(numbering: Numbering) -> Memory:
    """What cooperative members remember: the partitions they own, and since which generation (KIP-792)."""
    members = numbering.members
    return Memory(
        partitions=[member.owned for member in members],
        generation=[
            _generation_before_kip_792(member) if generation is None or generation < 0 else generation
            for member, generation in zip(members, map(attrgetter("generation"), members), strict=True)
        ],
    )


def _generation_before_kip_792(member: Member) -> int | None:
    """A member's generation where its subscription has none: from its user data."""
    data = member.user_data
    return None if data is None else decode_cooperative_user_data(bytes(data))


def with_transfers(numbering: Numbering, claims: Claims, outcome: Outcome) -> Outcome:
    """Marks what is new to its member and given up by another one that claims it."""
    ids = numbering.starts[outcome.topic] + outcome.number
    owner = np.full(numbering.total, -1, np.int32)
    owner[claims.id] = claims.member
    had = owner[ids]
    moving = (had >= 0) & (had != outcome.member)
    return replace(outcome, transferring=moving) if moving.any() else outcome
