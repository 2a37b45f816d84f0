"""How the weights of partitions lie on the members of a state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assignors.optimal.quality import certificate
from copartition.diff.balance import group_of

if TYPE_CHECKING:
    from assignors.state import GroupState
    from assignors.weighted.certificate import Certificate
    from assignors.weighted.weights import Weights


def certificate_of(state: GroupState, weights: Weights) -> Certificate | None:
    """The peak of a state, and what no assignment can beat.

    Members whose subscriptions are unknown could read everything, so that no assignment beats the bound
    whatever the truth is. None where the state does not tell all members, all partitions and their owners.
    """
    seen = state.topic * (np.int64(2**32)) + state.partition
    one_owner = len(np.unique(seen)) == len(seen)
    if not (state.complete and state.members_complete and one_owner):
        return None
    return certificate(group_of(state), state.assignment, weights)
