"""The groups that are run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

SESSION_MS = 6_000


@dataclass(frozen=True, slots=True)
class Cell:
    """A share group on one partition, all of whose records are there when it begins.

    Attributes:
        name: of the group.
        members: how many processes.
        records: in the log, in batches of as many as a poll gets.
        process_ms: the time that a record takes.
        max_poll_records: of a poll.
        lock_ms: `share.record.lock.duration.ms`.
        each: whether each record is acknowledged when it is done, not all at the next poll.
        max_locks: `share.partition.max.record.locks`.
        special: offsets of records that are rejected, released, or that crash their member, and of those that
            take another time in milliseconds.
        killed: members, and when in milliseconds after the first delivery.
        stopped: likewise those that stand still from then on.
        restart_ms: how long after its crash a member is started again.
    """

    name: str
    members: int = 1
    records: int = 600
    process_ms: float = 20
    max_poll_records: int = 10
    lock_ms: int = 30_000
    each: bool = False
    max_locks: int = 2_000
    special: Mapping[int, float | str] = field(default_factory=dict)
    killed: Mapping[int, float] = field(default_factory=dict)
    stopped: Mapping[int, float] = field(default_factory=dict)
    restart_ms: float = 3_000


CELLS = (
    Cell("one-member"),
    Cell("two-members", 2, 1_200),
    Cell("four-members", 4, 2_000, lock_ms=5_000),
    Cell("four-members-100-locks", 4, 1_000, 20, 50, max_locks=100),
    Cell("one-record-holds-the-window", 2, 600, max_locks=100, special={15: 10_000}),
    Cell("batch-near-the-lock", 2, 200, 90, lock_ms=1_000),
    Cell("batch-over-the-lock", 1, 60, 120, lock_ms=1_000),
    Cell("batch-over-the-lock-two-members", 2, 120, 120, lock_ms=1_000),
    Cell("over-the-lock-acknowledged-each", 1, 100, 120, lock_ms=1_000, each=True),
    Cell("killed", 2, 600, lock_ms=5_000, killed={1: 2_050}),
    Cell("stopped", 2, 600, lock_ms=5_000, stopped={1: 2_050}),
    Cell("poison-released", 1, 300, special={33: "release"}),
    Cell("poison-rejected", 1, 300, special={33: "reject"}),
    Cell("poison-hangs", 2, 300, lock_ms=1_000, special={33: 2_500}),
    Cell("poison-crashes", 2, 600, lock_ms=5_000, special={33: "crash"}),
)
