"""What is done to a group of six consumers on 24 partitions, and at which second of a run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.consumers.clients import AIOKAFKA, KAFKA_PYTHON, LIBRDKAFKA, Client

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from random import Random

MEMBERS = 6
PARTITIONS = 24
GROWN = 30
"""Of the topic that grows, or of it and the topic that is created beside it."""
RECORDS_PER_SECOND = 10
SESSION_MS = 8_000
HEARTBEAT_MS = 3_000
MAX_POLL_MS = 10_000
METADATA_MS = 10_000

PROTOCOLS: dict[str, dict[str, str | int]] = {
    "eager": {
        "partition.assignment.strategy": "range",
        "session.timeout.ms": SESSION_MS,
        "heartbeat.interval.ms": HEARTBEAT_MS,
    },
    "cooperative": {
        "partition.assignment.strategy": "cooperative-sticky",
        "session.timeout.ms": SESSION_MS,
        "heartbeat.interval.ms": HEARTBEAT_MS,
    },
    # Its session and its heartbeats are settings of the broker.
    "kip848": {"group.protocol": "consumer", "group.remote.assignor": "uniform"},
}


@dataclass(frozen=True, slots=True)
class Step:
    """One thing done.

    `start`, `close`, `kill`, `stop` or `continue` a consumer, keep it `busy`, have it `unsubscribe` or
    `subscribe` again, `grow` the topic, `create` one beside it, or `restart` the coordinator.
    """

    at: float
    what: str
    consumer: str = ""
    seconds: float = 0


@dataclass(frozen=True, slots=True)
class Scenario:
    """The steps of a run, in seconds from its beginning.

    Attributes:
        steps: what is done.
        begins: when the event begins; what happens before only forms the group.
        ends: when the run ends; long enough for the last rebalance to be over.
        static: whether all consumers have a `group.instance.id`, or the names of the consumers that have one.
        client: which client the consumers are.
        pattern: whether they subscribe to a regular expression, which a topic that is created matches.
        config: settings of the client beyond its protocol's.
        beats: heartbeat.interval.ms of each consumer where they differ (classic groups only).
        work: seconds that the application works on a "batch" and on a "revoke".
        partitions: of the topic.
        grown: how many it has after `grow`, or both topics after `create`.
    """

    steps: list[Step]
    begins: float
    ends: float
    static: bool | tuple[str, ...] = False
    client: Client = LIBRDKAFKA
    pattern: bool = False
    config: dict[str, str | int] = field(default_factory=dict)
    beats: dict[str, int] = field(default_factory=dict)
    work: dict[str, float] = field(default_factory=dict)
    partitions: int = PARTITIONS
    grown: int = GROWN


def is_static(static: bool | Collection[str], consumer: str) -> bool:
    """Whether a consumer is a static member, by `Scenario.static`."""
    return static if isinstance(static, bool) else consumer in static


def form_group(count: int = MEMBERS, apart: float = 0.1) -> list[Step]:
    return [Step(number * apart, "start", f"c{number}") for number in range(count)]


def quiet(random: Random) -> float:
    """When a group that formed at 0 has settled under any protocol, at any phase of its heartbeats."""
    return 15 + random.uniform(0, 5)


def cold_start(random: Random) -> Scenario:
    return Scenario(form_group(apart=random.uniform(0.2, 0.4)), 0, 25)


def join_soon(random: Random) -> Scenario:
    begins = quiet(random)
    return Scenario([*form_group(MEMBERS - 1), Step(begins, "start", f"c{MEMBERS - 1}")], begins, begins + 25)


def join_long(random: Random) -> Scenario:
    """Heartbeats that drifted apart: hours of drift in 90 s, by intervals that differ by 20 ms."""
    begins = 95 + random.uniform(0, 5)
    beats = {f"c{number}": 2960 + 20 * number for number in range(MEMBERS)}
    steps = [*form_group(MEMBERS - 1), Step(begins, "start", f"c{MEMBERS - 1}")]
    return Scenario(steps, begins, begins + 25, beats=beats)


def close(random: Random) -> Scenario:
    begins = quiet(random)
    return Scenario([*form_group(), Step(begins, "close", "c2")], begins, begins + 25)


def kill(random: Random) -> Scenario:
    begins = quiet(random)
    return Scenario([*form_group(), Step(begins, "kill", "c2")], begins, begins + 30)


def kill_and_back(random: Random) -> Scenario:
    """A process dies and is started again at once, as a supervisor does it, long before its session ends."""
    begins = quiet(random)
    steps = [*form_group(), Step(begins, "kill", "c2"), Step(begins + 2, "start", "c2")]
    return Scenario(steps, begins, begins + 35)


def static_short(random: Random) -> Scenario:
    begins = quiet(random)
    steps = [*form_group(), Step(begins, "close", "c2"), Step(begins + 3, "start", "c2")]
    return Scenario(steps, begins, begins + 23, static=True)


def static_long(random: Random) -> Scenario:
    begins = quiet(random)
    steps = [*form_group(), Step(begins, "close", "c2"), Step(begins + 16, "start", "c2")]
    return Scenario(steps, begins, begins + 41, static=True)


OFF_THE_BEAT = 13.3
"""Seconds between restarts that meet heartbeats at ever other moments: every 12 s each meets the same one."""


def rolling(random: Random, every: float = 12) -> Scenario:
    begins = quiet(random)
    steps = form_group()
    for number in range(MEMBERS):
        at = begins + every * number
        steps += [Step(at, "close", f"c{number}"), Step(at + 2, "start", f"c{number}")]
    return Scenario(steps, begins, steps[-1].at + 25)


def rolling_static(random: Random) -> Scenario:
    scenario = rolling(random)
    return Scenario(scenario.steps, scenario.begins, scenario.ends, static=True)


def stall(random: Random) -> Scenario:
    begins = quiet(random)
    steps = [*form_group(), Step(begins, "stop", "c2"), Step(begins + 16, "continue", "c2")]
    return Scenario(steps, begins, begins + 41)


def growth(random: Random) -> Scenario:
    begins = quiet(random)
    config: dict[str, str | int] = {"topic.metadata.refresh.interval.ms": METADATA_MS}
    return Scenario([*form_group(), Step(begins, "grow")], begins, begins + 35, config=config)


def slow_poll(random: Random) -> Scenario:
    begins = quiet(random)
    config: dict[str, str | int] = {"max.poll.interval.ms": MAX_POLL_MS}
    steps = [*form_group(), Step(begins, "busy", "c2", 20)]
    return Scenario(steps, begins, begins + 45, config=config)


def rolling_mixed(random: Random) -> Scenario:
    """Half of the consumers are static members, so that a restart of theirs moves nothing."""
    return replace(rolling(random, OFF_THE_BEAT), static=("c0", "c2", "c4"))


def unsubscribe(random: Random) -> Scenario:
    begins = quiet(random)
    steps = [*form_group(), Step(begins, "unsubscribe", "c2"), Step(begins + 12, "subscribe", "c2")]
    return Scenario(steps, begins, begins + 37)


def topic_creation(random: Random) -> Scenario:
    """A topic is created that matches what all subscribe to, a regular expression."""
    begins = quiet(random)
    config: dict[str, str | int] = {"topic.metadata.refresh.interval.ms": METADATA_MS}
    return Scenario([*form_group(), Step(begins, "create")], begins, begins + 35, config=config, pattern=True)


def of_client(client: Client, scenario: Callable[[Random], Scenario]) -> Callable[[Random], Scenario]:
    """The same with consumers of another client."""
    return lambda random: replace(scenario(random), client=client)


def join_while_busy(random: Random) -> Scenario:
    """A consumer joins while another's application works on a batch, within `max.poll.interval.ms`."""
    begins = quiet(random)
    joined = Step(begins + 0.5, "start", f"c{MEMBERS - 1}")
    return Scenario([*form_group(MEMBERS - 1), Step(begins, "busy", "c2", 9), joined], begins, begins + 30)


SCENARIOS: dict[str, Callable[[Random], Scenario]] = {
    "rolling dynamic": rolling,
    "rolling static": rolling_static,
    "join long after": join_long,
    "cold start": cold_start,
    "join soon after": join_soon,
    "close": close,
    "kill": kill,
    "static restart short": static_short,
    "static restart long": static_long,
    "stall": stall,
    "growth": growth,
    "slow poll": slow_poll,
    "rolling mixed": rolling_mixed,
    "unsubscribe and back": unsubscribe,
    "topic created": topic_creation,
    **{
        f"{client.name} {name}": of_client(client, scenario)
        for client in (KAFKA_PYTHON, AIOKAFKA)
        for name, scenario in {
            "rolling": partial(rolling, every=OFF_THE_BEAT),
            "kill": kill,
            "growth": growth,
            "slow poll": slow_poll,
        }.items()
    },
    "kill and back": kill_and_back,
}
"""The scenarios by name."""


def protocols(scenario: str) -> list[str]:
    """The protocols that the clients of a scenario have."""
    if scenario.startswith("aiokafka"):
        return ["eager"]
    return [
        protocol for protocol in PROTOCOLS if protocol != "kip848" or not scenario.startswith("kafka-python")
    ]
