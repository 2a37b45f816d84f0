"""A run of a cell as a JSON object: what happened, when, and what it cost.

All times are seconds from the event's begin, so what happened while the group formed is negative.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from benchmarks.rebalances.broker_log import Decision, Request
from benchmarks.rebalances.measure import (
    as_row,
    decisions,
    outages,
    read_twice,
    readings,
    rounds,
    says_nothing,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from benchmarks.rebalances.cell import Cell, Ran
    from benchmarks.rebalances.measure import Reading


def record(cell: Cell, ran: Ran, log: Iterable[Request | Decision]) -> dict[str, Any]:
    """What a run shows.

    Args:
        cell: what was run.
        ran: what its processes said.
        log: what the broker wrote down, at least about this group.
    """
    begins = ran.began + cell.scenario.begins
    until = ran.began + cell.scenario.ends
    log = [entry for entry in log if begins - entry.at <= cell.scenario.begins + 1 and entry.at <= until]

    def since(time: float) -> float:
        return round(time - begins, 3)

    busy = cell.scenario.work.get("revoke", 0) > 0
    read = [
        reading for name, said in ran.members.items() for reading in readings(name, said, until, busy=busy)
    ]
    partitions = cell.scenario.partitions
    exist = dict.fromkeys(range(partitions), begins)
    if ran.grown is not None:
        exist |= dict.fromkeys(range(partitions, cell.scenario.grown), ran.grown)
    unread = outages(read, exist, until)
    decided = decisions(cell.name, log)
    beats, commits, requests = _requests(cell.name, log)
    return {
        "protocol": cell.protocol,
        "begins": round(cell.scenario.begins, 3),
        "ends": since(until),
        "static": cell.scenario.static,
        "client": cell.scenario.client.name,
        "pattern": cell.scenario.pattern,
        "config": cell.scenario.config,
        "heartbeat_interval_ms": cell.scenario.beats,
        "grown": None if ran.grown is None else since(ran.grown),
        "partition_seconds": round(unread.partition_seconds, 3),
        "longest": round(unread.longest, 3),
        "rounds": rounds(decided, begins),
        "detected": min((since(at) for at, *_ in decided if at >= begins), default=None),
        "over": max((since(gap[-1][1]) for gap in unread.gaps.values()), default=None),
        "unread_at_the_end": unread.still,
        "read_twice": read_twice(ran.members, begins),
        "outages": {
            partition: [[since(start), since(end)] for start, end in gaps]
            for partition, gaps in unread.gaps.items()
        },
        "reading": _reading(cell.name, read, since),
        "events": {
            _short(name, cell.name): [
                [
                    since(event["t"]),
                    event["event"],
                    *(event[key] for key in ("partitions", "error") if key in event),
                ]
                for event in said
                if event["event"] != "read" and event.get("error", "") is not None
            ]
            for name, said in ran.members.items()
        },
        "decisions": [[since(at), what, number] for at, what, number in decided],
        "beats": {name: [since(at) for at in times] for name, times in beats.items()},
        "commits": {name: [since(at) for at in times] for name, times in commits.items()},
        "requests": [
            [since(arrived), since(answered), name, *row] for arrived, answered, name, row in requests
        ],
    }


def _requests(
    group: str, log: Iterable[Request | Decision]
) -> tuple[dict[str, list[float]], dict[str, list[float]], list[tuple[float, float, str, list[Any]]]]:
    """When each process's uneventful heartbeats and commits arrived, and every other request."""
    beats: dict[str, list[float]] = defaultdict(list)
    commits: dict[str, list[float]] = defaultdict(list)
    others = []
    for entry in log:
        if not isinstance(entry, Request) or not entry.client.startswith(f"{group}/"):
            continue
        name, row = _short(entry.client, group), as_row(entry)
        if not says_nothing(row):
            others.append((entry.at, entry.answered, name, row))
        else:
            (commits if entry.api == "OFFSET_COMMIT" else beats)[name].append(entry.at)
    return beats, commits, sorted(others, key=lambda other: other[0])


def _reading(group: str, read: Iterable[Reading], since: Callable[[float], float]) -> dict[int, list[Any]]:
    """Who read each partition, from when to when."""
    by_partition: dict[int, list[Any]] = defaultdict(list)
    for reading in sorted(read, key=lambda reading: (reading.partition, reading.start)):
        row = [_short(reading.client, group), since(reading.start), since(reading.end)]
        by_partition[reading.partition].append(row)
    return by_partition


def _short(client: str, group: str) -> str:
    """A process's name within its group: c2.1 is consumer c2's first."""
    return client.removeprefix(f"{group}/")
