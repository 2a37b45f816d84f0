"""How even a group is as it stands, against the best that its subscriptions allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.group import Group, Member, Topic
from assignors.optimal.quality import quality
from partitioning.errors import InvalidGroupError

if TYPE_CHECKING:
    from assignors.optimal.quality import AssignmentQuality
    from assignors.state import GroupState


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
