"""Records that real groups skip when their topic grows: `python -m benchmarks.growth`.

Two consumers read a topic of two partitions, which grows to six. From that moment on a producer writes to
each new partition, a record every 10 ms. The first offset that a consumer reads of a new partition is how
many records the group has skipped there. All that is `measured.json`; `benchmarks/growth.md` has the table.
With `--compare` no broker is needed: the page is written again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from confluent_kafka import Producer

from benchmarks.consumers.clients import JAVA, LIBRDKAFKA
from benchmarks.consumers.process import Member
from copartition.kit.words import duration
from copartition.simulation.growth import find_discoveries
from copartition.simulation.inputs.settings import Settings
from tests.support.broker import Broker, Kafka

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

MEASURED = Path(__file__).parent / "measured.json"
PAGE = Path(__file__).parents[1] / "growth.md"
CLIENTS = {client.name: client for client in (JAVA, LIBRDKAFKA)}
BEFORE, AFTER = 2, 6
PAUSE_S = 0.01
QUIET_S = 8
"""How long a group is left alone before its topic grows, and written to after it has the new partitions."""
PATIENCE_S = 90
"""How long a group may take beyond its age of metadata: 30 times what is seen on a busy machine."""
DEFAULTS = "group.consumer.heartbeat.interval.ms=5000\ngroup.consumer.session.timeout.ms=45000\n"
"""Kafka's defaults, which the brokers of tests do not have."""

Run = dict[str, Any]


class Cell(NamedTuple):
    """One group: client, protocol, where it starts without an offset, how old its metadata may get."""

    client: str
    protocol: str
    reset: str
    age_ms: int


CELLS = [
    *(
        Cell(client, protocol, reset, 30_000)
        for client, protocol, reset in itertools.product(
            CLIENTS, ("classic", "consumer"), ("latest", "earliest")
        )
    ),
    Cell("java", "classic", "latest", 300_000),
    Cell("librdkafka", "classic", "latest", 300_000),
]


def live(cell: Cell, kafka: Kafka, folder: Path) -> Run:
    """Grow the topic of a group, and return when each new partition was assigned and what was read first."""
    topic = kafka.create_topic(BEFORE)
    config: dict[str, str | int] = {
        "bootstrap.servers": kafka.bootstrap_servers,
        "group.id": topic,
        "auto.offset.reset": cell.reset,
        "topic.metadata.refresh.interval.ms": cell.age_ms,
        **(
            {"group.protocol": "consumer"}
            if cell.protocol == "consumer"
            else {"partition.assignment.strategy": "range"}
        ),
    }
    client = CLIENTS[cell.client]
    members = [
        Member(
            name,
            {"config": client.own_names({**config, "client.id": f"{topic}-{name}"}), "topics": [topic]},
            folder,
            client.command(),
        )
        for name in ("c-0", "c-1")
    ]
    try:
        for member in members:
            member.wait_until_ready()
        for member in members:
            member.tell("start")
        wait_for(members, range(BEFORE), PATIENCE_S)
        time.sleep(QUIET_S)
        kafka.grow_topic(topic, AFTER)
        kafka.wait_for_leaders(topic, AFTER)
        grown, written = time.monotonic(), write(kafka, topic, members, cell.age_ms / 1_000 + PATIENCE_S)
        time.sleep(QUIET_S / 2)
        return {**cell._asdict(), "written": written, **what_was_read(members, grown)}
    finally:
        for member in members:
            member.events()


def owned_partitions(members: Sequence[Member]) -> set[int]:
    """Return the partitions that members were assigned, as they say."""
    assigned = (
        line["partitions"] for member in members for line in member.output() if line["event"] == "assign"
    )
    return {*itertools.chain.from_iterable(assigned)}


def wait_for(members: Sequence[Member], partitions: Collection[int], within_s: float) -> None:
    """Wait until these partitions were assigned."""
    end = time.monotonic() + within_s
    while not owned_partitions(members) >= {*partitions}:
        if time.monotonic() > end:
            raise TimeoutError(f"{members[0].client} has {owned_partitions(members)} after {within_s} s")
        time.sleep(0.2)


def write(kafka: Kafka, topic: str, members: Sequence[Member], within_s: float) -> int:
    """Write to each new partition until the group has had all for a while; return how many records each."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 0})
    producer.list_topics(topic)
    end, written, seen = time.monotonic() + within_s, 0, False
    while time.monotonic() < end:
        for partition in range(BEFORE, AFTER):
            producer.produce(topic, b"x", partition=partition)
        producer.poll(0)
        written += 1
        if not seen and written % 50 == 0 and owned_partitions(members) >= {*range(AFTER)}:
            seen, end = True, time.monotonic() + QUIET_S
        time.sleep(PAUSE_S)
    producer.flush()
    return written


def what_was_read(members: Sequence[Member], grown: float) -> Run:
    """Return of each new partition when it was assigned, in s after all had leaders, and its first offset."""
    lines = [line for member in members for line in member.output()]
    new = range(BEFORE, AFTER)
    assigned = {
        number: min(
            line["t"] - grown for line in lines if line["event"] == "assign" and number in line["partitions"]
        )
        for number in new
    }
    first = {
        number: min(
            line["offsets"][str(number)][0]
            for line in lines
            if line["event"] == "read" and str(number) in line["offsets"]
        )
        for number in new
    }
    return {"assigned_s": [round(assigned[n], 1) for n in new], "first_read": [first[n] for n in new]}


def page(runs: Sequence[Run]) -> str:
    """Return the page: a line for each group that was measured."""
    titles = (
        "broker",
        "client",
        "protocol",
        "metadata age",
        "`auto.offset.reset`",
        "assigned after",
        "at most",
    )
    titles += ("skipped in each new partition", "of")
    lines = [HEAD, f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for run in runs:
        [bound] = find_discoveries(run["protocol"], Settings(metadata_max_age_ms=run["age_ms"]))
        cells = (
            run["version"],
            run["client"],
            run["protocol"],
            duration(run["age_ms"]) if run["protocol"] == "classic" else "",
            run["reset"],
            _from_to([f"{max(0, seconds):.1f} s" for seconds in sorted(run["assigned_s"])]),
            duration(bound.at_most_ms),
            _from_to([f"{number:,}" for number in sorted(run["first_read"])]),
            f"{run['written']:,}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _from_to(ascending: Sequence[str]) -> str:
    return ascending[0] if ascending[0] == ascending[-1] else f"{ascending[0]} to {ascending[-1]}"


HEAD = """# What a growing topic loses

`python -m benchmarks.growth` writes this page. Two consumers read a topic of two partitions, which grows to
six. From then on each new partition gets up to 100 records a second. Under `auto.offset.reset=latest`, the
default, a group starts at the end of a new partition when it is assigned, and skips what is there; no lag
shows it. [Why, and what to do](../docs/assignment-diff.md#records-that-a-growing-topic-loses).

"At most" is what the tools say: the metadata age of a classic group, two heartbeats and an assignment
interval of the consumer protocol (KIP-848). The rebalance of a classic group comes on top.
"""


def measure_cells(version: str, at_a_time: int) -> list[Run]:
    """Return what became of each cell's group on a broker of this version."""
    with (
        tempfile.TemporaryDirectory(prefix="growth-") as folder,
        Broker(DEFAULTS, version=version) as broker,
        ThreadPoolExecutor(at_a_time) as side_by_side,
    ):
        JAVA.command()  # compiles the consumer once
        kafka = Kafka(broker.bootstrap_servers)
        lives = side_by_side.map(lambda cell: live(cell, kafka, Path(folder)), CELLS)
        return [{"version": version, **run} for run in lives]


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    options.add_argument("--version", action="append", help="a version of Kafka; default: 4.4.0 and 4.3.1")
    options.add_argument("--at-a-time", type=int, default=3, help="groups that run side by side")
    options.add_argument("--compare", action="store_true", help="only write the page again")
    chosen = options.parse_args()
    runs: list[Run] = json.loads(MEASURED.read_text()) if MEASURED.exists() else []
    for version in () if chosen.compare else chosen.version or ("4.4.0", "4.3.1"):
        runs = [run for run in runs if run["version"] != version] + measure_cells(version, chosen.at_a_time)
        MEASURED.write_text("[\n" + ",\n".join(map(json.dumps, runs)) + "\n]\n")
    PAGE.write_text(page(runs))


if __name__ == "__main__":
    main()
