"""Sticky assignment where subscriptions differ.

Members keep what they own; what is left goes to whoever subscribes to it and has the fewest; then partitions
move until no move makes the assignment more balanced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.columnar.sticky.distribution import distribute
from assignors.columnar.sticky.outcome import Outcome
from assignors.columnar.sticky.readers import Readers
from assignors.columnar.sticky.reassignment import Reassignment

if TYPE_CHECKING:
    from assignors.columnar.numbering import Numbering
    from assignors.columnar.racks import Racks
    from assignors.columnar.sticky.claims import Claims


def assign_general(numbering: Numbering, claims: Claims, racks: Racks | None) -> Outcome:
    """Assigns the partitions of members that subscribe to different topics.

    Raises:
        OddGroup: balancing meets a member that takes no part in it, or it never ends.
    """
    readers = Readers.of(numbering)
    distribution = distribute(numbering, claims, racks, readers)
    reassignment = Reassignment(numbering, claims, readers, distribution)
    before = reassignment.imbalance()
    shared = [topic for topic in readers.order if readers.potential[topic] >= 2]
    if not distribution.revokes:
        reassignment.run((topic, distribution.unassigned[topic].tolist()) for topic in shared)
    starts = numbering.starts.tolist()
    moved = reassignment.run((topic, range(starts[topic], starts[topic + 1])) for topic in shared)
    if moved and distribution.kept and reassignment.imbalance() >= before:
        rank, ids = distribution.rank, distribution.id
    else:
        rank, ids = reassignment.rows()
    return Outcome(
        member=numbering.by_id[rank],
        topic=numbering.topic_of[ids],
        number=numbering.number_of[ids],
        transferring=None,
    )
