"""What every assignor is, ours and a stranger's."""

from enum import IntEnum
from typing import ClassVar, Protocol, runtime_checkable

from assignors.group import Assignment, Group
from assignors.partition_list import PartitionList
from assignors.protocol import encode_cooperative_user_data, encode_sticky_user_data
from assignors.reasons import Recorder


class RebalanceProtocol(IntEnum):
    """How members hand partitions over; a consumer uses the highest all its assignors support (KIP-429).

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
        """Who gets what; every member of the group is in the answer."""


@runtime_checkable
class RecordingAssignor(Protocol):
    """What an assignor has besides where it can say why it decides as it does; `explain` asks for it.

    >>> group = Group([Topic("orders", 1)], [Member("a", ["orders"])])
    >>> assignment = get_assignor("range").assign_recorded(group, print)
    orders-0 Reason.RANGE a
    """

    def assign_recorded(self, group: Group, record: Recorder) -> Assignment:
        """As `assign`, telling each step."""


@runtime_checkable
class RememberingAssignor(Protocol):
    """What an assignor has besides where members that join tell the leader something of its own (KIP-54).

    Java's interface has `subscriptionUserData` and `onAssignment` for that; here the client adapter remembers
    what the consumer was assigned, for all its assignors, also those the group did not choose.

    >>> decode_sticky_user_data(get_assignor("sticky").user_data(PartitionList.of([("orders", 1)]), 3))
    (PartitionList([('orders', 1)]), 3)
    """

    def user_data(self, owned: PartitionList, generation: int) -> bytes | None:
        """What a member sends along that was assigned `owned` in this generation, -1 before its first.

        None sends nothing. The leader finds it in `Member.user_data`, where other bytes may be, too: those of
        another strategy, of an older version, or cut.
        """


class EagerMemory:
    """What members of "sticky" remember, and send along when they join."""

    protocols: ClassVar[frozenset[RebalanceProtocol]] = frozenset({RebalanceProtocol.EAGER})

    def user_data(self, owned: PartitionList, generation: int) -> bytes | None:
        """What Java's StickyAssignor sends (KIP-341): nothing before its first assignment."""
        return encode_sticky_user_data(owned, generation) if generation >= 0 else None


class CooperativeMemory:
    """What members of "cooperative-sticky" remember."""

    protocols: ClassVar[frozenset[RebalanceProtocol]] = frozenset(RebalanceProtocol)

    def user_data(self, owned: PartitionList, generation: int) -> bytes | None:  # noqa: ARG002 - KIP-429 sends it
        """What Java's CooperativeStickyAssignor sends: the generation of the claim that travels beside it."""
        return encode_cooperative_user_data(generation)
