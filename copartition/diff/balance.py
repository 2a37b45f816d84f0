"""How even a group is as it stands, by partitions and by weights, against the best that is possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assignors.group import Group, Member, Topic
from assignors.optimal.quality import certificate, quality
from partitioning.errors import InvalidGroupError

if TYPE_CHECKING:
    from assignors.assignment import Certificate
    from assignors.optimal.quality import AssignmentQuality
    from assignors.state import GroupState
    from assignors.weighted.weights import Weights


def group_of(state: GroupState) -> Group:
    """A state as assignors see it; members whose subscriptions are unknown read everything."""
    members = [
        Member(member.id, state.topics if member.topics is None else member.topics)
        for member in state.members
    ]
    counts = state.highest_counts.tolist()
    return Group([Topic(name, count) for name, count in zip(state.topics, counts, strict=True)], members)


def balance_of(state: GroupState) -> AssignmentQuality | None:
    """The loads of a group and the best ones; None where partitions have two owners."""
    try:
        return quality(group_of(state), state.assignment)
    except InvalidGroupError:
        return None


def certificate_of(state: GroupState, weights: Weights) -> Certificate | None:
    """The peak of a state, and what no assignment can beat.

    Members whose subscriptions are unknown could read everything, so that no assignment beats the bound
    whatever the truth is. None where the state does not tell all members, all partitions and their owners.
    """
    place = state.topic * (np.int64(2**32)) + state.partition
    one_owner = len(np.unique(place)) == len(place)
    if not (state.complete and state.members_complete and one_owner):
        return None
    return certificate(group_of(state), state.assignment, weights)
