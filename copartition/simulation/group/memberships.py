"""Keep every membership of a run, and the form in which one kind of group hands its members to another.

A consumer is known by three numbers: its number in `World.consumers`, the number of its membership here, and
its place in the group, which only `Members.rows` has.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assignors.group import Member
from copartition.simulation.inputs.events import Consumer


class Memberships:
    """Memberships by number, from 0 in the order of joins; a number is never used twice.

    A consumer that comes back with a new member id has a new membership. `ids`, `consumers` and `consumer`
    have one element for each membership.
    """

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.serials: dict[str, int] = {}  # the number of each member id
        self.consumers: list[Consumer] = []  # the consumer of each, as it was configured when it joined
        # `_number` has the consumer of each membership; it is longer than `ids`, and is doubled when it is
        # full. `_incarnations` counts the memberships that each consumer has had.
        self._number = np.empty(64, np.int32)
        self._incarnations: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def consumer(self) -> NDArray[np.int32]:
        """The number of the consumer of each membership, shape (memberships,).

        The result is a view; do not keep it, because `add` may replace the column.
        """
        # After `add` has replaced the column, a view that was kept would miss new members.
        return self._number[: len(self.ids)]

    def add(self, number: int, consumer: Consumer) -> int:
        """Return the number of a new membership of consumer `number`.

        Its id is the consumer's name and the number of its joins, such as "worker-3#1". The first id is
        `Consumer.member_id` if that is known. `consumer` is stored as it is configured now; `ClassicProtocol`
        replaces it if a static member comes back with another configuration.
        """
        serial = len(self.ids)
        if serial == len(self._number):
            self._number = np.resize(self._number, 2 * serial)
        self._number[serial] = number
        turn = self._incarnations[number] = self._incarnations.get(number, 0) + 1
        member_id = f"{consumer.name}#{turn}"
        if consumer.member_id is not None and turn == 1:
            member_id = consumer.member_id
        self.ids.append(member_id)
        self.serials[member_id] = serial
        self.consumers.append(consumer)
        return serial

    def describe(self, member: int, topics: Sequence[str] = ()) -> Member:
        """Return a member as assignors get it, with the topics it subscribes to.

        A static consumer's instance id is its name, so it stays the same over all its memberships. Owned
        partitions are not included; the caller adds them if the strategy needs them.
        """
        consumer = self.consumers[member]
        instance_id = consumer.name if consumer.static else None
        return Member(self.ids[member], topics, instance_id=instance_id, rack=consumer.rack)


@dataclass(frozen=True, slots=True)
class MemberProcess:
    """A member of the classic protocol, and the state of its process.

    Both kinds of groups can describe a member in this form. So the form has no epochs, and about a barrier it
    says only whether the member waits there. Partitions are flat indexes, times are milliseconds of the run.
    """

    consumer: int  # the consumer's number
    member: int  # the number of its membership
    owned: frozenset[int]  # the partitions it has
    base_ms: float  # its heartbeats are at this time plus multiples of `every_ms`
    every_ms: float
    busy_ms: float = -math.inf  # its application does not poll until then
    wakes_ms: float = -math.inf  # when it wakes up; negative infinity: it is awake; infinite: it is gone
    heard_ms: float = -math.inf  # when the coordinator last heard of it
    # `heard_ms` and `wakes_ms` have a meaning only if `absence` is set: the new coordinator lets the session
    # run from `heard_ms`, and plans the end of the silence at `wakes_ms`.
    absence: int | None = None  # the cause of its partitions' pauses if it is silent; else None
    joining: bool = False  # whether it has joined, and waits for an answer


class RebalanceReason(NamedTuple):
    """The reason why a group rebalances.

    The number is an index into `Ledger.causes`, whose text may be made more exact later. `text` stays as it
    was when the group rebalanced.
    """

    text: str  # in words, as in `Rebalance.causes`
    cause: int  # the number of the cause


class Handover(NamedTuple):
    """A group of one kind that becomes a group of another kind.

    The old engine makes it at the moment of the change, and the new engine reads it at the same time of the
    run. A consumer is in `members` or in `joining`, never in both.
    """

    generation: int  # the generation of a classic group, or the epoch of a group of the consumer protocol
    members: list[MemberProcess]  # in the order in which they joined
    joining: list[tuple[int, float]]  # consumers that are about to join, each with the time of its join
    down_ms: float  # its coordinator answers no member until then
