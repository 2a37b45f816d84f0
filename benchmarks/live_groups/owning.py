"""Who owned which partition when, by the consumers' own callbacks, and whether two ever did."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

SAMPLE_S = 0.05
Said = list[list[Any]]
"""What a process said, and what was done to it: rows of time, event, and partitions where there are some."""


@dataclass(frozen=True, slots=True)
class OwnedTime:
    """A process owned a partition from its assign callback until it was asked for it, closed or died.

    Attributes:
        partition: which one.
        process: consumer c2's first process is c2.1.
        start: seconds.
        end: likewise.
        zombie_from: when its process was stopped, where that was before `end`; from then on it is no live
            owner, and may learn late that another one is.
    """

    partition: int
    process: str
    start: float
    end: float
    zombie_from: float | None = None

    @property
    def live_until(self) -> float:
        """When it was no longer a live owner."""
        return self.end if self.zombie_from is None else self.zombie_from


def ownership(events: Mapping[str, Said], ends: float) -> list[OwnedTime]:
    """What each process owned, from what it said.

    Args:
        events: of each process, in order of time.
        ends: when the run ended.
    """
    found = []
    for process, said in events.items():
        since: dict[int, float] = {}
        stopped: float | None = None
        for at, what, *more in [*said, [ends, "close"]]:
            if what == "assign":
                for partition in more[0]:
                    since.setdefault(partition, at)
            elif what in {"revoke", "lost", "close", "kill"}:
                gone = more[0] if what in {"revoke", "lost"} else list(since)
                found += [
                    OwnedTime(partition, process, since.pop(partition), at, stopped)
                    for partition in gone
                    if partition in since
                ]
                stopped = None
            elif what == "stop":
                stopped = at
    return sorted(found, key=lambda owned: (owned.partition, owned.start))


def live_at(owned: Iterable[OwnedTime], at: float) -> dict[int, list[str]]:
    """The live owners of each partition at a time."""
    found: dict[int, list[str]] = {}
    for one in owned:
        if one.start <= at < one.live_until:
            found.setdefault(one.partition, []).append(one.process)
    return found


def count_samples(owned: Iterable[OwnedTime], ends: float) -> tuple[int, int]:
    """How many samples there are, one of each 50 ms, and in how many a partition had two live owners."""
    times = np.arange(0, ends, SAMPLE_S)
    owners: dict[int, np.ndarray[Any, np.dtype[np.int64]]] = {}
    for one in owned:
        count = owners.setdefault(one.partition, np.zeros(len(times), np.int64))
        count += (one.start <= times) & (times < one.live_until)
    twice = np.zeros(len(times), np.bool_)
    for count in owners.values():
        twice |= count > 1
    return len(times), int(twice.sum())


def overlaps(owned: Iterable[OwnedTime]) -> list[tuple[OwnedTime, OwnedTime]]:
    """Live owners of a partition at the same time, however short."""
    live = sorted((one for one in owned if one.live_until > one.start), key=lambda one: one.partition)
    return [
        (one, other)
        for number, one in enumerate(live)
        for other in live[number + 1 :]
        if one.partition == other.partition
        and max(one.start, other.start) < min(one.live_until, other.live_until)
    ]


def zombies(owned: list[OwnedTime]) -> Counter[str]:
    """For how many seconds, summed over partitions, each stopped process held what another owned."""
    found: Counter[str] = Counter()
    for one in owned:
        if one.zombie_from is None:
            continue
        for other in owned:
            if other.partition == one.partition and other.process != one.process:
                both = min(one.end, other.live_until) - max(one.zombie_from, other.start)
                found[one.process] += max(both, 0)  # type: ignore[assignment]
    return +found


def strays(
    group: str, members: Mapping[str, list[dict[str, Any]]], since: Callable[[float], float]
) -> list[list[Any]]:
    """Reads of a partition that another process owned live just then: when, who, which, how many records.

    What a poll hands over together with the callback that takes it away is reported after the callback,
    before anybody else can have it.
    """
    events = {
        client.removeprefix(f"{group}/"): [
            [line["t"], line["event"], *([line["partitions"]] if "partitions" in line else [])]
            for line in said
        ]
        for client, said in members.items()
    }
    owned = ownership(events, max((said[-1][0] for said in events.values()), default=0) + 1)
    found = []
    for client, said in members.items():
        process = client.removeprefix(f"{group}/")
        for line in said:
            if line["event"] != "read":
                continue
            live = live_at(owned, line["t"])
            found += [
                [since(line["t"]), process, int(partition), last - first + 1]
                for partition, (first, last) in line["offsets"].items()
                if set(live.get(int(partition), ())) - {process}
            ]
    return sorted(found)


def windows(happens: Iterable[tuple[float, str]], ends: float) -> list[tuple[str, float, float]]:
    """Each event, when it begins, and when the next one does."""
    named = [*happens, (ends, "")]
    return [(event, at, until) for (at, event), (until, _) in pairwise(named)]
