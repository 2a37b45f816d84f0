"""A record of a group beside the model, for people and for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from copartition.reports.json import dump
from copartition.reports.ranges import count, duration, partition_ranges
from copartition.watch.changes import Kind

if TYPE_CHECKING:
    from rich.console import Console

    from copartition.watch.changes import Change
    from copartition.watch.replaying import Bounds, Compared, Replay, Spread

FORMAT_VERSION = "1.0"
_COLUMNS = ("STEPS", "WHAT HAPPENED", "OWNERS", "NO OWNER FOR", "BY THE MODEL", "")
_VERDICTS = {True: "agrees", False: "differs", None: ""}


def print_replay(replay: Replay, console: Console) -> None:
    """A line an event, then which partitions differ, what is missing and what was assumed."""
    from copartition.reports.tables import cell, indent, note, table  # noqa: PLC0415 - JSON does without rich

    head = (replay.group or "a group", replay.assignor, f"{replay.steps:,} steps in {_time(replay.seconds)}")
    console.print(cell("   ".join(head), "bold"))
    if replay.compared:
        rows = table(_COLUMNS)
        for each in replay.compared:
            rows.add_row(*map(cell, _row(each)))
        console.print(indent(rows))
        console.print(note(f"the model's times are the median, and the range, of {replay.runs} runs"))
    else:
        console.print(note("nothing happened that can be replayed"))
    for each in replay.compared:
        for recorded, model, partitions in each.differing:
            where = f"#{each.last}  {partition_ranges(partitions)}"
            console.print(
                note(f"{where}  {recorded or 'nobody'}, by the model {model or 'nobody'}", "yellow")
            )
    for text in replay.warnings:
        console.print(note(f"warning: {text}", "yellow"))
    for text in replay.assumed:
        console.print(note(f"assumed: {text}"))


def replay_json(replay: Replay) -> str:
    """The same for programs; times are milliseconds."""
    return dump(
        {
            "format_version": FORMAT_VERSION,
            "kind": "record-replay",
            "group": replay.group,
            "assignor": replay.assignor,
            "steps": replay.steps,
            "runs": replay.runs,
            "agrees": replay.agrees,
            "events": [_event(each) for each in replay.compared],
            "assumed": list(replay.assumed),
            "warnings": list(replay.warnings),
        }
    )


def _event(compared: Compared) -> dict[str, Any]:
    return {
        "first_step": compared.first,
        "last_step": compared.last,
        "causes": [{"kind": each.kind, "name": each.name, "to": each.after} for each in compared.causes],
        "partitions": compared.partitions,
        "differing": [
            {"recorded": recorded, "model": model, "partitions": _by_topic(partitions)}
            for recorded, model, partitions in compared.differing
        ],
        "recorded_ms": _milliseconds(compared.recorded),
        "model_ms": _milliseconds(compared.predicted),
        "in_time": compared.in_time,
    }


def _milliseconds(times: Bounds | Spread | None) -> dict[str, int | None] | None:
    if times is None:
        return None
    return {name: None if value is None else round(value) for name, value in times._asdict().items()}


def _by_topic(partitions: Any) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for topic, number in partitions:
        found.setdefault(topic, []).append(number)
    return found


def _row(compared: Compared) -> tuple[str, ...]:
    differing = sum(len(each.partitions) for each in compared.differing)
    owners = f"{differing:,} of {count(compared.partitions, 'partition')} differ" if differing else "equal"
    agrees = False if differing else compared.in_time
    return (
        f"#{compared.first} to #{compared.last}",
        ", ".join(map(_cause, compared.causes)) or "nothing that the record shows",
        owners,
        _recorded(compared.recorded),
        _predicted(compared.predicted),
        _VERDICTS[agrees],
    )


def _cause(cause: Change) -> str:
    if cause.kind is Kind.GREW:
        return f"{cause.name} grew to {cause.after}"
    return f"{cause.name} {cause.kind}"


def _recorded(bounds: Bounds | None) -> str:
    if bounds is None:
        return ""
    if bounds.most is None:
        return f"at least {duration(bounds.least)}"
    return f"{duration(bounds.least)} to {duration(bounds.most)}"


def _predicted(spread: Spread | None) -> str:
    if spread is None:
        return "unknown"
    if spread.least == spread.most:
        return duration(spread.middle)
    return f"{duration(spread.middle)} ({duration(spread.least)} to {duration(spread.most)})"


def _time(seconds: float) -> str:
    return duration(1000 * seconds)
