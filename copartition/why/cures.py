"""What would have avoided rebalances, and what it costs."""

from __future__ import annotations

from collections import Counter
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from copartition.simulation import Settings, SlowPoll
from copartition.why.rebalances import Cause, restarts
from copartition.why.scenario import session_of, simulated
from copartition.words import count, duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from copartition.groups.scenario import CapturedScenario
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
        simulated: how many rebalances it leaves, computed; None where that is not computed.
    """

    cause: Cause | None
    rebalances: int
    advice: str
    price: str
    simulated: str | None = None


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
    Cause.STORING: (
        "the coordinator could not write to __consumer_offsets: see whether its replicas are in sync",
        "none",
    ),
    Cause.ASSIGNOR: (
        "see `copartition migrate`: which assignors may follow each other, and how",
        "two restarts",
    ),
}


def cures(history: GroupHistory, logged: CapturedScenario | str) -> list[Cure]:
    """What would have avoided this group's rebalances, that which avoids most first.

    Args:
        history: the group.
        logged: its scenario, see `scenario_or_why_not`.
    """
    return sorted(_all_cures(history, logged), key=lambda cure: -cure.rebalances)


def _all_cures(history: GroupHistory, logged: CapturedScenario | str) -> Iterator[Cure]:
    counts = Counter(each.cause for each in history.rebalances)
    settings = Settings() if isinstance(logged, str) else logged.scenario.settings
    name, session_ms = session_of(history, settings)
    back = [away for _, away in restarts(history.rebalances, session_ms / 1000) if away <= LONGEST_RESTART_S]
    if back:
        session_ms = max(session_ms, 1000 * ceil(max(back) + DEFAULT_HEARTBEAT_S))
        yield Cure(
            None,
            2 * len(back),
            f"{count(len(back), 'restart')}, {duration(1000 * max(back))} at most: set group.instance.id and "
            f"{name}={session_ms:.0f}",
            "a member that crashes is noticed only after that session",
            simulated(history, logged, {name: f"{session_ms:.0f}"}, static=True),
        )
    for cause, (advice, price) in _CURES.items():
        if counts[cause]:
            answer = _longer_polls(history, logged) if cause is Cause.POLL else None
            yield Cure(cause, counts[cause], advice, price, answer)


def _longer_polls(history: GroupHistory, logged: CapturedScenario | str) -> str:
    """What a max.poll.interval.ms above the longest time between two polls leaves, where a log shows that."""
    events = () if isinstance(logged, str) else logged.scenario.events
    polls = [each.for_ms for each in events if isinstance(each, SlowPoll) and isinstance(each.for_ms, float)]
    if not polls:
        reason = logged if isinstance(logged, str) else "no member that polled too late joined again"
        return simulated(history, reason, {}, static=False)
    longest = f"{1000 * ceil(max(polls) / 1000 + 1)}"
    answer = simulated(history, logged, {"max.poll.interval.ms": longest}, static=False)
    return f"with max.poll.interval.ms={longest}: {answer}"
