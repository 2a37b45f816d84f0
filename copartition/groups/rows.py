"""A group state row by row, from inputs that come that way."""

from array import array
from collections.abc import Iterable, Sequence
from itertools import repeat

import numpy as np

from assignors.state import UNKNOWN_LAG, GroupState, MemberIdentity
from partitioning.errors import SourceError


class Rows:
    """Members and partitions as they are read; members and topics are numbered at first sight.

    Partition numbers and lags must fit the columns: readers bound them where they can name the place.
    """

    def __init__(self) -> None:
        self._members: dict[str, MemberIdentity] = {}
        self._number: dict[str, int] = {}
        self._topics: dict[str, int] = {}
        self._member = array("i")
        self._topic = array("i")
        self._partition = array("i")
        self._lag = array("q")

    def member(self, identity: MemberIdentity, where: str = "") -> None:
        """Add a member, with or without partitions; two with one id are an error, `where` its end."""
        if identity.id in self._members:
            raise SourceError(f"two members have the id {identity.id!r}; an id is one member's{where}")
        self._number[identity.id] = len(self._number)
        self._members[identity.id] = identity

    def partition(self, topic: str, partition: int, owner: str | None, lag: int = UNKNOWN_LAG) -> None:
        """A partition and who has it."""
        self.partitions(topic, (partition,), owner, (lag,))

    def partitions(
        self, topic: str, partitions: Sequence[int], owner: str | None, lags: Iterable[int] | None = None
    ) -> None:
        """Partitions of one topic that one member has, or nobody."""
        count = len(partitions)
        number = self._topics.setdefault(topic, len(self._topics))
        self._member.extend(repeat(-1 if owner is None else self._number[owner], count))
        self._topic.extend(repeat(number, count))
        self._partition.extend(partitions)
        self._lag.extend(repeat(UNKNOWN_LAG, count) if lags is None else lags)

    def state(
        self,
        *,
        complete: bool = False,
        members_complete: bool = True,
        name: str | None = None,
        status: str | None = None,
        warnings: tuple[str, ...] = (),
    ) -> GroupState:
        """Return what was collected."""
        lag = np.array(self._lag, np.int64)
        return GroupState(
            tuple(self._members.values()),
            tuple(self._topics),
            np.array(self._member, np.int32),
            np.array(self._topic, np.int32),
            np.array(self._partition, np.int32),
            lag if (lag != UNKNOWN_LAG).any() else None,
            complete=complete,
            members_complete=members_complete,
            name=name,
            status=status,
            warnings=warnings,
        )


def strategy_name(assignor: str | None, protocol: str | None) -> str | None:
    """Return the strategy that Kafka tells; the coordinator's "range" is not the clients' (KIP-848)."""
    return "broker-range" if (assignor, protocol) == ("range", "consumer") else assignor or None
