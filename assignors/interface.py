"""Every assignor, ours or a stranger's, has this interface; it may record reasons for its steps."""

from collections.abc import Callable
from enum import Enum, IntEnum
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

from assignors.assignment import Assignment
from assignors.group import Group
from assignors.partition_list import PartitionList
from assignors.protocol import encode_cooperative_user_data, encode_sticky_user_data
from partitioning.topic_partition import TopicPartition


class Reason(Enum):
    """Names what a step of an assignor does with one partition.

    >>> [reason.value for reason in Reason][:3]
    ['kept', 'over quota', 'no longer subscribed']
    """

    # What a member had, and keeps or loses.
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
    # What a member gets.
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
    # What no member has after this rebalance, and what is not known.
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


def record_nothing(partition: TopicPartition, reason: Reason, member: str) -> None:
    """Record nothing."""


class RebalanceProtocol(IntEnum):
    """Members hand partitions over eagerly or cooperatively; a consumer uses its highest (KIP-429).

    >>> sorted(get_assignor("cooperative-sticky").protocols)
    [<RebalanceProtocol.EAGER: 0>, <RebalanceProtocol.COOPERATIVE: 1>]
    """

    EAGER = 0
    COOPERATIVE = 1


@runtime_checkable
class Assignor(Protocol):
    """Assigns the partitions of a group; one instance is one leader's lifetime.

    >>> isinstance(get_assignor("range"), Assignor), get_assignor("range").name
    (True, 'range')
    """

    @property
    def name(self) -> str:
        """The protocol name members vote for, such as "cooperative-sticky"."""

    @property
    def protocols(self) -> frozenset[RebalanceProtocol]:
        """The rebalance protocols it can take part in."""

    def assign(self, group: Group) -> Assignment:
        """Return who gets what; every member of the group is in the answer."""


@runtime_checkable
class RecordingAssignor(Protocol):
    """Adds to an assignor that it can say why it decides as it does; `explain` asks for that.

    >>> group = Group([Topic("orders", 1)], [Member("a", ["orders"])])
    >>> assignment = get_assignor("range").assign_recorded(group, print)
    orders-0 Reason.RANGE a
    """

    def assign_recorded(self, group: Group, record: Recorder) -> Assignment:
        """As `assign`, telling each step."""


@runtime_checkable
class RememberingAssignor(Protocol):
    """Adds to an assignor that joining members send its leader data of its own (KIP-54).

    Java's interface has `subscriptionUserData` and `onAssignment` for that; here the client adapter remembers
    what the consumer was assigned, for all its assignors, also those the group did not choose.

    >>> decode_sticky_user_data(get_assignor("sticky").user_data(PartitionList.of([("orders", 1)]), 3))
    (PartitionList([('orders', 1)]), 3)
    """

    def user_data(self, owned: PartitionList, generation: int) -> bytes | None:
        """Return what a member sends along that was assigned `owned` in this generation, -1 before its first.

        None sends nothing. The leader finds it in `Member.user_data`, where other bytes may be, too: those of
        another strategy, of an older version, or cut.
        """


class EagerMemory:
    """Remembers for members of "sticky" what they send along when they join."""

    protocols: ClassVar[frozenset[RebalanceProtocol]] = frozenset({RebalanceProtocol.EAGER})

    def user_data(self, owned: PartitionList, generation: int) -> bytes | None:
        """Return what Java's StickyAssignor sends (KIP-341): nothing before its first assignment."""
        return encode_sticky_user_data(owned, generation) if generation >= 0 else None


class CooperativeMemory:
    """Remembers what members of "cooperative-sticky" own."""

    protocols: ClassVar[frozenset[RebalanceProtocol]] = frozenset(RebalanceProtocol)

    def user_data(self, owned: PartitionList, generation: int) -> bytes | None:  # noqa: ARG002 - KIP-429 sends it
        """Return what Java's CooperativeStickyAssignor sends.

        The generation of the claim that travels beside it.
        """
        return encode_cooperative_user_data(generation)
