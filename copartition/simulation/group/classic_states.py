"""Define the states of a classic group, and the table by which it moves from one to another.

States and moves are those of Kafka's `ClassicGroup` and `GroupMetadataManager`. The class `ClassicGroup` in
`classic_group` changes its state only by an event of this table, so a move that Kafka does not make ends the
run with an error.
"""

from enum import Enum, auto
from typing import NamedTuple


class ClassicGroupState(Enum):
    """The state of a classic group, by the names of Kafka's `ClassicGroupState`; DEAD is never reached."""

    EMPTY = auto()
    STABLE = auto()
    PREPARING_REBALANCE = auto()
    """The group waits for its members at the join barrier."""
    COMPLETING_REBALANCE = auto()
    """The group waits for the leader's assignor."""


class GroupEvent(Enum):
    """Name the events that move a classic group; each value describes its event in words."""

    FOUND = "the group exists at time 0, or comes from a consumer group"
    REBALANCE = "a member joins, leaves, is lost or sees other partitions"
    ALL_JOINED = "all members are at the barrier, or its time is over"
    ASSIGNED = "the members have the leader's assignment"
    DESERTED = "the last member is gone"


class GroupMove(NamedTuple):
    """The state after an event, and what the group then does, in words for the page with the table."""

    to: ClassicGroupState
    does: str


_EMPTY, _STABLE, _PREPARING, _COMPLETING = ClassicGroupState
_FORGETS = "forgets the last assignment"
MOVES = {
    (_EMPTY, GroupEvent.FOUND): GroupMove(_STABLE, "takes its members and what they own"),
    (_EMPTY, GroupEvent.REBALANCE): GroupMove(_PREPARING, "waits group.initial.rebalance.delay.ms for more"),
    (_STABLE, GroupEvent.REBALANCE): GroupMove(_PREPARING, "tells each member at its next heartbeat"),
    (_COMPLETING, GroupEvent.REBALANCE): GroupMove(_PREPARING, "drops the assignment, all join again"),
    (_PREPARING, GroupEvent.ALL_JOINED): GroupMove(_COMPLETING, "answers JoinGroup, the leader assigns"),
    # The leader stood still while its assignor was at work, and begins again.
    (_COMPLETING, GroupEvent.ALL_JOINED): GroupMove(_COMPLETING, "lets the leader assign once more"),
    (_COMPLETING, GroupEvent.ASSIGNED): GroupMove(_STABLE, "answers SyncGroup, partitions are opened"),
    (_STABLE, GroupEvent.DESERTED): GroupMove(_EMPTY, _FORGETS),
    (_PREPARING, GroupEvent.DESERTED): GroupMove(_EMPTY, _FORGETS),
    (_COMPLETING, GroupEvent.DESERTED): GroupMove(_EMPTY, _FORGETS),
}
"""(state, event) -> `GroupMove`. An event that is missing for a state cannot happen in that state."""
