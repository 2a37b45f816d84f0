"""Find settings that would have avoided rebalances, with their price, and simulate what they change.

A *cure* is such a setting. A simulation of what the logs show computes how many rebalances the cure leaves;
if it cannot be simulated, this number is reported as unknown. Names that end with `_s` are seconds, those
that end with `_ms` milliseconds.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import NamedTuple

from assignors.group import Topic
from assignors.state import strategy_name
from copartition.kit.words import count, duration
from copartition.simulation import simulate
from copartition.simulation.inputs.events import Consumer, Crash, Event, Join, Leave, Restart, SlowPoll
from copartition.simulation.inputs.file import with_settings
from copartition.simulation.inputs.scenario import CapturedScenario, Scenario, with_static
from copartition.simulation.inputs.settings import Settings
from copartition.why.history import REPLACED, Cause, GroupHistory, returns
from partitioning.errors import CopartitionError, SourceError
from partitioning.kit.packages import read_toml

DEFAULT_HEARTBEAT_S = 3.0
"""The default of heartbeat.interval.ms of a classic member, in seconds."""
LONGEST_RESTART_S = 300.0
"""The longest time of a restart, in seconds: a member that was away for longer did not just restart."""


class Cure(NamedTuple):
    """Describes a change that avoids rebalances of one cause.

    Attributes:
        cause: the cause; None for restarts, which have two causes: a member leaves, and it joins again.
        rebalances: number of rebalances in the logs with this cause; a restart counts as two.
        do: the change in a few words, for the verdict.
        advice: the change in a sentence.
        price: the disadvantage of the change.
        simulated: a sentence on how many rebalances are left in a simulation, or why that is unknown; None
            if the cure is not simulated.
    """

    cause: Cause | None
    rebalances: int
    do: str
    advice: str
    price: str
    simulated: str | None = None


_CURES = read_toml(__package__, "cures.toml")
"""The advice on each cause, by the cause's name in small letters."""


def cures(history: GroupHistory, logged: CapturedScenario | str) -> list[Cure]:
    """Return the cures for this group's rebalances; the cure that avoids most rebalances comes first.

    Args:
        history: the group's history.
        logged: the scenario of what happened to it, or why there is none, as `scenario_or_why_not` returns.

    Returns:
        At most one cure for restarts, and one for each cause of this group's rebalances for which
        `cures.toml` has advice.
    """
    return sorted(_all_cures(history, logged), key=lambda cure: -cure.rebalances)


def _all_cures(history: GroupHistory, logged: CapturedScenario | str) -> Iterator[Cure]:
    """Yield the cure for restarts, then the others in the order of `cures.toml`; arguments as in `cures`."""
    counts = Counter(rebalance.cause for rebalance in history.rebalances)
    settings = Settings() if isinstance(logged, str) else logged.scenario.settings
    name, session_ms = session_of(history, settings)
    back = [seconds for seconds in returns(history.rebalances) if seconds.away_s <= LONGEST_RESTART_S]
    restarts = [seconds.away_s for seconds in back if seconds.closed]
    # Members of a share group are never static, those of a Streams group only since Kafka 4.4.
    if restarts and history.protocol not in {"share", "streams"}:
        # A static member keeps its place only if it is back before its session ends. One heartbeat interval
        # is kept in reserve.
        session_ms = max(session_ms, 1000 * ceil(max(restarts) + DEFAULT_HEARTBEAT_S))
        times = f"{count(len(restarts), 'restart')}, {duration(1000 * max(restarts))} at most"
        yield Cure(
            None,
            2 * len(restarts),
            "set group.instance.id",
            f"{times}: set group.instance.id and {name}={session_ms:.0f}",
            "a member that crashes is noticed only after that session",
            simulate_cure(history, logged, {name: f"{session_ms:.0f}"}, static=True),
        )
    for key, about in _CURES.items():
        cause = Cause[key.upper()]
        if counts[cause]:
            answer = _longer_polls(history, logged) if cause is Cause.POLL else None
            # A member whose session expired and that then came back may have been paused. A session that is
            # long enough for the pause would only hide it, so the advice is another one.
            revived = cause is Cause.EXPIRED and any(not seconds.closed for seconds in back)
            which = (
                "back" if revived else "gone" if cause is Cause.TOPICS and _lost_topics(history) else "advice"
            )
            advice = about[which].replace("session.timeout.ms", name)
            # Some cures have another price in a share group, in which no member waits for a new assignment.
            price = about.get(f"{history.protocol}_price", about["price"])
            do = about["do"] if which == "advice" else about.get(f"{which}_do", about["do"])
            yield Cure(cause, counts[cause], do, advice, price, answer)


def _lost_topics(history: GroupHistory) -> bool:
    """Return whether a client says that it has fewer topics than before, and none says that it has more."""
    counts = [
        (int(match[1]), int(match[2]))
        for rebalance in history.rebalances
        if rebalance.cause is Cause.TOPICS
        and (match := re.search(r"from (\d{1,9}) to (\d{1,9}) topic", rebalance.reason))
    ]
    return bool(counts) and all(after < before for before, after in counts)


def _longer_polls(history: GroupHistory, logged: CapturedScenario | str) -> str:
    """Return a sentence on how many rebalances a longer max.poll.interval.ms leaves.

    The setting must be above the longest time between two polls. That time is known only if the logs show a
    member that polled too late and then joined again; otherwise the sentence says that the number of
    rebalances is unknown. The setting is the longest time, rounded up to a full second, plus one second.
    """
    events = () if isinstance(logged, str) else logged.scenario.events
    polls = [
        event.for_ms for event in events if isinstance(event, SlowPoll) and isinstance(event.for_ms, float)
    ]
    if not polls:
        reason = (
            logged
            if isinstance(logged, str)
            else "no member that polled too late is seen to join again in a rebalance of its own"
        )
        return simulate_cure(history, reason, {}, static=False)
    longest = f"{1000 * ceil(max(polls) / 1000 + 1)}"
    answer = simulate_cure(history, logged, {"max.poll.interval.ms": longest}, static=False)
    return f"with max.poll.interval.ms={longest}: {answer}"


QUIET_MS = 1000.0
"""Milliseconds from the beginning of a run to its first event."""
DEFAULT_AWAY_MS = 1000.0
"""Milliseconds that a member is away if the logs show only that it came back."""


_UNKNOWN = "how many rebalances that leaves is unknown"
MOST_SIMULATED = 500
"""Logs with more rebalances are not simulated, because that would take longer than reading them."""
_PARTITIONS = 12
"""Number of partitions of the simulated topic if the user names no topic; rebalances do not depend on it."""


def scenario_or_why_not(
    history: GroupHistory, topics: Mapping[str, int], assignor: str | None, changes: Mapping[str, str]
) -> CapturedScenario | str:
    """Return the scenario as `logged_scenario` does, or a sentence that says why there is none.

    Args:
        history: the group's history.
        topics: topic -> its number of partitions; if it is empty, one topic with `_PARTITIONS` is assumed.
        assignor: the group's strategy; None for the strategy that the logs name.
        changes: settings that are not Kafka's defaults, by name.
    """
    if history.protocol == "consumer":
        return "the simulation of the consumer protocol counts other epochs than its coordinator logs"
    if history.protocol in {"share", "streams"}:
        return f"{history.protocol} groups are not simulated"
    if len(history.rebalances) > MOST_SIMULATED:
        return f"the log shows more than {MOST_SIMULATED} rebalances"
    try:
        return logged_scenario(history, topics or {"topic": _PARTITIONS}, assignor, changes)
    except CopartitionError as error:
        return str(error)


def simulate_cure(
    history: GroupHistory, logged: CapturedScenario | str, changes: Mapping[str, str], *, static: bool
) -> str:
    """Return a sentence on how many rebalances a cure leaves in a simulation, or why that is unknown.

    The scenario is simulated as it was logged and with the cure. The sentence has both numbers and the number
    in the logs, so that a reader sees how close the simulation comes to the logs.

    Args:
        history: the group's history.
        logged: the scenario of what happened to it, or why there is none.
        changes: the settings of the cure, by name.
        static: whether the cure makes every member static.
    """
    if isinstance(logged, str):
        return f"{_UNKNOWN}: {logged}"
    try:
        cured = with_settings(logged.scenario, changes)
        cured = with_static(cured, static=True) if static else cured
        # The logged scenario is simulated, too. The logs and the simulation may count rebalances differently,
        # so only two simulations can be compared.
        before, after = (len(simulate(scenario).rebalances) for scenario in (logged.scenario, cured))
    except CopartitionError as error:
        return f"{_UNKNOWN}: {error}"
    shown = len(history.rebalances)
    return f"in the simulation {before:,} rebalances become {after:,}; the log shows {shown:,}"


class _MemberEvent(NamedTuple):
    """An event of a member: when it happened (ms since 1970), what it was, and the member's name."""

    at_ms: float
    cause: Cause
    member: str


def logged_scenario(
    history: GroupHistory,
    topics: Mapping[str, int],
    assignor: str | None = None,
    changes: Mapping[str, str] | None = None,
) -> CapturedScenario:
    """Return a scenario in which the same happens to the group's members as in the logs.

    The run begins `QUIET_MS` before the first event. A coordinator notices some events late (a crash, a slow
    poll). The scenario has them at the time at which they must have begun.

    Args:
        history: the group's history.
        topics: topic -> its number of partitions, which logs do not show.
        assignor: the group's strategy; None for the strategy that the logs name.
        changes: settings that are not Kafka's defaults, by name, because logs do not show settings; see
            `with_settings`.

    Raises:
        ScenarioError: a setting does not exist, or has an impossible value.
        SourceError: no topic is given, the logs name no assignor or no event with a time, or the events
            cannot have happened with these timeouts.
    """
    if not topics:
        raise SourceError(f"{history.name}: logs do not show partition counts; give `topics`")
    named = next((rebalance.assignor for rebalance in history.rebalances if rebalance.assignor), None)
    strategy = assignor or strategy_name(named, history.protocol)
    if strategy is None:
        raise SourceError(f"{history.name}: the logs do not name the group's assignor; give `assignor`")
    happened = _member_events(history)
    if not happened:
        raise SourceError(f"{history.name}: the logs show no member that joins or leaves at a known time")
    # `with_settings` needs a scenario, and the final one cannot be made before its settings are known. So the
    # changes are read into an empty scenario first.
    settings = with_settings(Scenario((Topic("any", 1),), ()), changes or {}).settings
    session = session_of(history, settings)
    _check_fits(happened, settings, session)
    assumed = [
        f"{session[0]}={session[1]:g}",
        f"max.poll.interval.ms={settings.max_poll_interval_ms:g}",
        "every member subscribes to all topics",
    ]
    left_out = sorted(
        {rebalance.cause.value for rebalance in history.rebalances if rebalance.cause in _LEFT_OUT}
    )
    if left_out:
        assumed.append(f"left out, as the logs do not tell enough: {', '.join(left_out)}")
    # Only a static member comes back under a new member id without a rebalance (KIP-345).
    static = {member for _, what, member, *_ in history.others if what == REPLACED and member}
    consumers = {member: Consumer(member, static=member in static) for _, _, member in happened}
    # A crash or a slow poll began one timeout before the coordinator's line.
    early = [(at - _delay_ms(cause, settings, session[1]), cause, member) for at, cause, member in happened]
    zero = min(at for at, _, _ in early) - QUIET_MS
    # The dict is built from the last event to the first, so that each member's first event is written last
    # and remains.
    first = {member: cause for _, cause, member in reversed(happened)}
    events = [
        _event(cause, at - zero, consumers[member], _back_ms(happened, place), settings)
        for place, (at, cause, member) in enumerate(early)
        if not _comes_back(happened, place)
    ]
    # A member whose first event is not its join was in the group before the logs begin.
    there = tuple(consumers[member] for member in consumers if first[member] is not Cause.JOINED)
    return CapturedScenario(
        Scenario(
            tuple(Topic(name, count) for name, count in topics.items()),
            there,
            tuple(events),
            strategy,
            name=history.name,
            settings=settings,
        ),
        tuple(assumed),
    )


_EVENTS = {Cause.JOINED, Cause.LEFT, Cause.EXPIRED, Cause.POLL}
"""The causes that become events of a scenario."""
_LEFT_OUT = {*Cause} - _EVENTS - {Cause.REPLACED, Cause.FOLLOW_UP}
"""The causes that cannot become events, because logs show too little; the scenario lists them as left out."""


def _member_events(history: GroupHistory) -> list[_MemberEvent]:
    """Return the joins, leaves and replacements of members, in order of time; other causes are skipped."""
    rows = [
        _MemberEvent(1000 * rebalance.began, cause, member)
        for rebalance in history.rebalances
        if rebalance.began is not None
        for cause, member in ((rebalance.cause, rebalance.member), *rebalance.also)
        if member is not None and cause in _EVENTS
    ]
    # A static member that is replaced causes no rebalance, so its replacement is among the other events.
    rows += [
        _MemberEvent(1000 * at, Cause.REPLACED, member)
        for at, what, member, *_ in history.others
        if what == REPLACED and at is not None and member is not None
    ]
    return sorted(rows, key=lambda row: row.at_ms)


def session_of(history: GroupHistory, settings: Settings) -> tuple[str, float]:
    """Return name and value (ms) of the setting that decides how long a silent member stays in the group."""
    if history.protocol in {"consumer", "share", "streams"}:
        # The broker has a setting for each kind of group, but the default is the same for all kinds.
        name = f"group.{history.protocol}.session.timeout.ms"
        return name, settings.group_consumer_session_timeout_ms
    return "session.timeout.ms", settings.session_timeout_ms


def _check_fits(happened: Sequence[_MemberEvent], settings: Settings, session: tuple[str, float]) -> None:
    """Raise SourceError if a timeout is longer than the time since the member's last event.

    In such a case the group's timeout was shorter than `settings` say. Without this check the member's crash
    would come before its own join in the scenario.

    Args:
        happened: the events, in order of time.
        settings: the settings of the scenario.
        session: name and value (ms) of the setting of the session, see `session_of`.
    """
    limits = {
        Cause.EXPIRED: session,
        Cause.POLL: ("max.poll.interval.ms", settings.max_poll_interval_ms),
    }
    for place, (at, cause, member) in enumerate(happened):
        before = [row.at_ms for row in happened[:place] if row.member == member]
        if before and cause in limits and at - before[-1] < limits[cause][1]:
            name, value = limits[cause]
            raise SourceError(
                f"{member}: {cause.value}, {(at - before[-1]) / 1000:.1f} s after it joined, so {name} was "
                f"not {value:g}; give it in `changes`"
            )


def _delay_ms(cause: Cause, settings: Settings, session_ms: float) -> float:
    """Return how many milliseconds pass from the beginning of an event until the coordinator notices it."""
    if cause is Cause.EXPIRED:
        return session_ms
    if cause is Cause.POLL:
        return settings.max_poll_interval_ms
    return DEFAULT_AWAY_MS if cause is Cause.REPLACED else 0.0


def _comes_back(happened: Sequence[_MemberEvent], place: int) -> bool:
    """Return whether an event is the join of a member that returns after a slow poll.

    The event `SlowPoll` includes that return. If the join had an event, too, the member would join twice.

    Args:
        happened: the events, in order of time.
        place: the index of the event.
    """
    _, cause, member = happened[place]
    before = [row.cause for row in happened[:place] if row.member == member]
    return cause is Cause.JOINED and before[-1:] == [Cause.POLL]


def _back_ms(happened: Sequence[_MemberEvent], place: int) -> float | None:
    """Return how many milliseconds after an event its member joins again; None if its next event is no join.

    Args:
        happened: the events, in order of time.
        place: the index of the event.
    """
    at, _, member = happened[place]
    later = (row for row in happened[place + 1 :] if row.member == member)
    following = next(later, None)
    return following.at_ms - at if following is not None and following.cause is Cause.JOINED else None


def _event(
    cause: Cause, at_ms: float, consumer: Consumer, back_ms: float | None, settings: Settings
) -> Event:
    """Return the scenario's event for a cause.

    Args:
        cause: one of `_EVENTS`, or REPLACED.
        at_ms: milliseconds from the beginning of the run.
        consumer: the member.
        back_ms: milliseconds until the member joins again; None if it does not.
        settings: the settings of the scenario.
    """
    if cause is Cause.JOINED:
        return Join(at_ms, consumer)
    if cause is Cause.EXPIRED:
        return Crash(at_ms, consumer.name)
    if cause is Cause.REPLACED:
        return Restart(at_ms, consumer.name, DEFAULT_AWAY_MS)
    if cause is Cause.POLL and back_ms is not None:
        return SlowPoll(at_ms, consumer.name, settings.max_poll_interval_ms + back_ms)
    # For the group, a member that polled too late and never joined again is the same as a member that left.
    return Leave(at_ms, consumer.name)
