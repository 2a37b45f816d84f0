"""Sticky assignment where subscriptions differ.

Members keep what they own; what is left goes to whoever subscribes to it and has the fewest; then partitions
move until no move makes the assignment more balanced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assignors.columns import join
from assignors.sticky.audiences import Audiences
from assignors.sticky.distribution import distribute
from assignors.sticky.outcome import Outcome
from assignors.sticky.reassignment import Reassignment

if TYPE_CHECKING:
    from assignors.sticky.catalogue import Catalogue
    from assignors.sticky.ownership import Ownership
    from assignors.sticky.racks import Racks


def assign_general(catalogue: Catalogue, owned: Ownership, racks: Racks | None) -> Outcome:
    """Assigns the partitions of members that subscribe to different topics.

    Raises:
        AssignorError: balancing meets a member that takes no part in it (NullPointerException), or it never
            ends, as in the JVM.
    """
    audiences = Audiences.of(catalogue)
    distribution = distribute(catalogue, owned, racks, audiences)
    reassignment = Reassignment(catalogue, owned, racks, audiences, distribution)
    before = reassignment.imbalance()
    shared = [topic for topic in audiences.order if audiences.potential[topic] >= 2]
    if not distribution.revokes:
        reassignment.run((topic, distribution.unassigned[topic].tolist()) for topic in shared)
    starts = catalogue.starts.tolist()
    moved = reassignment.run((topic, range(starts[topic], starts[topic + 1])) for topic in shared)
    if moved and distribution.kept and reassignment.imbalance() >= before:
        member, ids = distribution.member, distribution.id
    else:
        member, ids = reassignment.rows()
    topics, numbers = owned.phantoms
    ids = np.maximum(ids, ~ids)
    return Outcome(
        np.array(catalogue.by_id)[member],
        join(catalogue.topic_of, topics)[ids],
        join(catalogue.number_of, numbers)[ids],
        None,
    )
