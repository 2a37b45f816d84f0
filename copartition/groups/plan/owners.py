"""Who has each partition, as a column that two assignments of one group can be compared by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from assignors.assignment import Assignment
    from assignors.group import Topic


def owners(topics: Sequence[Topic], assignment: Assignment, places: Mapping[str, int]) -> NDArray[np.int64]:
    """The place of the member that has each partition of these topics, -1 for nobody."""
    start = np.cumsum([0, *(topic.partitions for topic in topics)])
    row = {topic.name: number for number, topic in enumerate(topics)}
    members, names, member, topic, partition = assignment.to_arrays()
    column = np.full(int(start[-1]), -1, np.int64)
    place = np.array([places[name] for name in members], np.int64)
    column[start[np.array([row[name] for name in names], np.int64)[topic]] + partition] = place[member]
    return column
