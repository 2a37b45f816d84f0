"""What the simulator says of each event of a group, told what was done and the phase of heartbeats."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

from assignors import Topic
from benchmarks.live_groups.groups import GROWN, PARTITIONS
from benchmarks.live_groups.owning import windows
from benchmarks.rebalances.measure import Reading, outages, without_joining
from benchmarks.rebalances.predicting import COSTS, SEARCH, TOPIC, disturbances, event_of
from benchmarks.rebalances.scenarios import METADATA_MS, SESSION_MS
from copartition.simulation import Consumer, Failover, Join, Scenario, Settings, simulate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from benchmarks.live_groups.running import Run
    from copartition.simulation import Event

DRAWS = 20
BEAT_S = 3.0
LATE_S = 0.1
"""How late a heartbeat is that was due before an event and had not arrived by then."""
MODELLED = {"aiokafka": "java"}
"""Whose behaviour a client is taken to show that the simulator does not know."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """What became of an event until the next one.

    Attributes:
        longest: the longest time that a partition had no reader, in seconds.
        rounds: generations.
    """

    longest: float
    rounds: int


def measured_events(run: Run) -> list[Recovery]:
    """What each event of a group led to."""
    read = [
        Reading(int(partition), process, start, end)
        for partition, rows in run["reading"].items()
        for process, start, end in rows
    ]
    theirs = [row for row in run["requests"] if run["clients"][row[2].partition(".")[0]] == "kafka-python"]
    read = without_joining(read, theirs, run["ends"])
    exist = dict.fromkeys(range(PARTITIONS), 0.0)
    if run["grown"] is not None:
        exist |= dict.fromkeys(range(PARTITIONS, GROWN), run["grown"])
    gaps = [gap for found in outages(read, exist, run["ends"]).gaps.values() for gap in found]
    stable = [at for at, what, _ in run["decisions"] if what == "stabilized"]
    return [
        Recovery(
            max([0.0, *(min(end, until) - max(start, at) for start, end in gaps)]),
            sum(at <= moment < until for moment in stable),
        )
        for _, at, until in _windows(run)
    ]


def predicted_events(run: Run) -> list[list[Recovery]]:
    """What the simulator says of each event, once for each draw of what it is not told."""
    return [
        [_outcome(scenario_of(run, at, until, draw)) for draw in range(DRAWS)]
        for _, at, until in _windows(run)
    ]


def middle(draws: Sequence[Recovery]) -> Recovery:
    """The median of each figure."""
    return Recovery(median(draw.longest for draw in draws), round(median(draw.rounds for draw in draws)))


def scenario_of(run: Run, at: float, until: float, draw: int) -> Scenario:
    """What happened from one event to the next, to the group as it was then.

    Which of its partitions a member has is the assignor's fresh answer; how long nobody reads one does not
    depend on that, unless a member of kafka-python gives it up. Where in its interval a leader's next look at
    the metadata falls is drawn.
    """
    consumers = {
        name: Consumer(
            name,
            run["static"],
            client=MODELLED.get(client, client),
            assignors=tuple(run["assignors"][name].split(",")),
        )
        for name, client in run["clients"].items()
    }
    there = {process.partition(".")[0]: process for process in _members(run, at)}
    for name, process in there.items():
        beat_ms = 1000 * (_next_beat(run, process, at) - at)
        consumers[name] = replace(consumers[name], beat_ms=beat_ms)
    return Scenario(
        topics=(Topic(TOPIC, GROWN if run["grown"] is not None and run["grown"] < at else PARTITIONS),),
        consumers=[consumers[name] for name in there],
        events=list(_events(run, consumers, at, until)),
        assignor=next(iter(run["assignors"].values())).partition(",")[0],
        settings=Settings(
            session_timeout_ms=run["config"].get("session.timeout.ms", SESSION_MS),
            metadata_max_age_ms=METADATA_MS,
        ),
        seed=draw,
        costs=COSTS,
        until_ms=1000 * (until - at),
    )


def _windows(run: Run) -> list[tuple[str, float, float]]:
    return windows(run["happens"], run["ends"])


def _events(run: Run, consumers: dict[str, Consumer], at: float, until: float) -> Iterator[Event]:
    for when, what, name, seconds in disturbances(run):
        if at <= when < until:
            yield event_of(1000 * (when - at), what, consumers.get(name), seconds, GROWN)
    for process, said in run["events"].items():
        for when, what, *_ in said:
            if what == "continue" and at <= when < until:
                # It has long been out of the group, hears so with its next heartbeat, and joins anew.
                yield Join(1000 * (when - at), consumers[process.partition(".")[0]])
    if run["restarted"] is not None and at <= run["restarted"][0] < until:
        down, up = run["restarted"]
        yield Failover(1000 * (down - at), 1000 * (up - down))


def _members(run: Run, at: float) -> list[str]:
    """The processes that are in the group, its leader first, the others in order of their start.

    One that has not yet spoken to the coordinator joins later.
    """
    started = {}
    spoke = {process: when - SEARCH for when, _, process, *_ in reversed(run["requests"])}
    for process, said in run["events"].items():
        past = [what for when, what, *_ in said if when < at]
        if (
            "start" in past
            and spoke.get(process, at) < at
            and not {"close", "kill"} & {*past}
            and past.count("stop") == past.count("continue")
        ):
            started[process] = next(when for when, what, *_ in said if what == "start")
    leaders = [row["leader"] for row in run["led"] if row["at"] < at]
    return sorted(started, key=lambda process: (process not in leaders[-1:], started[process]))


def _next_beat(run: Run, process: str, at: float) -> float:
    """When a member's next heartbeat is due: an interval after its last one, or after it was assigned."""
    beats = [*run["beats"].get(process, ())]
    beats += [
        answered
        for _, answered, name, api, *_ in run["requests"]
        if name == process and api in {"HEARTBEAT", "SYNC_GROUP"}
    ]
    return max(max((beat for beat in beats if beat < at), default=at) + BEAT_S, at + LATE_S)


def _outcome(scenario: Scenario) -> Recovery:
    result = simulate(scenario)
    _, start, end = result.timeline.pauses()
    rounds = sum(entry.what == "generation" and entry.at_ms > 0 for entry in result.log)
    return Recovery(float((end - start).max(initial=0)) / 1000, rounds)


def spread(draws: Iterable[Recovery]) -> tuple[float, float]:
    """The shortest and the longest recovery of all draws."""
    lengths = [draw.longest for draw in draws]
    return min(lengths), max(lengths)
