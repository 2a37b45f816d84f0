"""The reasons a decision gives while it is made."""

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from partitioning.topic_partition import TopicPartition


class Reason(Enum):
    """What a step of an assignor does with one partition.

    >>> [reason.value for reason in Reason][:3]
    ['kept', 'over quota', 'no longer subscribed']
    """

    KEPT = "kept"
    """A member had it and keeps it."""
    OVER_QUOTA = "over quota"
    """A member had it and gives it up, because it has its share without it."""
    UNSUBSCRIBED = "no longer subscribed"
    """A member had it and gives it up, because it no longer subscribes to its topic or the topic is gone."""
    GIVEN_UP = "given up"
    """A member had it and gives it up, because the best loads there are want it elsewhere."""
    RELIEVED = "relieved"
    """A member had it and gives it up, so that the largest load over capacity becomes lower."""
    FAR = "far"
    """A member had it and gives it up, because it has no replica in the member's rack (KIP-881)."""
    CONTESTED = "contested"
    """A member claimed it that is claimed once more in the same generation, so that neither claim counts."""
    OUTDATED = "outdated"
    """A member claimed it that another one claims in a later generation (KIP-792)."""
    RANGE = "range"
    """It belongs to the member's range of its topic."""
    TURN = "turn"
    """It was the member's turn in the circle."""
    FILLED = "filled"
    """It was free, and the member had fewer than its share, or the fewest of all subscribers."""
    NEAR = "near"
    """As `FILLED` or `RANGE`, and it has a replica in the member's rack (KIP-881)."""
    BALANCED = "balanced"
    """It moves to the subscriber with the fewest, because the member that had it had at least two more."""
    SWAPPED = "swapped"
    """It goes back in place of another partition of its topic, which would have crossed its earlier move."""
    STOLEN_BACK = "stolen back"
    """It returns to a member that had it in an earlier generation and has at least two partitions less."""
    BEST = "best"
    """It was free, and with it the member has its part of the best loads there are."""
    LIGHT = "light"
    """It was free, and with it the largest load over capacity stays low."""
    UNDONE = "undone"
    """It is where it was before balancing, which made nothing better and was undone as a whole."""
    HELD_BACK = "held back"
    """It waits a round, until the member that owns it has given it up (KIP-429)."""
    NOBODY = "nobody"
    """No member subscribes to its topic, or it does not exist."""
    NOT_TOLD = "not told"
    """The assignor does not record its steps."""


class Step(NamedTuple):
    """One step of a decision about one partition.

    >>> Step(Reason.KEPT, member="billing-1")
    Step(reason=<Reason.KEPT: 'kept'>, member='billing-1')

    Attributes:
        reason: what was done and why.
        member: id of the member that keeps, gives up or gets the partition.
    """

    reason: Reason
    member: str


Recorder = Callable[[TopicPartition, Reason, str], None]
"""Is called with every step: the partition, the reason, and the member that keeps, gives up or gets it.

>>> from partitioning import TopicPartition
>>> record: Recorder = print
>>> record(TopicPartition("orders", 0), Reason.KEPT, "billing-1")
orders-0 Reason.KEPT billing-1
"""


def unrecorded(partition: TopicPartition, reason: Reason, member: str) -> None:
    """A recorder that forgets."""
