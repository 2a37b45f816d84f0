"""Build a group state row by row, for sources that list members and partitions one after the other."""

from array import array
from collections.abc import Iterable, Sequence
from itertools import repeat

import numpy as np

from assignors.state import UNKNOWN_LAG, GroupState, MemberIdentity
from partitioning.errors import SourceError


class Rows:
    """Collects members and partitions as they are read, and numbers members and topics in that order.

    One row is one partition: the number of its member (-1 without an owner), the number of its topic, the
    partition number and its lag in records (`UNKNOWN_LAG` if it is unknown). The four columns have the same
    length between calls. Partition numbers must fit int32, and lags int64. Callers check these bounds,
    because they can name the place of a wrong number in an error.
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
        """Add a member, with or without partitions.

        Raises:
            SourceError: a member with this id was added before; the message ends with `where`.
        """
        if identity.id in self._members:
            raise SourceError(f"two members have the id {identity.id!r}; an id is one member's{where}")
        self._number[identity.id] = len(self._number)
        self._members[identity.id] = identity

    def partition(self, topic: str, partition: int, owner: str | None, lag: int = UNKNOWN_LAG) -> None:
        """Add one partition.

        Args:
            topic: the topic's name.
            partition: the partition's number.
            owner: the id of a member that was added before; None without an owner.
            lag: number of records that wait; `UNKNOWN_LAG` if it is unknown.

        Raises:
            KeyError: `owner` was not added.
        """
        self.partitions(topic, (partition,), owner, (lag,))

    def partitions(
        self, topic: str, partitions: Sequence[int], owner: str | None, lags: Iterable[int] | None = None
    ) -> None:
        """Add partitions of one topic that have one owner.

        Args:
            topic: the topic's name.
            partitions: the partitions' numbers.
            owner: the id of a member that was added before; None without an owner.
            lags: one lag for each partition; None if none is known.

        Raises:
            KeyError: `owner` was not added.
        """
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
        """Return the rows as a group state; its arrays are copies, so more rows may follow.

        Args:
            complete: whether every partition of the topics has a row.
            members_complete: whether every member of the group was added.
            name: group id, if the source tells it.
            status: Kafka's name of the group's state.
            warnings: sentences for the reader of a report.
        """
        # `np.array` copies. An `array` of which NumPy has a view could not grow.
        lag = np.array(self._lag, np.int64)
        return GroupState(
            tuple(self._members.values()),
            tuple(self._topics),
            np.array(self._member, np.int32),
            np.array(self._topic, np.int32),
            np.array(self._partition, np.int32),
            # If no lag is known, `GroupState.lag` is None and not a column of unknown lags.
            lag if (lag != UNKNOWN_LAG).any() else None,
            complete=complete,
            members_complete=members_complete,
            name=name,
            status=status,
            warnings=warnings,
        )
