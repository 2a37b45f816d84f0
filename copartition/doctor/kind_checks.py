"""Check what share groups and Streams groups have in common: members, lag, retention and settings.

Each check is a function of the examined group and the limits, as those of consumer groups in `member_checks`
and `offset_checks`. Lags are numbers of records; times are milliseconds.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, NoReturn

from copartition.doctor.examination import SHOWN
from copartition.doctor.facts import find_clamped, judge_kept, observe_deleted, observe_lag, observe_waiting
from copartition.doctor.kind_examination import KindExamination
from copartition.doctor.observing import (
    AGAIN,
    ASK,
    NO_MEMBERS,
    TWO_LOOKS,
    Limits,
    Observation,
    UnknownError,
    end_unknown,
    evidence,
    first_names,
    need,
    observe,
)
from copartition.groups.kinds.model import OtherGroup
from copartition.kit.evidence import Evidence
from copartition.kit.places import Place, by_place
from copartition.kit.words import count, duration, list_names

TOOL = {"share": "kafka-share-groups.sh", "streams": "kafka-streams-groups.sh"}
"""The tool of Kafka that describes a kind of group."""


def describe_with(group: KindExamination[Any], option: str) -> str:
    """Return the remedy for what only another table of Kafka's tool shows.

    Args:
        group: the group.
        option: the tool's option for that table, such as "--members --verbose"; "" for the table of offsets.
    """
    command = " ".join(filter(None, [TOOL[group.state.protocol], "--describe --group GROUP", option]))
    return f"add a table: {command} >> FILE, or {ASK}"


def kind_members_seen(group: KindExamination[Any]) -> str:
    """Return the members as evidence; end the check as unknown if the group has none, or shows none."""
    if group.state.members is None:
        end_unknown("the source lists no members", describe_with(group, "--members --verbose"))
    # None above and () here have different remedies: another table of the tool, or a member to start.
    if not group.members:
        raise UnknownError(NO_MEMBERS)
    return f"{count(len(group.members), 'member')} in {group.where}"


def need_number(
    group: KindExamination[Any], settings: Mapping[str, str] | None, name: str, resource: str
) -> int:
    """Return the value of a setting that is a number; end the check as unknown if the source lacks it.

    Args:
        group: the group.
        settings: name -> value, of the group or of its brokers; None if the source shows none.
        name: the setting's name.
        resource: the resource on which a user needs DESCRIBE_CONFIGS to see it: "group" or "cluster".
    """
    value = (settings or {}).get(name, "")
    if not value.isdigit():
        end_unknown(
            f"the source does not show {name}",
            ASK if group.state.at is None else f"give this user DESCRIBE_CONFIGS on the {resource}",
        )
    return int(value)


def observe_idle(group: KindExamination[Any], has_some: Callable[[Any], object], share: str) -> Observation:
    """Look for members that have nothing to do.

    Args:
        group: the group.
        has_some: called with a member; truthy if it has something to do.
        share: a word for what a member has: "partition" or "task".
    """
    seen = kind_members_seen(group)
    idle = sorted(group.names[member.id] for member in group.members if not has_some(member))
    text = f"{count(len(idle), 'member')} without a {share}: {list_names(idle, SHOWN)}"
    return observe(idle, text, f"every member has {share}s", evidence(seen))


def kind_state_check(group: KindExamination[Any], _: Limits) -> Observation:
    """Look for a group that is not Stable, or whose members changed between the two looks.

    An Empty group and one that is NotReady are cases of their own. A group that is Stable at both looks is a
    fault, too, if members joined or left in between: it rebalances again and again.
    """
    state = group.state
    status = need(
        state.status,
        "the source does not say in which state the group is",
        describe_with(group, "--state --verbose"),
    )
    members = "" if state.members is None else f" with {count(len(group.members), 'member')}"
    ground = evidence(f"the state in {group.where}")
    if status == "Empty":
        return Observation(True, "the group is Empty: nobody reads", ground, "empty")
    if status == "NotReady":
        return Observation(
            True, f"the group is NotReady{members}: no task is handed out", ground, "not_ready"
        )
    if status != "Stable":
        return Observation(True, f"the group is {status}{members}", ground)
    if changed := group.came_or_went:
        text = f"{count(changed, 'member')} came or went in {duration(group.elapsed_ms)}"
        return Observation(True, f"the group is Stable{members}; {text}", ground)
    text = f"Stable{members}, assignor {state.strategy or 'unknown'}"
    return Observation(False, text, ground)


def missing_topics_check(group: KindExamination[Any], _: Limits) -> Observation:
    """Look for topics of the group that the cluster does not show.

    Either they do not exist, or this user may not see them. The source does not tell which, so neither does
    the text.
    """
    need(group.state.topics, "the source does not show which topics there are")
    hidden = group.state.hidden
    text = (
        f"the cluster shows no topic {list_names(hidden, SHOWN)}, of which the group reads or keeps records"
    )
    seen = f"{count(len(group.state.topics or {}) + len(hidden), 'topic')} asked for at the cluster"
    return observe(hidden, text, "the cluster has every topic of the group", evidence(seen))


def kind_lags(group: KindExamination[Any]) -> dict[Place, int]:
    """Return the known lags, in records; end the check as unknown if none is known.

    A partition to which no record was ever written has the lag 0.
    """
    shown = need(group.lags, "the source shows no lag", describe_with(group, ""))
    # A known lag takes precedence. An end of 0 only gives a lag to a partition without a known one.
    lags = {place: 0 for place, end in group.ends.items() if not end} | shown
    if not lags:
        end_unknown("no partition has a lag that is known", AGAIN)
    return lags


def _lags_seen(lags: Collection[Place]) -> str:
    """Return the lags of these partitions as evidence."""
    return f"the lag of {count(len(lags), 'partition')}"


def kind_lag_check(group: KindExamination[Any], limits: Limits) -> Observation:
    """Look for partitions that lag by more than the limit.

    One partition above the limit is enough for a fault. "ok" is about all partitions, so the check is unknown
    if the lag of one of them is unknown. A group without members is the case "empty": its lag does not
    come from slow members.
    """
    lags = kind_lags(group)
    case = "" if group.members or group.state.members is None else "empty"
    need_lags = partial(need_known_lags, group)
    return observe_lag(lags, limits.lag, need_lags, evidence(_lags_seen(lags)), case)


def need_known_lags(group: KindExamination[Any]) -> None:
    """End the check as unknown if a partition with a position or with records has no known lag."""
    lags = group.lags or {}
    starts = by_place(group.state.starts)
    dark = [place for place, offset in group.positions.items() if offset >= 0 and place not in lags]
    # A group has no position in a partition of which it has processed nothing yet. All its records may wait.
    dark += [
        place
        for place, end in group.ends.items()
        if place not in lags and place not in dark and end > starts.get(place, 0)
    ]
    if dark:
        end_unknown(f"the lag of {count(len(dark), 'partition')} is unknown: {first_names(dark)}", AGAIN)


def two_looks(group: KindExamination[Any]) -> tuple[Any, Any]:
    """Return both looks at the group, the first one first; end the check as unknown if there is only one.

    A change in time cannot be seen in one look.
    """
    return need(group.first, TWO_LOOKS), group.state


def waiting_twice(group: KindExamination[Any], places: Collection[Place]) -> list[Place]:
    """Return the partitions among `places` in which records waited at both looks.

    A partition that was empty at the first look is left out: its new records may just not be polled yet. A
    partition whose lag is unknown at either look is left out, too.
    """
    before, after = (by_place(look.lag) for look in two_looks(group))
    return [place for place, lag in after.items() if place in places and lag > 0 and before.get(place, 0) > 0]


def twice(group: KindExamination[Any], places: Collection[Place]) -> str:
    """Return two looks at the lags of these partitions as evidence."""
    return f"{_lags_seen(places)}, in two looks {duration(group.elapsed_ms)} apart"


def kind_trend_check(group: KindExamination[Any], limits: Limits) -> Observation:
    """Look for a lag that grew between the looks, above the limit or towards it.

    Below the limit, the lag of all partitions together counts as growing if it grew by at least
    `limits.written` records, and by more than half of the records written between the looks. The lag of a
    group that keeps up grows by less.
    """
    first, last = (by_place(look.lag) for look in two_looks(group))
    # A lag that only one look shows is no change: it may have been the same before.
    change = {place: lag - first[place] for place, lag in last.items() if place in first}
    if not change:
        end_unknown("no partition has a lag in both looks", AGAIN)
    above = [place for place, more in change.items() if more > 0 and last[place] > limits.lag]
    total, ground = sum(change.values()), evidence(twice(group, change))
    text = f"the lag changed by {total:+,} records in {duration(group.elapsed_ms)}"
    if above:
        return Observation(True, f"{text}; above {limits.lag:,} and growing: {first_names(above)}", ground)
    before, after = by_place(group.first.ends if group.first else None), group.ends
    written = sum(after[place] - before[place] for place in change if place in after and place in before)
    if total >= limits.written and 2 * total > written:
        return Observation(True, f"{text}, of {written:,} written", ground, "growing")
    return Observation(False, text, ground)


def done_beyond(group: OtherGroup) -> dict[Place, int]:
    """Return how many records beyond its position each partition has processed already.

    A share group may process later records before the one at its position. Its lag does not count them
    (KIP-1226), so their number is end - position - lag. In a Streams group the number is 0.

    Returns:
        Partition -> number of records, for partitions whose position, end and lag are all known.
    """
    positions, ends = by_place(group.positions), by_place(group.ends)
    return {
        place: ends[place] - positions[place] - lag
        for place, lag in by_place(group.lag).items()
        if place in ends and positions.get(place, -1) >= 0
    }


def kind_deleted_check(group: KindExamination[Any], limits: Limits) -> Observation:
    """Look for records that retention deleted before they were processed, or is about to delete.

    Partitions without a position are left out. The check is unknown if none is left, or if the source does
    not show the first offsets of partitions.
    """
    starts = by_place(
        need(group.state.starts, "the source does not show the oldest records that partitions keep")
    )
    done = done_beyond(group.state)
    # Processed records beyond the position are counted as read, because the deleted records may be these.
    firm = {place: offset + done.get(place, 0) for place, offset in group.positions.items() if offset >= 0}
    kept = judge_kept(firm, starts, group.ends, limits.written)
    compared = firm.keys() & starts
    if not compared:
        end_unknown("no partition has a position that could be compared with what is kept", AGAIN)
    seen = f"positions and the oldest records of {count(len(compared), 'partition')}"
    return observe_deleted(kept, evidence(seen))


def kind_waiting_check(group: KindExamination[Any], limits: Limits) -> Observation:
    """Look for a record that has waited for longer than the limit.

    The check is "ok" if no record waits. Otherwise the record that has waited longest decides, see
    `observe_waiting`.
    """
    waiting = by_place(need(group.state.waiting_ms, "the source does not show when records were written"))
    lags = kind_lags(group)
    behind = [place for place, lag in lags.items() if lag > 0]
    if not behind:
        return Observation(False, "no record waits", evidence(_lags_seen(lags)))
    return observe_waiting(waiting, lags, limits.waiting_ms, partial(need_known_lags, group))


def kind_settings_check(group: KindExamination[Any], _: Limits) -> Observation:
    """Look for settings that the brokers replace by their limits, and for too few heartbeats in a session.

    A setting that is replaced is reported first: brokers use another value than the one that was set, so a
    comparison of the set values would mean little.

    The check is unknown if brokers do not show this user the settings of the group and their own.
    """
    state = group.state
    if state.settings is None or state.limits is None:
        _end_without_settings(group)
    ground = evidence("the group's settings", "the brokers' limits")
    if clamped := find_clamped(state.settings, state.limits):
        return Observation(True, list_names([str(setting) for setting in clamped], SHOWN), ground)
    kind = state.protocol
    session = state.settings.get(f"{kind}.session.timeout.ms", "")
    heartbeat = state.settings.get(f"{kind}.heartbeat.interval.ms", "")
    # The group may have settings, but not these timeouts.
    if not (session.isdigit() and heartbeat.isdigit()):
        _end_without_settings(group)
    times = f"heartbeat {duration(int(heartbeat))}, session {duration(int(session))}"
    # "No higher than 1/3 of that value" is what Kafka's documentation of heartbeat.interval.ms asks.
    if 3 * int(heartbeat) > int(session):
        return Observation(True, f"fewer than 3 heartbeats fit into a session: {times}", ground, "heartbeats")
    return Observation(False, f"{times}; no setting is outside the brokers' limits", ground)


def _end_without_settings(group: KindExamination[Any]) -> NoReturn:
    """End a check as unknown because settings are missing, and name the remedy.

    Args:
        group: if its source is a file, the remedy is to ask the cluster; otherwise it is the missing right.

    Raises:
        UnknownError: always.
    """
    shown_by = "kafka-configs.sh --describe --entity-type groups --entity-name GROUP"
    if group.state.at is None:
        end_unknown("the source does not show the group's settings")
    end_unknown(
        "no broker shows this user the settings of the group and of brokers",
        f"give this user DESCRIBE_CONFIGS on the group and the cluster; {shown_by} shows them",
    )


def seen_positions(group: KindExamination[Any]) -> Evidence:
    """Return the group's positions as evidence; end the check as unknown if the source shows none."""
    need(group.state.positions, "the source shows no offsets of the group", describe_with(group, ""))
    return evidence(f"offsets of {count(len(group.positions), 'partition')} in {group.where}")


KIND_LOOKS: Mapping[str, Callable[[KindExamination[Any], Limits], Observation]] = {
    "state": kind_state_check,
    "topics": missing_topics_check,
    "lag": kind_lag_check,
    "trend": kind_trend_check,
    "deleted": kind_deleted_check,
    "waiting": kind_waiting_check,
    "settings": kind_settings_check,
}
"""The checks that share groups and Streams groups have, by name of their table in the kind's TOML file."""
