"""What would have avoided rebalances, and what it costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import ceil
from typing import NamedTuple

from copartition.simulation import Settings, SlowPoll
from copartition.simulation.inputs.scenario import CapturedScenario
from copartition.why.rebalances import Cause, GroupHistory, restarts
from copartition.why.scenario import session_of, simulated
from copartition.words import count, duration
from partitioning.kit.data import read_toml

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


_CURES = read_toml(__package__, "cures.toml")


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
    for each, about in _CURES.items():
        cause = Cause[each.upper()]
        if counts[cause]:
            answer = _longer_polls(history, logged) if cause is Cause.POLL else None
            yield Cure(cause, counts[cause], about["advice"], about["price"], answer)


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
