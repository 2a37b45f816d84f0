"""The groups that are run."""

from __future__ import annotations

from functools import partial
from typing import Any

from copartition.models.share_groups.run import ShareGroup

SESSION_MS = 6_000

POLL = 10
"""Records of a poll, and of a batch in the log."""


def group(members: int, records: int, process_ms: float = 20, poll: int = POLL, **others: Any) -> ShareGroup:
    """A group whose polls get one batch of the log each."""
    values = {"max_poll_records": poll, "batch_records": poll, "session_ms": SESSION_MS, "restart_ms": 3_000}
    return ShareGroup(members=members, records=records, process_ms=process_ms, **values, **others)


short = partial(group, lock_ms=1_000)
middle = partial(group, lock_ms=5_000)

CELLS = {
    "one-member": group(1, 600),
    "two-members": group(2, 1_200),
    "four-members": middle(4, 2_000),
    "four-members-100-locks": group(4, 1_000, poll=50, max_locks=100),
    "one-record-holds-the-window": group(2, 600, max_locks=100, special={15: 10_000}),
    "batch-near-the-lock": short(2, 200, 90),
    "batch-over-the-lock": short(1, 60, 120),
    "batch-over-the-lock-two-members": short(2, 120, 120),
    "over-the-lock-acknowledged-each": short(1, 100, 115, each=True),
    "killed": middle(2, 600, killed={1: 2_050}),
    "stopped": middle(2, 600, stopped={1: 2_050}),
    "poison-released": group(1, 300, special={33: "release"}),
    "poison-rejected": group(1, 300, special={33: "reject"}),
    "poison-hangs": short(2, 300, special={33: 2_500}),
    "poison-crashes": middle(2, 600, special={33: "crash"}),
}
"""By the group's name."""
