"""What a change costs: who stops reading, and for how long, under each rebalance protocol."""

from __future__ import annotations

from typing import NamedTuple


class Stop(NamedTuple):
    """What a change of a group costs under one protocol, as the simulator has it.

    Attributes:
        event: what happens: "join", "leave", "crash" or "growth".
        protocol: "eager", "cooperative" or "consumer".
        members: members that stop reading something for a while.
        partitions: partitions that nobody reads for a while.
        detection_ms: the mean time until the group knows; nobody reads what a member had that is gone.
        pause_ms: the mean time for which a stopped partition is not read, detection included.
        partition_seconds: the sum over all stopped partitions.
    """

    event: str
    protocol: str
    members: int
    partitions: int
    detection_ms: float
    pause_ms: float
    partition_seconds: float
