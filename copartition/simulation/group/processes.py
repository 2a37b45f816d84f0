"""What one kind of group tells another about the members that it takes over, while it is migrated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Process:
    """A member of the classic protocol, and the process behind it.

    Attributes:
        consumer: its number.
        member: its membership.
        owned: the partitions it has.
        base_ms: its heartbeats are at this time plus multiples of `every_ms`.
        every_ms: see there.
        busy_ms: until when its application does not poll.
        wakes_ms: when it wakes up; negative infinity where it is awake, infinite where it is gone.
        heard_ms: when the coordinator last heard of it.
        absence: the cause of what it does not read; None where it reads.
        joining: whether it has joined, and waits for an answer.
    """

    consumer: int
    member: int
    owned: frozenset[int]
    base_ms: float
    every_ms: float
    busy_ms: float = -math.inf
    wakes_ms: float = -math.inf
    heard_ms: float = -math.inf
    absence: int | None = None
    joining: bool = False


class Handover(NamedTuple):
    """A group of one kind that becomes one of another.

    Attributes:
        generation: of a classic group, or the epoch of one of the consumer protocol.
        members: its members, in the order they joined.
        joining: consumers that are about to join, each with when it will.
        down_ms: until when its coordinator answers nobody.
        member_pause_ms: how long running consumers stood still for the protocol so far.
    """

    generation: int
    members: list[Process]
    joining: list[tuple[int, float]]
    down_ms: float
    member_pause_ms: float
