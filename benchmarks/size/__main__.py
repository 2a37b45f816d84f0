"""What `copartition size` says beside real consumers that process so many records a second.

`python -m benchmarks.size` writes `benchmarks/size.md` in six minutes: groups of four to six consumers on a
real broker, of which one is killed. Consumers measure how old a record is when it has been processed.
"""

from __future__ import annotations

import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from math import inf
from pathlib import Path
from typing import NamedTuple

from assignors.group import Topic
from benchmarks.consumers.clients import Client
from benchmarks.rebalances.broker_log import recording_broker
from benchmarks.rebalances.cell import Cell, Ran, run
from benchmarks.rebalances.predicting import ASSIGNORS, COSTS
from benchmarks.rebalances.producer import SteadyProducer
from benchmarks.rebalances.scenarios import (
    PARTITIONS,
    RECORDS_PER_SECOND,
    SESSION_MS,
    Scenario,
    Step,
    form_group,
)
from copartition.simulate_scenarios import size_trial
from copartition.simulation import Consumer, Crash, Load, Settings
from copartition.simulation import Scenario as Predicted
from tests.support.broker import Kafka

PAGE = Path(__file__).parents[1] / "size.md"
PROTOCOLS = ("eager", "cooperative")
CONSUMERS = range(4, 7)
CAPACITY = 66
BOUND_S = 25.0
KILLED_S = 60.0
ENDS_S = 150.0
SEEDS = 20
LAST_S = 15.0

HEAD = f"""# How many consumers, beside real ones

Made by `python -m benchmarks.size`: librdkafka consumers that process {CAPACITY} records a second each, \
on {PARTITIONS} partitions that get {RECORDS_PER_SECOND} a second each. One consumer is killed and nobody \
takes its place; its session lasts {SESSION_MS / 1_000:g} s. The longest wait is the greatest age of a \
record when it has been processed, within {ENDS_S - KILLED_S:g} s after the kill. Predicted is what \
`copartition size` shows, the least and the greatest of {SEEDS} seeds. The bound is {BOUND_S:g} s.

| protocol | consumers | longest wait, predicted | measured | in the bound, predicted | measured |
|---|---|---|---|---|---|"""


def client() -> Client:
    """librdkafka's consumer with a limited capacity."""
    return Client("librdkafka", lambda: [sys.executable, "-m", "benchmarks.size.consumer", str(CAPACITY)])


class MeasuredSize(NamedTuple):
    """What consumers measured.

    Attributes:
        age_s: the greatest age of a record after the kill.
        grows: whether that was in the last seconds of the run, so that it would have gone on.
    """

    age_s: float
    grows: bool


def measure() -> dict[tuple[str, int], MeasuredSize]:
    """What so many consumers measured after one of them was killed, by protocol."""
    cells = [
        Cell(
            f"{protocol}-{count}",
            protocol,
            Scenario([*form_group(count), Step(KILLED_S, "kill", "c0")], KILLED_S, ENDS_S),
            client(),
        )
        for protocol in PROTOCOLS
        for count in CONSUMERS
    ]
    with (
        tempfile.TemporaryDirectory(prefix="size-") as folder,
        recording_broker() as broker,
        SteadyProducer(broker.bootstrap_servers) as producer,
        ThreadPoolExecutor(len(CONSUMERS)) as side_by_side,
    ):
        kafka = Kafka(broker.bootstrap_servers)
        runs = list(side_by_side.map(lambda cell: run(cell, kafka, producer, Path(folder)), cells))
    return {
        (cell.protocol, len(cell.scenario.steps) - 1): longest_wait(ran)
        for cell, ran in zip(cells, runs, strict=True)
    }


def longest_wait(ran: Ran) -> MeasuredSize:
    """What the consumers of a run measured after the kill."""
    ages = [
        (event["seconds"], event["t"] - ran.began)
        for events in ran.members.values()
        for event in events
        if event["event"] == "aged" and event["t"] > ran.began + KILLED_S
    ]
    age_s, at_s = max(ages)
    return MeasuredSize(age_s, grows=at_s > ENDS_S - LAST_S)


def predict(protocol: str, count: int) -> tuple[float, float]:
    """The least and the greatest age in seconds over so many seeds."""
    scenario = Predicted(
        (Topic("records", PARTITIONS),),
        tuple(Consumer(f"c{number}", client="librdkafka") for number in range(count)),
        (Crash(1_000, "c0"),),
        ASSIGNORS[protocol],
        Settings(session_timeout_ms=SESSION_MS),
        settled_ms=1_000 * KILLED_S,
        costs=COSTS,
        load=Load(RECORDS_PER_SECOND, CAPACITY),
    )
    ages = [size_trial(scenario, 1_000 * BOUND_S, [seed]).lag_ms / 1_000 for seed in range(SEEDS)]
    return min(ages), max(ages)


class Row(NamedTuple):
    """A line of the table, and whether both verdicts of it are the same."""

    line: str
    agrees: bool


def row(protocol: str, count: int, real: MeasuredSize) -> Row:
    """What is predicted beside what was measured."""
    least, most = predict(protocol, count)
    predicted = "no end" if most == inf else f"{least:.1f} to {most:.1f} s"
    age = f"{real.age_s:.1f} s{' and growing' if real.grows else ''}"
    verdicts = most <= BOUND_S, real.age_s <= BOUND_S and not real.grows
    fits = " | ".join("yes" if fit else "no" for fit in verdicts)
    return Row(f"| {protocol} | {count} | {predicted} | {age} | {fits} |", verdicts[0] == verdicts[1])


def main() -> None:
    rows = [row(protocol, count, real) for (protocol, count), real in measure().items()]
    lines = [result.line for result in rows]
    verdict = f"{sum(result.agrees for result in rows)} of {len(rows)} verdicts are right."
    PAGE.write_text("\n".join([HEAD, *lines, "", verdict, ""]))
    print(*lines, verdict, sep="\n")


if __name__ == "__main__":
    main()
