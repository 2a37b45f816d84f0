"""What would have avoided rebalances, and what it costs."""

from __future__ import annotations

from collections import Counter
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from copartition.why.rebalances import Cause, restarts
from copartition.words import count, duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from copartition.why.rebalances import GroupHistory

DEFAULT_HEARTBEAT_S = 3.0
"""heartbeat.interval.ms of a classic member."""
LONGEST_RESTART_S = 300.0
"""Members that were away for longer did not just restart."""


class Cure(NamedTuple):
    """What avoids rebalances of a cause.

    Attributes:
        cause: of which cause; None for restarts, which have two: a member leaves, and joins again.
        rebalances: how many of the shown ones.
        advice: what to do.
        price: what that costs.
    """

    cause: Cause | None
    rebalances: int
    advice: str
    price: str


_CURES = {
    Cause.EXPIRED: (
        (
            "a member that crashed cannot be helped; one that lived was paused or cut off for longer than "
            "its session: look for garbage collection, CPU limits, the network, or raise session.timeout.ms"
        ),
        "what a crashed member had stays unread until its session ends",
    ),
    Cause.POLL: (
        "lower max.poll.records, or raise max.poll.interval.ms above the longest time between two polls",
        "a rebalance waits up to max.poll.interval.ms for a member that is stuck",
    ),
    Cause.LATE: (
        (
            "a member did not poll while the group waited for it: lower max.poll.records, or raise "
            "max.poll.interval.ms, which is the rebalance timeout"
        ),
        "all members wait so long for one that is stuck",
    ),
    Cause.FENCED: (
        "two processes have one group.instance.id: give each its own, such as the pod's ordinal",
        "none",
    ),
    Cause.FOLLOW_UP: (
        "cooperative-sticky hands partitions over in a second round; the consumer protocol needs none",
        "brokers since 4.0 (KIP-848), and clients that know it",
    ),
    Cause.TOPICS: (
        (
            "partitions were added, or topics came that a pattern matches: add partitions at a quiet time, "
            "and list topics instead of a pattern"
        ),
        "new topics are read after a deploy only",
    ),
    Cause.SUBSCRIPTION: ("subscribe to the same topics in all members, once", "none"),
    Cause.ASSIGNOR: (
        "see `copartition migrate`: which assignors may follow each other, and how",
        "two restarts",
    ),
}


def cures(history: GroupHistory) -> list[Cure]:
    """What would have avoided this group's rebalances, that which avoids most first."""
    return sorted(_all_cures(history), key=lambda cure: -cure.rebalances)


def _all_cures(history: GroupHistory) -> Iterator[Cure]:
    counts = Counter(each.cause for each in history.rebalances)
    back = [away for _, away in restarts(history.rebalances) if away <= LONGEST_RESTART_S]
    if back:
        session = (
            "group.consumer.session.timeout.ms" if history.protocol == "consumer" else "session.timeout.ms"
        )
        saved = 2 * len(back)
        yield Cure(
            None,
            saved,
            f"{count(len(back), 'restart')}, {duration(1000 * max(back))} at most: with group.instance.id "
            f"and {session}={1000 * ceil(max(back) + DEFAULT_HEARTBEAT_S)} these "
            f"{count(saved, 'rebalance')} would have been 0",
            "a member that crashes is noticed only after that session",
        )
    for cause, (advice, price) in _CURES.items():
        if counts[cause]:
            yield Cure(cause, counts[cause], advice, price)
