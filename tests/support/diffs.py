"""Diffs of groups of any size."""

import numpy as np

from assignors.state import GroupState, MemberIdentity
from copartition.assignment_diff import diff


def state(owners, *, members=None, name="m-{}", **known):
    """A group of one topic; `owners[i]` has partition i, -1 is nobody."""
    owners = np.asarray(owners, np.int32)
    number = int(owners.max(initial=-1)) + 1 if members is None else members
    identities = tuple(MemberIdentity(name.format(index)) for index in range(number))
    partition = np.arange(len(owners), dtype=np.int32)
    return GroupState(
        identities, ("orders",), owners, np.zeros_like(owners), partition, complete=True, **known
    )


def shuffled(members, partitions):
    """Everything moves: each member's partitions go to all members after it, one each."""
    before = np.arange(partitions) * members // partitions
    after = (before + 1 + np.arange(partitions) % (members - 1)) % members
    return diff(state(before), state(after), match="member-id")


def joined(members, share):
    """One member joins and takes a partition of everybody."""
    before = np.arange(members * share) // share
    after = before.copy()
    after[::share] = members
    return diff(state(before), state(after), match="member-id")
