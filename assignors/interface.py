"""The interface of assignors, built-in ones and others, and the reasons that they can record."""

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

    # A member had or claimed the partition, and keeps or loses it.
    KEPT = "kept"
    """A member had the partition and keeps it."""
    OVER_QUOTA = "over quota"
    """A member gives the partition up, because it has more than its share."""
    UNSUBSCRIBED = "no longer subscribed"
    """A member gives the partition up, because it no longer subscribes to the topic or the topic is gone."""
    GIVEN_UP = "given up"
    """A member gives the partition up, because the best loads need it at another member."""
    RELIEVED = "relieved"
    """A member gives the partition up, so that the largest load over capacity becomes lower."""
    FAR = "far"
    """A member gives the partition up, because it has no replica in the member's rack (KIP-881)."""
    CONTESTED = "contested"
    """Two members claim the partition in the same generation, so neither claim counts."""
    OUTDATED = "outdated"
    """A member's claim does not count, because another member claims it in a later generation (KIP-792)."""
    # A member gets the partition.
    RANGE = "range"
    """The partition belongs to the member's range of the topic."""
    TURN = "turn"
    """It was the member's turn in the circle."""
    FILLED = "filled"
    """The partition was free, and the member had less than its share, or the fewest of all subscribers."""
    NEAR = "near"
    """The same as `FILLED` or `RANGE`, and the partition has a replica in the member's rack (KIP-881)."""
    BALANCED = "balanced"
    """The partition moves to the subscriber with the fewest partitions; its owner had at least two more."""
    SWAPPED = "swapped"
    """The partition moves back where it came from, in place of another partition of its topic."""
    STOLEN_BACK = "stolen back"
    """The partition returns to the member that had it in an earlier generation.

    That member has at least two partitions fewer than the present one.
    """
    BEST = "best"
    """The partition was free, and with it the member has its part of the best loads."""
    LIGHT = "light"
    """The partition was free, and with it the largest load over capacity stays low."""
    UNDONE = "undone"
    """The partition is where it was before balancing: balancing brought no gain and was undone."""
    # No member gets the partition in this rebalance, or the reason is unknown.
    HELD_BACK = "held back"
    """The partition is held back until the member that owns it has revoked it (KIP-429)."""
    NOBODY = "nobody"
    """No member subscribes to the topic, or the partition does not exist."""
    NOT_TOLD = "not told"
    """The assignor does not record its steps."""


class Step(NamedTuple):
    """One step of a decision about one partition.

    >>> Step(Reason.KEPT, member="billing-1")
    Step(reason=<Reason.KEPT: 'kept'>, member='billing-1')

    Attributes:
        reason: the kind of step, with its reason.
        member: the id of the member that keeps, gives up or gets the partition.
    """

    reason: Reason
    member: str


Recorder = Callable[[TopicPartition, Reason, str], None]
"""A function that is called with each step: the partition, the reason, and the id of the member concerned.

>>> from partitioning import TopicPartition
>>> record: Recorder = print
>>> record(TopicPartition("orders", 0), Reason.KEPT, "billing-1")
orders-0 Reason.KEPT billing-1
"""


def record_nothing(partition: TopicPartition, reason: Reason, member: str) -> None:
    """Record nothing."""


class RebalanceProtocol(IntEnum):
    """Names how members hand partitions over; a consumer uses the highest protocol it supports (KIP-429).

    >>> sorted(get_assignor("cooperative-sticky").protocols)
    [<RebalanceProtocol.EAGER: 0>, <RebalanceProtocol.COOPERATIVE: 1>]
    """

    EAGER = 0
    COOPERATIVE = 1


@runtime_checkable
class Assignor(Protocol):
    """Assigns the partitions of a group; an instance may remember things as a leader does while it leads.

    >>> isinstance(get_assignor("range"), Assignor), get_assignor("range").name
    (True, 'range')
    """

    @property
    def name(self) -> str:
        """The protocol name that members vote for, such as "cooperative-sticky"."""

    @property
    def protocols(self) -> frozenset[RebalanceProtocol]:
        """The rebalance protocols in which the assignor can take part."""

    def assign(self, group: Group) -> Assignment:
        """Return the assignment of a group; every member of the group is in it."""


@runtime_checkable
class RecordingAssignor(Protocol):
    """Describes an assignor that can also record the reasons of its decisions; `explain` uses this.

    >>> group = Group([Topic("orders", 1)], [Member("a", ["orders"])])
    >>> assignment = get_assignor("range").assign_recorded(group, print)
    orders-0 Reason.RANGE a
    """

    def assign_recorded(self, group: Group, record: Recorder) -> Assignment:
        """Return the answer of `assign`, and call `record` with each step."""


@runtime_checkable
class RememberingAssignor(Protocol):
    """Describes an assignor whose members send user data to the leader when they join (KIP-54).

    Java's interface has `subscriptionUserData` and `onAssignment` for this purpose. Here the client adapter
    remembers the consumer's last assignment for all its assignors, including those that the group did not
    choose.

    >>> decode_sticky_user_data(get_assignor("sticky").user_data(PartitionList.of([("orders", 1)]), 3))
    (PartitionList([('orders', 1)]), 3)
    """

    def user_data(self, owned: PartitionList, generation: int) -> bytes | None:
        """Return the user data that a member sends; None for none.

        The leader reads the data in `Member.user_data`. There may be other bytes there: those of another
        strategy or of an older version, or truncated ones.

        Args:
            owned: the partitions that the member was assigned last.
            generation: the generation of that assignment; -1 before the first one.
        """


class EagerMemory:
    """Gives an assignor the protocol and the user data of "sticky"."""

    protocols: ClassVar[frozenset[RebalanceProtocol]] = frozenset({RebalanceProtocol.EAGER})

    def user_data(self, owned: PartitionList, generation: int) -> bytes | None:
        """Return the user data of Java's StickyAssignor (KIP-341); None before the first assignment."""
        return encode_sticky_user_data(owned, generation) if generation >= 0 else None


class CooperativeMemory:
    """Gives an assignor the protocols and the user data of "cooperative-sticky"."""

    protocols: ClassVar[frozenset[RebalanceProtocol]] = frozenset(RebalanceProtocol)

    def user_data(self, owned: PartitionList, generation: int) -> bytes | None:  # noqa: ARG002 - KIP-429 sends it
        """Return the user data of Java's CooperativeStickyAssignor: the generation.

        The subscription itself has the owned partitions.
        """
        return encode_cooperative_user_data(generation)
