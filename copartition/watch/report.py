"""Report each change of a watched group on a line, and compare a record of a group with the model.

Lengths of time in JSON are whole milliseconds; names of keys are stable.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from assignors.answers import numbers_by_topic
from assignors.interface import RebalanceProtocol
from assignors.registry import get_assignor
from assignors.state import GroupState
from copartition.groups.snapshot import RecordStep
from copartition.kit.json import attributes_of, dump, utc_time, whole_milliseconds
from copartition.kit.words import Table, count, duration, partition_ranges, visible
from copartition.watch.changes import ROLES, ChangeKind, GroupChange, Trouble, Watch
from partitioning.errors import CopartitionError

if TYPE_CHECKING:
    from rich.console import Console

    from copartition.groups.kinds.model import OtherGroup, ShareGroupState, StreamsGroupState
    from copartition.simulate_scenarios.episodes import DurationBounds
    from copartition.simulate_scenarios.replay import EpisodeComparison, Replay, TimeRange


_MEMBERS = (ChangeKind.JOINED, ChangeKind.LEFT, ChangeKind.RESTARTED)

_WORDS = {
    "partitions": "partitions",
    "active": "active tasks",
    "standby": "standby tasks",
    "warmup": "warm-up tasks",
}
"""Role in a share or Streams group -> the words for what a member has in this role."""

_WAITING = {True: "there is no such group yet; waiting for it", False: "the group is gone; waiting for it"}
"""Words for a group that is not there: True if no look has shown it yet, False if an earlier look did."""

_UNKNOWN = "unknown"
"""The word for a state that librdkafka has no name for: a KIP-848 group that is assigning or reconciling."""


def trouble_text(trouble: Trouble, now: float) -> str:
    """Return a line on a trouble.

    Args:
        trouble: the part of the group that cannot be read, or can be read again.
        now: the time, like `trouble.since` in seconds since 1970.
    """
    if not trouble.away:
        return f"{trouble.why}; trying again" if trouble.why else "offsets can be read again"
    if trouble.why:
        return f"{trouble.why}; away since {utc_time(trouble.since, 'seconds')}, trying again"
    return f"it answers again, after {duration(1000 * (now - trouble.since))} without an answer"


def change_text(change: GroupChange) -> str:
    """Return a change as a line of text that ends with a newline.

    Args:
        change: the change; its time is shown in UTC, in whole seconds.
    """
    state = change.state
    when = utc_time(change.at, "seconds")
    return (
        visible(
            f"{when}  #{change.step}  {state.status or _UNKNOWN}{_count_text(state)}  {_change_text(change)}"
        )
        + "\n"
    )


def _count_text(state: GroupState | OtherGroup) -> str:
    """Return the generation of a consumer group or the epochs of another, after two blanks.

    A share or Streams group has two epochs: the group's own, and the one for which the newest assignment was
    made. The result is "" for a consumer group whose generation is unknown.
    """
    if isinstance(state, GroupState):
        return "" if state.generation is None else f"  generation >= {state.generation}"
    # Two epochs that differ show a group whose members wait for a new assignment.
    behind = "" if state.group_epoch == state.assignment_epoch else f", assigned {state.assignment_epoch}"
    return f"  epoch {state.group_epoch}{behind}"


def change_json(change: GroupChange) -> str:
    """Return a change as a line of JSON that ends with a newline."""
    state = change.state
    row: dict[str, Any] = {
        "at": utc_time(change.at, "milliseconds"),
        "step": change.step,
        "kind": change.kind,
        "group": state.name,
        "state": state.status,
        **(
            {"generation_at_least": state.generation}
            if isinstance(state, GroupState)
            else {**attributes_of(state, "protocol", "group_epoch", "assignment_epoch"), "role": change.role}
        ),
        "members": len(state.members or ()),
        **attributes_of(change, "name", "before", "after", "source", "target"),
        "partitions": dict(numbers_by_topic(change.partitions)),
        "least_ms": whole_milliseconds(change.least_s),
        "most_ms": whole_milliseconds(change.most_s),
    }
    return json.dumps(row) + "\n"


def _change_text(change: GroupChange) -> str:
    """Return the words for a change, without its time, step and state."""
    if change.kind is ChangeKind.STATE:
        return _state(change)
    if change.kind is ChangeKind.MOVED:
        return _moved_text(change)
    if change.kind is ChangeKind.STRATEGY:
        return f"assignor {change.before} -> {change.after}"
    if change.kind is ChangeKind.GREW:
        return f"{change.name} grew from {change.before} to {count(int(change.after or 0), 'partition')}"
    if change.kind is ChangeKind.RESTARTED:
        return f"{change.name} is back under a new member id"
    return f"{change.name} {change.kind}"


def _moved_text(change: GroupChange) -> str:
    """Return the words for partitions that moved, or for what a share or Streams member got or lost.

    The words end with the time in which the partitions had no owner, or no member at all had them, as far as
    looks show it.
    """
    which = partition_ranges(change.partitions)
    if change.role is not None:
        verb = f"{change.target} gets" if change.target else f"{change.source} loses"
        return f"{verb} {_WORDS[change.role]} {which}{_length(change, '  no member had them for')}"
    ways = f"{change.source or 'nobody'} -> {change.target or 'nobody'}"
    return f"{ways}  {which}{_length(change, '  no owner for')}"


def _state(change: GroupChange) -> str:
    """Return the words for a change of state; at the first step, the size of the group instead."""
    if change.after == "Dead":
        # Users do not know a group that does not exist as "Dead".
        return _WAITING[change.before is None]
    group = change.state
    facts = _facts(group)
    if change.step == 0:
        return facts
    text = f"{change.before or _UNKNOWN} -> {change.after or _UNKNOWN}{_length(change, ' after')}"
    if change.after != "Stable":
        return text
    stood = "; eager: every partition stood still" if _eager(group) and change.most_s is not None else ""
    return f"{text}: {facts}{stood}"


def _facts(group: GroupState | ShareGroupState | StreamsGroupState) -> str:
    """Return the size of a group and its assignor, and its kind if its partitions have no owners.

    The partitions of a share group are counted once for each member that has them; the tasks of a Streams
    group are counted by role. If there are none, the text says "nothing assigned".
    """
    members = count(len(group.members or ()), "member")
    if isinstance(group, GroupState):
        return f"{members}, {count(len(group.partition), 'partition')}, {group.strategy or 'no assignor'}"
    had: Counter[str] = Counter()
    for member in group.members or ():
        for role in ROLES:
            had[role] += sum(map(len, getattr(member, role, {}).values()))
    tasks = ", ".join(f"{number:,} {_WORDS[role]}" for role, number in had.items() if number)
    kind = f"{group.protocol} group, {members}, {tasks or 'nothing assigned'}"
    return f"{kind}, {group.strategy or 'assignor unknown'}"


def _length(change: GroupChange, before: str) -> str:
    """Return how long a change took, with `before` as its first words; "" if looks do not show it."""
    least, most = (
        None if seconds is None else duration(1000 * seconds) for seconds in (change.least_s, change.most_s)
    )
    if most is None:
        return "" if least is None else f"{before} at least {least}"
    return f"{before} at most {most}" if least is None else f"{before} {least} to {most}"


def _eager(group: GroupState | OtherGroup) -> bool:
    """Return whether all members give up all partitions when this group rebalances.

    False if the protocol or the assignor is not known, so that the report claims no standstill without
    evidence.
    """
    if not isinstance(group, GroupState) or group.protocol != "classic" or group.strategy is None:
        return False
    try:
        # A consumer uses the highest protocol that its assignor has.
        return max(get_assignor(group.strategy).protocols) is RebalanceProtocol.EAGER
    except CopartitionError:
        return False


class WatchReport:
    """Shows a watch, step by step and in a few words at its end; `form` is "text" or "json".

    The report owns the `Watch` that it shows, and keeps the numbers that `summary` tells.

    Attributes:
        _line: returns a change as a line, in the form `form`.
        _kinds: how many changes of each kind there were.
        _moved: how many times a partition or an active task got an owner.
        _longest_s: the longest time, in seconds, that a partition may have had no owner.
    """

    def __init__(self, form: str) -> None:
        self._line = change_json if form == "json" else change_text
        self._watch = Watch()
        self._kinds: Counter[ChangeKind] = Counter()
        self._moved = 0
        self._longest_s = 0.0

    def lines(self, step: RecordStep) -> str:
        """Return the lines of one more step, each with its newline; empty if the step shows nothing new."""
        changes = self._watch.see(step)
        for change in changes:
            self._kinds[change.kind] += 1
            # Standby and warm-up tasks are copies of state. No member takes them over from another member.
            if change.kind is ChangeKind.MOVED and change.target and change.role not in {"standby", "warmup"}:
                self._moved += len(change.partitions)
                self._longest_s = max(self._longest_s, change.most_s or 0)
        return "".join(map(self._line, changes))

    def summary(self, seconds: float, blind_s: float | None) -> str:
        """Return a line on what was seen in this time, and lines on what no look can show.

        Args:
            seconds: the time from the first look to the last.
            blind_s: the longest time in seconds between two looks; None for a record.
        """
        members = ", ".join(f"{self._kinds[field]:,} {field}" for field in _MEMBERS)
        text = [f"{duration(1000 * seconds)}: {members}, {count(self._moved, 'partition')} taken over"]
        if self._longest_s:
            text[0] += f", without an owner for at most {duration(1000 * self._longest_s)}"
        if blind_s is not None:
            text.append(
                f"what came and went between two looks, at most {duration(1000 * blind_s)}, was not seen"
            )
        if self._kinds[ChangeKind.RESTARTED]:
            text.append(
                "how long a restarted member was away shows in no look: a static one that stops, and any "
                "that is killed, is named until it is back or its session times out"
            )
        if self._kinds[ChangeKind.LEFT]:
            text.append(
                "a member that is killed owns its partitions until its session times out: nobody reads them, "
                "and no look shows it"
            )
        return "\n".join(text) + "\n"


REPLAY_FORMAT_VERSION = "1.0"
_COLUMNS = ("STEPS", "WHAT HAPPENED", "OWNERS", "NO OWNER FOR", "BY THE MODEL", "")
_VERDICTS = {True: "agrees", False: "differs", None: ""}
"""Whether record and model agree -> the word for it; None if there is nothing to compare."""


def print_replay(replay: Replay, console: Console) -> None:
    """Print a line for each event, then the partitions with different owners, warnings and assumptions.

    Args:
        replay: the record, compared with the model.
        console: where to print.
    """
    from copartition.kit.grid import cell, note, print_table  # noqa: PLC0415 - JSON needs no rich

    head = (
        replay.group or "a group",
        replay.assignor,
        f"{replay.steps:,} steps in {duration(1000 * replay.seconds)}",
    )
    console.print(cell("   ".join(head), "bold"))
    if replay.compared:
        print_table(Table(_COLUMNS, [*map(_row, replay.compared)]), console)
        console.print(note(f"the model's times are the median, and the range, of {replay.runs} runs"))
    else:
        console.print(note("nothing happened that can be replayed"))
    for change in replay.compared:
        for recorded, model, partitions in change.differing:
            where = f"#{change.last}  {partition_ranges(partitions)}"
            console.print(
                note(f"{where}  {recorded or 'nobody'}, by the model {model or 'nobody'}", "yellow")
            )
    for text in replay.warnings:
        console.print(note(f"warning: {text}", "yellow"))
    for text in replay.assumed:
        console.print(note(f"assumed: {text}"))


def replay_json(replay: Replay) -> str:
    """Return a replay as JSON; times are whole milliseconds, and null if unknown.

    Args:
        replay: the record, compared with the model.
    """
    return dump(
        {
            "format_version": REPLAY_FORMAT_VERSION,
            "kind": "record-replay",
            **attributes_of(replay, "group", "assignor", "steps", "runs", "agrees"),
            "events": [_event(change) for change in replay.compared],
            "assumed": list(replay.assumed),
            "warnings": list(replay.warnings),
        }
    )


def _event(compared: EpisodeComparison) -> dict[str, Any]:
    """Return an event as values that JSON has; steps are numbered from 0 on."""
    return {
        "first_step": compared.first,
        "last_step": compared.last,
        "causes": [{"kind": cause.kind, "name": cause.name, "to": cause.after} for cause in compared.causes],
        "partitions": compared.partitions,
        "differing": [
            {"recorded": recorded, "model": model, "partitions": dict(numbers_by_topic(partitions))}
            for recorded, model, partitions in compared.differing
        ],
        "recorded_ms": _times(compared.recorded),
        "model_ms": _times(compared.predicted),
        "in_time": compared.in_time,
    }


def _times(times: DurationBounds | TimeRange | None) -> dict[str, int | None] | None:
    """Return the fields of `times` by name, in whole milliseconds; None if `times` is None."""
    if times is None:
        return None
    return {name: None if value is None else round(value) for name, value in times._asdict().items()}


def _row(compared: EpisodeComparison) -> tuple[str, ...]:
    """Return the cells of an event in the order of `_COLUMNS`."""
    differing = sum(len(change.partitions) for change in compared.differing)
    owners = f"{differing:,} of {count(compared.partitions, 'partition')} differ" if differing else "equal"
    # If owners differ, record and model do not agree, whatever the times are.
    agrees = False if differing else compared.in_time
    return (
        f"#{compared.first} to #{compared.last}",
        ", ".join(map(_cause, compared.causes)) or "nothing that the record shows",
        owners,
        _bounds_text(compared.recorded),
        _spread_text(compared.predicted),
        _VERDICTS[agrees],
    )


def _cause(cause: GroupChange) -> str:
    """Return the words for a cause."""
    if cause.kind is ChangeKind.GREW:
        return f"{cause.name} grew to {cause.after}"
    return f"{cause.name} {cause.kind}"


def _bounds_text(bounds: DurationBounds | None) -> str:
    """Return the words for the time that the record shows; "" if no partition moved."""
    if bounds is None:
        return ""
    if bounds.most is None:
        return f"at least {duration(bounds.least)}"
    return f"{duration(bounds.least)} to {duration(bounds.most)}"


def _spread_text(spread: TimeRange | None) -> str:
    """Return the words for the model's times; "unknown" if the record does not show the event's cause."""
    if spread is None:
        return "unknown"
    if spread.least == spread.most:
        return duration(spread.middle)
    return f"{duration(spread.middle)} ({duration(spread.least)} to {duration(spread.most)})"
