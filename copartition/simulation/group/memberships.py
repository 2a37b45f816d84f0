"""Keep every membership of a run, and the form in which one kind of group hands its members to another."""

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
        self._number = np.empty(64, np.int32)
        self._incarnations: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def consumer(self) -> NDArray[np.int32]:
        """The number of the consumer behind each membership, shape (memberships,).

        A view that grows stale.
        """
        return self._number[: len(self.ids)]

    def add(self, number: int, consumer: Consumer) -> int:
        """Return the number of a new membership of consumer `number`.

        Its id is the name and how often it joined.
        """
        serial = len(self.ids)
        if serial == len(self._number):
            self._number = np.resize(self._number, 2 * serial)
        self._number[serial] = number
        turn = self._incarnations[number] = self._incarnations.get(number, 0) + 1
        member_id = f"{consumer.name}#{turn}"
        self.ids.append(member_id)
        self.serials[member_id] = serial
        self.consumers.append(consumer)
        return serial

    def describe(self, member: int, topics: Sequence[str] = ()) -> Member:
        """Return a member as assignors get it, with the topics it subscribes to."""
        consumer = self.consumers[member]
        instance_id = consumer.name if consumer.static else None
        return Member(self.ids[member], topics, instance_id=instance_id, rack=consumer.rack)


@dataclass(frozen=True, slots=True)
class Process:
    """A member of the classic protocol, and the process behind it."""

    consumer: int  # its number
    member: int  # its membership
    owned: frozenset[int]  # the partitions it has
    base_ms: float  # its heartbeats are at this time plus multiples of `every_ms`
    every_ms: float
    busy_ms: float = -math.inf  # until when its application does not poll
    wakes_ms: float = -math.inf  # when it wakes up; negative infinity: awake, infinite: gone
    heard_ms: float = -math.inf  # when the coordinator last heard of it
    absence: int | None = None  # the cause of what it does not read; None if it reads
    joining: bool = False  # whether it has joined, and waits for an answer


class Reason(NamedTuple):
    """The reason for which a group rebalances."""

    text: str  # in words, as in `Rebalance.causes`
    cause: int  # the number of the cause


class Handover(NamedTuple):
    """A group of one kind that becomes one of another."""

    generation: int  # of a classic group, or the epoch of one of the consumer protocol
    members: list[Process]  # in the order they joined
    joining: list[tuple[int, float]]  # consumers that are about to join, each with when it will
    down_ms: float  # until when its coordinator answers nobody
