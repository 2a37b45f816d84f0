"""What changes in a watched group, a line each."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from assignors.interface import RebalanceProtocol
from assignors.registry import get_assignor
from copartition.reports.ranges import count, duration, partition_ranges
from copartition.reports.visible import visible
from copartition.watch import Kind, Watch
from partitioning.errors import PartitioningError

if TYPE_CHECKING:
    from copartition.diff.state import GroupState
    from copartition.groups.record import Step
    from copartition.watch import Change

_MEMBERS = (Kind.JOINED, Kind.LEFT, Kind.RESTARTED)

_WAITING = {True: "there is no such group yet; waiting for it", False: "the group is gone; waiting for it"}

_UNKNOWN = "unknown"
"""The state that librdkafka has no name for: a KIP-848 group that is assigning or reconciling."""


def change_text(change: Change) -> str:
    """The change for people."""
    state = change.state
    generation = "" if state.generation is None else f"  generation >= {state.generation}"
    when = _time(change.at, "seconds")
    return visible(f"{when}  #{change.step}  {state.status or _UNKNOWN}{generation}  {_told(change)}") + "\n"


def change_json(change: Change) -> str:
    """The change for programs."""
    state = change.state
    partitions: dict[str, list[int]] = {}
    for topic, number in change.partitions:
        partitions.setdefault(topic, []).append(number)
    row: dict[str, Any] = {
        "at": _time(change.at, "milliseconds"),
        "step": change.step,
        "kind": change.kind,
        "group": state.name,
        "state": state.status,
        "generation_at_least": state.generation,
        "members": len(state.members),
        "name": change.name,
        "before": change.before,
        "after": change.after,
        "source": change.source,
        "target": change.target,
        "partitions": partitions,
        "least_ms": _milliseconds(change.least_s),
        "most_ms": _milliseconds(change.most_s),
    }
    return json.dumps(row) + "\n"


def _told(change: Change) -> str:
    if change.kind is Kind.STATE:
        return _state(change)
    if change.kind is Kind.MOVED:
        return _moved(change)
    if change.kind is Kind.STRATEGY:
        return f"assignor {change.before} -> {change.after}"
    if change.kind is Kind.GREW:
        return f"{change.name} grew from {change.before} to {count(int(change.after or 0), 'partition')}"
    if change.kind is Kind.RESTARTED:
        return f"{change.name} is back under a new member id{_length(change, ', away')}"
    return f"{change.name} {change.kind}"


def _state(change: Change) -> str:
    if change.after == "Dead":
        return _WAITING[change.before is None]
    group = change.state
    parts = [count(len(group.members), "member"), count(len(group.partition), "partition")]
    known = ", ".join([*parts, group.strategy or "no assignor"])
    if change.step == 0:
        return known
    told = f"{change.before or _UNKNOWN} -> {change.after or _UNKNOWN}{_length(change, ' after')}"
    if change.after != "Stable":
        return told
    stood = "; eager: every partition stood still" if _eager(group) and change.most_s is not None else ""
    return f"{told}: {known}{stood}"


def _moved(change: Change) -> str:
    source, target = change.source or "nobody", change.target or "nobody"
    return f"{source} -> {target}  {partition_ranges(change.partitions)}{_length(change, '  no owner for')}"


def _length(change: Change, before: str) -> str:
    """How long it took, as far as looks tell."""
    least, most = (
        None if each is None else duration(1000 * each) for each in (change.least_s, change.most_s)
    )
    if most is None:
        return "" if least is None else f"{before} at least {least}"
    return f"{before} at most {most}" if least is None else f"{before} {least} to {most}"


def _eager(group: GroupState) -> bool:
    """Whether all members give up all that they have when this group rebalances, as far as is known."""
    if group.protocol != "classic" or group.strategy is None:
        return False
    try:
        return max(get_assignor(group.strategy).protocols) is RebalanceProtocol.EAGER
    except PartitioningError:
        return False


def _milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(1000 * seconds)


def _time(seconds: float, to: str) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec=to).replace("+00:00", "Z")


class Teller:
    """Tells a watch, step by step and in a few words at its end.

    Args:
        form: "text" or "json".
    """

    def __init__(self, form: str) -> None:
        self._line = change_json if form == "json" else change_text
        self._watch = Watch()
        self._kinds: Counter[Kind] = Counter()
        self._moved = 0
        self._longest_s = 0.0

    def lines(self, step: Step) -> str:
        """The lines of one more step."""
        changes = self._watch.see(step)
        for change in changes:
            self._kinds[change.kind] += 1
            if change.kind is Kind.MOVED and change.target is not None:
                self._moved += len(change.partitions)
                self._longest_s = max(self._longest_s, change.most_s or 0)
        return "".join(map(self._line, changes))

    def summary(self, seconds: float, blind_s: float | None) -> str:
        """What was seen in this time, and what cannot have been.

        Args:
            seconds: how long the group was watched.
            blind_s: the longest time between two looks; None for a record, which does not tell.
        """
        members = ", ".join(f"{self._kinds[each]:,} {each}" for each in _MEMBERS)
        told = [f"{duration(1000 * seconds)}: {members}, {count(self._moved, 'partition')} taken over"]
        if self._longest_s:
            told[0] += f", without an owner for at most {duration(1000 * self._longest_s)}"
        if blind_s is not None:
            told.append(
                f"what came and went between two looks, at most {duration(1000 * blind_s)}, was not seen"
            )
        if self._kinds[Kind.LEFT]:
            told.append(
                "a member that is killed owns its partitions until its session times out: nobody reads them, "
                "and no look shows it"
            )
        return "\n".join(told) + "\n"
