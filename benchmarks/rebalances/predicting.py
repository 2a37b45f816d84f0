"""What the simulator says of a measured run, told no more than when it was disturbed."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from statistics import median
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from assignors import Topic
from benchmarks.rebalances.cell import beside
from benchmarks.rebalances.measure import Reading, outages, without_joining
from benchmarks.rebalances.scenarios import GROWN, HEARTBEAT_MS, MEMBERS, PARTITIONS, SESSION_MS, is_static
from copartition.simulation import (
    Consumer,
    Costs,
    Crash,
    Create,
    Grow,
    Join,
    Leave,
    Scenario,
    Settings,
    SlowPoll,
    Stall,
    simulate,
)
from copartition.simulation.group.consumer_group import NEW

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from copartition.simulation import Event, SimulationResult

Run = dict[str, Any]
"""A run as `measured.json` has it."""

TOPIC = "records"
ASSIGNORS = {"eager": "range", "cooperative": "cooperative-sticky", "kip848": "uniform"}
COSTS = Costs(network_ms=2, first_fetch_ms=40)
"""The same for every run: a request takes 1 to 3 ms (`facts.md`), and from the assign callback to the first
record it was 40 ms on average over `measured.json`, cold starts and delays beyond 0.6 s left out."""
POLL_MS = {"librdkafka": 0, "kafka-python": 100, "aiokafka": 0}
"""How long a call of `poll` lasts: a consumer of kafka-python rejoins when `poll(timeout_ms=100)` returns."""
SEARCH = 1.5 * 2 / 1000
"""Seconds from a simulated consumer's start until its first request arrives; a real one looks for the
coordinator for some 65 ms, and for seconds where the broker has just come up."""
DRAWS = 5
"""Predictions of each run, of which the median counts: the ids that clients drew are unknown."""


class Outcome(NamedTuple):
    """What becomes of a group from its disturbance on.

    Attributes:
        partition_seconds: how long partitions had no reader, summed.
        longest: the longest time that one had none, in seconds.
        rounds: generations; under KIP-848 epochs of the group.
    """

    partition_seconds: float
    longest: float
    rounds: float


def measured_figures(run: Run) -> Outcome:
    """What was measured; of kafka-python, what its members did not read while they rejoined counts, too."""
    was = Outcome(run["partition_seconds"], run["longest"], run["rounds"])
    if run.get("client") != "kafka-python":
        return was
    read = [Reading(int(partition), *row) for partition, rows in run["reading"].items() for row in rows]
    exist = dict.fromkeys(range(PARTITIONS), 0.0)
    if run["grown"] is not None:
        exist |= dict.fromkeys(range(PARTITIONS, GROWN), run["grown"])
    unread = outages(without_joining(read, run["requests"], run["ends"]), exist, run["ends"])
    return was._replace(partition_seconds=unread.partition_seconds, longest=unread.longest)


def predicted_figures(run: Run) -> Outcome:
    """What the simulator says instead."""
    return medians([_predict(run, draw) for draw in range(DRAWS)])


def medians(outcomes: Sequence[Outcome]) -> Outcome:
    """The median of each figure."""
    return Outcome(*map(median, zip(*outcomes, strict=True)))


def _predict(run: Run, draw: int) -> Outcome:
    scenario, begins_ms = scenario_of(run, draw)
    result = simulate(scenario)
    _, start, end = result.timeline.pauses()
    lengths = (end - start.clip(begins_ms)).clip(0) / 1000
    return Outcome(float(lengths.sum()), float(lengths.max(initial=0)), _rounds(result, begins_ms))


def scenario_of(run: Run, draw: int = 0) -> tuple[Scenario, float]:
    """A run as a scenario, and the time in it at which the disturbance begins.

    The group forms as it did, by when each process first spoke to the coordinator; the phases of heartbeats,
    commits and refreshes follow from that. Where consumers have heartbeat intervals of their own, which no
    scenario has, a group that has formed already is disturbed at the phases that were measured.

    Args:
        run: the run.
        draw: decides how late heartbeats are, and the member ids that clients draw (KIP-848).
    """
    formed = bool(run["heartbeat_interval_ms"]) and run["protocol"] != "kip848"
    consumers = _consumers(run, draw)
    members = _members(run, consumers) if formed else ()
    consumers |= {member.name: member for member in members}
    said = [disturbance for disturbance in disturbances(run) if not formed or disturbance[0] >= 0]
    begins = 0.0 if formed else max(0.0, -said[0][0])
    scenario = Scenario(
        topics=(Topic(TOPIC, PARTITIONS),),
        consumers=members,
        events=[
            event_of(1000 * (begins + at), what, consumers.get(of), seconds) for at, what, of, seconds in said
        ],
        assignor=ASSIGNORS[run["protocol"]],
        settings=_settings(run),
        seed=draw,
        costs=replace(COSTS, poll_ms=POLL_MS[client_of(run)]),
        until_ms=1000 * (begins + run["ends"]),
    )
    return scenario, 1000 * begins


def client_of(run: Run) -> Literal["librdkafka", "kafka-python", "aiokafka"]:
    """Which client its consumers were."""
    return run.get("client", "librdkafka")


def disturbances(run: Run) -> list[tuple[float, str, str, float]]:
    """What was done to whom, when, in seconds since the disturbance began, and for how long."""
    what = "create" if run.get("pattern") else "grow"
    done = [(run["grown"], what, "", 0.0)] if run["grown"] is not None else []
    spoke = {process: at for at, _, process, *_ in reversed(run["requests"])}
    for process, events in run["events"].items():
        over = {what: at for at, what, *_ in events if what in {"continue", "free"}}
        for at, what, *_ in events:
            name = process.partition(".")[0]
            if what == "start":
                done.append((spoke[process] - SEARCH, what, name, 0.0))
            elif what in {"close", "kill", "stop", "busy", "unsubscribe", "subscribe"}:
                until = over.get("continue" if what == "stop" else "free", at)
                done.append((at, what, name, until - at))
    return sorted(done)


def event_of(at_ms: float, what: str, consumer: Consumer | None, seconds: float, grown: int = GROWN) -> Event:
    """One thing that was done, as an event of a scenario; without a consumer it was done to a topic."""
    if consumer is None:
        return (
            Grow(at_ms, TOPIC, grown) if what == "grow" else Create(at_ms, beside(TOPIC), grown - PARTITIONS)
        )
    match what:
        case "start" | "subscribe":
            return Join(at_ms, consumer)
        case "close" | "unsubscribe":
            return Leave(at_ms, consumer.name)
        case "kill":
            return Crash(at_ms, consumer.name)
        case "stop":
            return Stall(at_ms, consumer.name, 1000 * seconds)
        case _:
            return SlowPoll(at_ms, consumer.name, 1000 * seconds)


def _consumers(run: Run, draw: int) -> dict[str, Consumer]:
    """The consumers of a run by name.

    A member id begins with the client's name where the broker makes it, and is random where the client does.
    """
    random = Random(draw)
    drawn = {f"c{number}": f"{random.getrandbits(64):x}" for number in range(MEMBERS)}
    return {
        name: Consumer(
            drawn[name] if run["protocol"] == "kip848" else name,
            is_static(run["static"], name),
            pattern=f"{TOPIC}.*" if run.get("pattern") else None,
            client=client_of(run),
        )
        for name in drawn
    }


def _members(run: Run, consumers: Mapping[str, Consumer]) -> tuple[Consumer, ...]:
    """The members when the disturbance begins, each with the first heartbeat that it sends from then on.

    One that sends none any more would have sent it an interval after its last one.
    """
    beats = [(at, process) for process, times in run["beats"].items() for at in times]
    beats += [(at, process) for at, _, process, api, *_ in run["requests"] if api == "HEARTBEAT"]
    first = {process: at + HEARTBEAT_MS / 1000 for at, process in sorted(beats)}
    first |= {process: at for at, process in sorted(beats, reverse=True) if at >= 0}
    return tuple(
        replace(consumers[process.partition(".")[0]], beat_ms=1000 * at)
        for process, at in first.items()
        if next(since for since, what, *_ in run["events"][process] if what == "start") < 0
    )


def _settings(run: Run) -> Settings:
    given = {
        "max_poll_interval_ms": run["config"].get("max.poll.interval.ms"),
        "metadata_max_age_ms": run["config"].get("topic.metadata.refresh.interval.ms"),
    }
    return Settings(
        session_timeout_ms=SESSION_MS,
        group_consumer_session_timeout_ms=SESSION_MS,
        **{name: value for name, value in given.items() if value is not None},
    )


def _rounds(result: SimulationResult, begins_ms: float) -> int:
    """By how much the number of the generation, or of the epoch, has risen since then."""
    numbers = [(entry.at_ms, entry.detail["number"]) for entry in result.log if entry.what == "generation"]
    first = NEW if result.scenario.assignor == "uniform" else 0
    before = max((number for at_ms, number in numbers if at_ms <= begins_ms), default=first)
    return max((number for _, number in numbers), default=before) - before
