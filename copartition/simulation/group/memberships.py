"""Keep every membership of a run, and the form in which one kind of group hands its members to another.

Three numbers stand for what people call a consumer: its number in `World.consumers`, the number of its
membership here, and its place in the group, which only `Members.rows` has.
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
    """Memberships by number, from 0 in the order of joins; a number is never given twice.

    A consumer that comes back with a new member id has a new membership. `ids`, `consumers` and `consumer`
    have one element for each.
    """

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.serials: dict[str, int] = {}  # the number of each member id
        self.consumers: list[Consumer] = []  # the consumer of each, as it was configured when it joined
        # The consumer of each membership; longer than `ids`, and doubled when it is full. `_incarnations`
        # counts how many memberships each consumer has had.
        self._number = np.empty(64, np.int32)
        self._incarnations: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def consumer(self) -> NDArray[np.int32]:
        """The number of the consumer behind each membership, shape (memberships,).

        A view that grows stale.
        """
        # Adding a membership may replace the column, so a view that was kept would miss new members.
        return self._number[: len(self.ids)]

    def add(self, number: int, consumer: Consumer) -> int:
        """Return the number of a new membership of consumer `number`.

        Its id is the name and how often it joined, or at first `Consumer.member_id`, if that is known.

        The first id of consumer "worker-3" is "worker-3#1". `consumer` is kept as it is configured now;
        `ClassicProtocol` replaces it if a static member comes back with another configuration.
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
        partitions are not told here; the caller adds them if the strategy needs them.
        """
        consumer = self.consumers[member]
        instance_id = consumer.name if consumer.static else None
        return Member(self.ids[member], topics, instance_id=instance_id, rack=consumer.rack)


@dataclass(frozen=True, slots=True)
class Process:
    """A member of the classic protocol, and the process behind it.

    It is the form in which both kinds of groups can describe a member, so it says nothing about epochs, and
    of a barrier only whether the member waits at it. Partitions are flat indexes, times milliseconds of the
    run.
    """

    consumer: int  # its number
    member: int  # its membership
    owned: frozenset[int]  # the partitions it has
    base_ms: float  # its heartbeats are at this time plus multiples of `every_ms`
    every_ms: float
    busy_ms: float = -math.inf  # until when its application does not poll
    wakes_ms: float = -math.inf  # when it wakes up; negative infinity: awake, infinite: gone
    heard_ms: float = -math.inf  # when the coordinator last heard of it
    # If it is set, `heard_ms` and `wakes_ms` have a meaning: the new coordinator lets the session run from
    # the one, and plans the end of the silence at the other.
    absence: int | None = None  # the cause of what it does not read; None if it reads
    joining: bool = False  # whether it has joined, and waits for an answer


class Reason(NamedTuple):
    """The reason for which a group rebalances.

    The number leads to `Ledger.causes`, whose text may be bettered later; `text` stays as it was when the
    group rebalanced.
    """

    text: str  # in words, as in `Rebalance.causes`
    cause: int  # the number of the cause


class Handover(NamedTuple):
    """A group of one kind that becomes one of another.

    It is made by the old engine at the moment of the change and read by the new one at the same time of the
    run. A consumer is in `members` or in `joining`, never in both.
    """

    generation: int  # of a classic group, or the epoch of one of the consumer protocol
    members: list[Process]  # in the order they joined
    joining: list[tuple[int, float]]  # consumers that are about to join, each with when it will
    down_ms: float  # until when its coordinator answers nobody
