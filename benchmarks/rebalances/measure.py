"""From what consumers and the broker said to who read which partition when, and who did not."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.rebalances.broker_log import Decision, Request

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Event = dict[str, Any]

GROUP_APIS = frozenset(
    {"JOIN_GROUP", "SYNC_GROUP", "HEARTBEAT", "LEAVE_GROUP", "OFFSET_COMMIT", "CONSUMER_GROUP_HEARTBEAT"}
)

HALTS = frozenset({"close", "kill", "stop", "busy"})
"""After these a process reads nothing more; a record read later shows that it goes on."""

DECISIONS = (
    (
        "prepares",
        re.compile(r"Preparing to rebalance group (?P<group>\S+) .* old generation (?P<number>\d+)"),
    ),
    ("stabilized", re.compile(r"Stabilized group (?P<group>\S+) generation (?P<number>\d+)")),
    ("bumped", re.compile(r"\[GroupId (?P<group>\S+)\] Bumped group epoch to (?P<number>\d+)")),
    ("target", re.compile(r"\[GroupId (?P<group>\S+)\] Computed a new target .* epoch (?P<number>\d+)")),
    ("expired", re.compile(r"\[GroupId (?P<group>\S+)\] Member .* session expired")),
    ("expired", re.compile(r"Member \S+ in group (?P<group>\S+) has failed")),
)
"""What the coordinator decides, its generation or epoch, and the group."""


class Reading(NamedTuple):
    """A process read a partition from its first record after an assignment until something ended it."""

    partition: int
    client: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Outages:
    """When partitions had no reader.

    Attributes:
        gaps: of each partition that had some, the times from and to.
        still: partitions without a reader at the end.
    """

    gaps: dict[int, list[tuple[float, float]]]
    still: list[int]

    @property
    def partition_seconds(self) -> float:
        """The length of all gaps."""
        return sum(self._lengths())

    @property
    def longest(self) -> float:
        """The longest gap of a partition."""
        return max(self._lengths(), default=0.0)

    def _lengths(self) -> list[float]:
        return [end - start for gaps in self.gaps.values() for start, end in gaps]


def readings(client: str, events: Iterable[Event], until: float, *, busy: bool = False) -> list[Reading]:
    """What a process read, from its events in order of time.

    A partition is read from the first record after its assignment until the callback that takes it away, or
    until the process closes, dies, is stopped or is busy. A process that goes on reads again with the next
    record of a partition that was not taken away. Records handed over by the very poll that served a
    revocation are reported after it, and do not count.

    Args:
        client: the process.
        events: what it said.
        until: when the run ended.
        busy: whether its revoke callback takes time. Then all its partitions stop at a revocation, and the
            partitions that it keeps are read again from their next record on.
    """
    owned: set[int] = set()
    since: dict[int, float] = {}
    found: list[Reading] = []

    def end(partitions: Iterable[int], at: float) -> None:
        found.extend(
            Reading(partition, client, since.pop(partition), at)
            for partition in sorted(partitions)
            if partition in since
        )

    for event in events:
        at, what = event["t"], event["event"]
        if at > until:
            break
        if what == "assign":
            owned.update(event["partitions"])
        elif what in {"revoke", "lost"}:
            owned.difference_update(event["partitions"])
            end(list(since) if busy else event["partitions"], at)
        elif what in HALTS:
            end(list(since), at)
        elif what == "read":
            for partition in map(int, event["offsets"]):
                if partition in owned:
                    since.setdefault(partition, at)
    end(list(since), until)
    return found


def without_joining(
    read: Iterable[Reading], requests: Iterable[Sequence[Any]], until: float
) -> list[Reading]:
    """What processes of kafka-python read: nothing from a JoinGroup on until a SyncGroup is answered.

    Its `poll` returns no records then, and under the cooperative protocol no callback says so. In a trial
    none of eight such times of 2.9 to 5.3 s had a record in it; the next one came 5 to 16 ms after it.

    Args:
        read: what they read by their callbacks.
        requests: theirs, as `measured.json` has them.
        until: when the run ended.
    """
    joins: dict[str, list[tuple[float, float]]] = defaultdict(list)
    since: dict[str, float] = {}
    for arrived, answered, process, api, _, error, *_ in sorted(requests, key=lambda row: float(row[0])):
        if api == "JOIN_GROUP":
            since.setdefault(process, arrived)
        elif api == "SYNC_GROUP" and error == 0 and process in since:
            joins[process].append((since.pop(process), answered))
    for process, at in since.items():
        joins[process].append((at, until))
    found = []
    for reading in read:
        start = reading.start
        for stops, goes_on in joins[reading.client]:
            if start < stops < reading.end:
                found.append(reading._replace(start=start, end=stops))
            if stops < reading.end:
                start = max(start, goes_on)
        if start < reading.end:
            found.append(reading._replace(start=start))
    return found


def outages(read: Iterable[Reading], exist: Mapping[int, float], until: float) -> Outages:
    """When partitions had no reader, each looked at from the time given for it until the end."""
    by_partition: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for reading in read:
        by_partition[reading.partition].append((reading.start, reading.end))
    gaps: dict[int, list[tuple[float, float]]] = {}
    still = []
    for partition, begins in exist.items():
        covered = begins
        found = []
        for start, end in sorted(by_partition[partition]):
            if start > covered:
                found.append((covered, start))
            covered = max(covered, end)
        if covered < until:
            found.append((covered, until))
            still.append(partition)
        if found:
            gaps[partition] = found
    return Outages(gaps, still)


def read_twice(members: Mapping[str, Iterable[Event]], since: float) -> int:
    """Records handed to an application again that one had before, from some time on."""
    seen: dict[int, set[int]] = defaultdict(set)
    twice = 0
    reads = sorted(
        (event["t"], int(partition), first, last)
        for events in members.values()
        for event in events
        if event["event"] == "read"
        for partition, (first, last) in event["offsets"].items()
    )
    for at, partition, first, last in reads:
        offsets = range(first, last + 1)
        if at >= since:
            twice += sum(offset in seen[partition] for offset in offsets)
        seen[partition].update(offsets)
    return twice


def decisions(group: str, log: Iterable[Request | Decision]) -> list[tuple[float, str, int]]:
    """What the coordinator decided about a group: when, what, and its generation or epoch (0 where none)."""
    found = []
    for entry in log:
        if not isinstance(entry, Decision):
            continue
        for what, pattern in DECISIONS:
            match = pattern.search(entry.what)
            if match is not None and match["group"] == group:
                found.append((entry.at, what, int(match.groupdict().get("number", 0))))
    return found


def rounds(decided: Iterable[tuple[float, str, int]], since: float) -> int:
    """Rebalances since then: generations that became stable, or epochs of a group under KIP-848."""
    return sum(at >= since and what in {"stabilized", "bumped"} for at, what, _ in decided)


def as_row(request: Request) -> list[Any]:
    """A request and its answer in one row: what was asked with which generation or epoch, what came of it.

    The row is API, generation or epoch sent, error, generation or epoch answered, owned partitions told, and
    partitions assigned.
    """
    asked, answer = request.request, request.response
    match request.api:
        case "CONSUMER_GROUP_HEARTBEAT":
            owned = _numbers(asked["topicPartitions"])
            assigned = _numbers((answer.get("assignment") or {}).get("topicPartitions"))
            row = [asked["memberEpoch"], answer["errorCode"], answer["memberEpoch"], owned, assigned]
        case "OFFSET_COMMIT":
            errors = {part["errorCode"] for topic in answer["topics"] for part in topic["partitions"]}
            row = [asked["generationIdOrMemberEpoch"], max(errors, default=0), None, None, None]
        case _:
            generation = answer.get("generationId")
            row = [asked.get("generationId"), answer["errorCode"], generation, None, None]
    return [request.api, *row]


def says_nothing(row: Sequence[Any]) -> bool:
    """Whether a row of `told` is a heartbeat or a commit that was accepted and changed nothing."""
    api, sent, error, answered, owned, assigned = row
    quiet = api in {"HEARTBEAT", "OFFSET_COMMIT"} and error == 0
    return quiet or (
        api == "CONSUMER_GROUP_HEARTBEAT" and (error, owned, assigned) == (0, None, None) and sent == answered
    )


def lateness(beats: Sequence[float], interval: float) -> list[float]:
    """How much later than an interval after the one before each heartbeat was."""
    return [later - earlier - interval for earlier, later in pairwise(beats)]


def _numbers(topics: Iterable[dict[str, Any]] | None) -> list[int] | None:
    if topics is None:
        return None
    return sorted(number for topic in topics for number in topic["partitions"])
