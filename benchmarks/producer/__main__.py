"""What `copartition model batching` predicts beside real producers on a real broker.

Run it with `python -m benchmarks.producer`.

A Java producer and librdkafka's send the same even stream with each pair of settings. The model gets one
thing about the machine: the round trip, which is the median latency of lone records without linger. Results
go to `measured.json` and as a table to `benchmarks/producer.md`; `--compare` only makes the table again.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

from copartition.models import (
    BatchingResult,
    BatchingSettings,
    BrokerTimes,
    LibrdkafkaSettings,
    simulate_batching,
    simulate_librdkafka,
)
from partitioning import get_partitioner, partition_batch
from partitioning.strategy import seeded_source
from tests.support import jars
from tools.oracle.clients.clusters import real_cluster
from tools.oracle.clients.programs import Command, ask

Json = dict[str, Any]

HERE = Path(__file__).parent
MEASURED = HERE / "measured.json"
PAGE = HERE.parent / "producer.md"
JAVA = HERE.parents[1] / "tools" / "oracle" / "producer"
SOURCE = JAVA / "src" / "main" / "java" / "copartition" / "oracle" / "PacedProducer.java"

STREAM: Json = {"partitions": 12, "value_bytes": 512, "records_per_second": 2500, "records": 10_000}
LONE = STREAM | {"records_per_second": 50, "records": 200, "linger_ms": 0, "placement": "unkeyed"}
USUAL = {"java": 16_384, "librdkafka": 1_000_000}
LINGERS = (0, 5, 10, 15, 18)
RUNS = 3
QUIET_MS = 2.0

HEAD = f"""# `copartition model batching` beside real producers

Made by `python -m benchmarks.producer`. {STREAM["records"]:,} records of {STREAM["value_bytes"]} bytes, \
{STREAM["records_per_second"]:,} a second at an even pace, {STREAM["partitions"]} partitions, one real \
broker on the same machine, on which nothing else runs. Measured figures are of that of {RUNS} runs in which \
the machine kept the pace best; how late it sent 1 % of the records all the same is in the last column, and \
where that is more than {QUIET_MS:g} ms, latencies are those of a busy machine, not of the settings. The \
model gets only the round trip: the lowest median latency of lone records without linger.

The first writes to a partition come before the measured ones. While its log and indexes were young, a keyed \
stream met a pause of 30 to 50 ms at its first batches, to all partitions at once, which alone made its p99; \
other work on the machine adds pauses of up to hundreds of milliseconds. The predicted p99 knows of neither: \
leave room for the tail of your system.
"""

COLUMNS = (
    "| records | linger.ms | batch.size | p99 predicted, ms | p99 measured, ms | requests predicted "
    "| measured | under 20 ms: predicted | measured | sent late, ms |"
)


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.producer", description=__doc__)
    options.add_argument("--compare", action="store_true", help="only make the page again")
    if not options.parse_args().compare:
        lines = [json.dumps(row) for client in USUAL for row in measure(client)]
        MEASURED.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    PAGE.write_text(page(json.loads(MEASURED.read_text())))


def cases(client: str) -> list[Json]:
    """The lone records first, then the stream with each pair of settings."""
    sizes = {"java": (16_384, 65_536), "librdkafka": (1_000_000,)}[client]
    pairs = [(linger, size) for linger in LINGERS for size in sizes]
    return [
        LONE | {"batch_size": USUAL[client]},
        *(
            STREAM | {"placement": placement, "linger_ms": linger, "batch_size": size}
            for placement in ("unkeyed", "keyed")
            for linger, size in pairs
        ),
    ]


def measure(client: str) -> list[Json]:
    """Every case, RUNS times, on a broker of its own; the first round warms the JVMs up and is dropped."""
    table = cases(client)
    asked = [
        case | {"topic": f"t-{run}-{number}", "max_in_flight_requests_per_connection": 5}
        for run in range(RUNS + 1)
        for number, case in enumerate(table)
    ]
    with real_cluster({case["topic"]: case["partitions"] for case in asked}) as servers:
        reports = ask(command(client), map(json.dumps, asked), KAFKA_BOOTSTRAP_SERVERS=servers)
    return [
        {"client": client, "case": case, "runs": reports[len(table) + number :: len(table)]}
        for number, case in enumerate(table)
    ]


def command(client: str) -> Command:
    if client == "librdkafka":
        return [sys.executable, HERE / "paced.py"]
    classes = jars.class_path("paced-producer", JAVA / "pom.xml", [SOURCE])
    return ["java", "-Xmx256m", "-cp", classes, "copartition.oracle.PacedProducer"]


def predict(client: str, case: Json, round_trip_ms: float) -> BatchingResult:
    """What the model predicts for a case."""
    records, partitions = case["records"], case["partitions"]
    placed, key_bytes = np.full(records, -1), -1
    if case["placement"] == "keyed":
        keys = [b"user-%05d" % (row * 7919 % 10007) for row in range(records)]
        placed, key_bytes = partition_batch(keys, partitions, profile=client).astype(np.int64), len(keys[0])
    times = np.arange(records) * 1000 / case["records_per_second"]
    linger, size = case["linger_ms"], case["batch_size"]
    leaders, brokers = [0] * partitions, [BrokerTimes(latency_ms=round_trip_ms)]
    if client == "java":
        return simulate_batching(
            times,
            case["value_bytes"],
            placed,
            leaders=leaders,
            brokers=brokers,
            key_bytes=key_bytes,
            unkeyed=get_partitioner("sticky", batch_size=size, random=seeded_source(1)).for_topic("t"),
            settings=BatchingSettings(linger_ms=linger, batch_size=size),
        )
    return simulate_librdkafka(
        times,
        case["value_bytes"],
        placed,
        leaders=leaders,
        brokers=brokers,
        key_bytes=key_bytes,
        unkeyed=get_partitioner("sticky-by-time", linger_ms=2 * linger, random=seeded_source(1)).for_topic(
            "t"
        ),
        settings=LibrdkafkaSettings(queue_buffering_max_ms=linger, batch_size=size),
    )


def page(measured: list[Json]) -> str:
    """The tables, both figures side by side."""
    lines = [HEAD]
    for client in USUAL:
        lone, *rows = [row for row in measured if row["client"] == client]
        trip = min(run["latency_ms"]["p50"] for run in lone["runs"])
        lines += [f"## {client}, round trip {trip:.2f} ms", "", *_table(client, rows, trip), ""]
    return "\n".join(lines)


def _table(client: str, rows: list[Json], trip: float) -> list[str]:
    """Every case with the run of it in which the machine kept the pace best."""
    lines = [COLUMNS, re.sub(r"[^|]+", "---", COLUMNS)]
    for row in rows:
        case = row["case"]
        run = min(row["runs"], key=lambda run: run["late_ms"]["p99"])
        result = predict(client, case, trip)
        (p99,) = result.latency_ms([99]).tolist()
        real = run["latency_ms"]["p99"]
        lines.append(
            f"| {case['placement']} | {case['linger_ms']} | {case['batch_size']} | {p99:.1f} | {real:.1f} |"
            f" {result.requests:,} | {run['requests']:,} | {_yes(p99)} | {_yes(real)} |"
            f" {run['late_ms']['p99']:.1f} |"
        )
    return lines


def _yes(p99: float) -> str:
    return "yes" if p99 <= 20 else "no"


if __name__ == "__main__":
    main()
