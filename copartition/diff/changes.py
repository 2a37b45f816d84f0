"""What can happen to a partition, a row at a time: the part of a diff that people read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from assignors.partition_list import PartitionList
    from assignors.reasons import Reason


class Action(IntEnum):
    """What happened to a partition; `label` and `marker` are how reports write it."""

    KEEP = 0
    """Same owner, or nobody on both sides."""
    MOVE = 1
    """Another owner."""
    ASSIGN = 2
    """Gained an owner."""
    UNASSIGN = 3
    """Lost its owner."""
    ADDED = 4
    """The topic has grown by it."""
    REMOVED = 5
    """The topic no longer has it."""
    CONFLICT = 6
    """Two owners at once on one side: a zombie, or a capture taken during a rebalance."""

    @property
    def label(self) -> str:
        """The word in JSON and CSV."""
        return self.name.lower()


class Change(NamedTuple):
    """One partition; members by the name the diff gives them.

    Attributes:
        topic: its topic.
        partition: its number.
        action: what happened to it.
        source: its owner before, None for nobody.
        target: its owner after, None for nobody.
        lag: records waiting, None where unknown.
        reason: what set it in motion, or why it stays; None where the side after was not planned.
    """

    topic: str
    partition: int
    action: Action
    source: str | None
    target: str | None
    lag: int | None
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Conflict:
    """A partition with more than one owner on a side.

    Attributes:
        topic: its topic.
        partition: its number.
        before: its owners before.
        after: its owners after.
    """

    topic: str
    partition: int
    before: tuple[str, ...]
    after: tuple[str, ...]


class Flow(NamedTuple):
    """The partitions that went from one member to another, sorted; None stands for nobody.

    Attributes:
        source: their owner before.
        target: their owner after.
        partitions: which.
        reason: what set them in motion; None where flows are not told apart by it, or it is unknown.
    """

    source: str | None
    target: str | None
    partitions: PartitionList
    reason: Reason | None = None
