"""Reading a whole topic for an audit, beside a bare confluent-kafka loop that throws the records away.

Both read the same topic of a real broker in turn, with the same settings for fetching, each in a process of
its own. `AUDIT_RECORDS` is how many records the topic has; `SAVE_TABLES=1 make bench` writes the table to
`benchmarks/audit.md`.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import confluent_kafka
import numpy as np

from benchmarks.audits.filling import fill_topic
from benchmarks.measured import machine
from copartition.audit.reader import FETCHING
from tests.support.broker import Broker, Kafka

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_benchmark.fixture import BenchmarkFixture

RECORDS = int(os.environ.get("AUDIT_RECORDS", "10_000_000"))
PARTITIONS = 12
ROUNDS = 3
MIN_RATE = 0.8
"""Of the bare loop's rate."""

MOST_MIB = 300

MANY_PARTITIONS = 100
SAMPLED_RECORDS = 1_000_000
MOST_SAMPLE_S = 10.0
SAVED = Path(__file__).with_name("audit.md")
ROOT = Path(__file__).parents[1]

BARE = """
from confluent_kafka import Consumer, TopicPartition
settings = {"bootstrap.servers": servers, "group.id": "bare", "enable.auto.commit": False}
consumer = Consumer(settings | fetching)
places = [TopicPartition(topic, number, 0) for number in range(partitions)]
begun = clock()
consumer.assign(places)
read = 0
while read < records:
    read += len(consumer.consume(10_000, 0.1))
"""
AUDIT = """
from copartition.audit.topic_audit import Selection
from copartition.audit.cluster import audit_topic
begun = clock()
audit = audit_topic(topic, {"bootstrap.servers": servers}, Selection(full=True))
assert (audit.certainty, audit.coverage.read) == ("sure", records), audit
"""
PROCESS = """
import json, sys, time
servers, topic = sys.argv[1:3]
partitions, records, fetching = map(json.loads, sys.argv[3:])
clock = lambda: (time.perf_counter(), time.process_time())
{work}
taken = [after - before for before, after in zip(begun, clock())]
# What getrusage has begins with the memory of the process that started this one.
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps([*taken, int(status["VmHWM"].split()[0]) / 1024]))
"""


def measure_process(work: str, servers: str, topic: str) -> tuple[float, float, float]:
    """Seconds, processor seconds, and MiB at most."""
    told = [servers, topic, *map(json.dumps, (PARTITIONS, RECORDS, FETCHING))]
    done = subprocess.run(
        [sys.executable, "-c", PROCESS.format(work=work), *told],
        capture_output=True,
        check=False,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    seconds, processor_s, mebibytes = json.loads(done.stdout)
    return seconds, processor_s, mebibytes


def users(records: int) -> Iterator[dict[str, bytes]]:
    """Records of a million users."""
    value = b"v" * 100
    return ({"value": value, "key": b"user-%d" % (number * 7919 % 1_000_003)} for number in range(records))


def test_an_audit_reads_nearly_as_fast_as_a_bare_loop(benchmark: BenchmarkFixture) -> None:
    def a_round(servers: str, topic: str) -> None:
        rounds.append([measure_process(work, servers, topic) for work in (BARE, AUDIT)])

    rounds: list[list[tuple[float, float, float]]] = []
    with Broker() as own:
        kafka = Kafka(own.bootstrap_servers)
        topic = fill_topic(kafka, PARTITIONS, users(RECORDS))
        benchmark.pedantic(a_round, (kafka.bootstrap_servers, topic), rounds=ROUNDS)
    share = statistics.median(bare[0] / audit[0] for bare, audit in rounds)
    mebibytes = max(audit[2] for _, audit in rounds)
    lines = [
        f"Python {platform.python_version()}, NumPy {np.__version__}, {machine()}.",
        f"{os.cpu_count()} cores, shared with the broker; confluent-kafka {confluent_kafka.__version__}.",
        f"Load average, with whatever else was at work: {os.getloadavg()[0]:.1f}.",
        f"{RECORDS:,} records in {PARTITIONS} partitions, {ROUNDS} rounds in turn; medians.",
        "Again: `SAVE_TABLES=1 make bench`.",
        "",
        "| | thousand records/s | processor s | MiB at most |",
        "|---|---|---|---|",
    ]
    for name, number in (("bare consume loop", 0), ("audit", 1)):
        seconds, processor_s, memory = (
            statistics.median(pair[number][column] for pair in rounds) for column in range(3)
        )
        lines.append(f"| {name} | {RECORDS / seconds / 1000:,.0f} | {processor_s:.1f} | {memory:.0f} |")
    lines += ["", f"Audit / bare loop: {share:.2f} (at least {MIN_RATE}); memory at most {MOST_MIB} MiB."]
    print("\n" + "\n".join(lines))
    if os.environ.get("SAVE_TABLES"):
        SAVED.write_text("# Audit of a topic against a bare loop\n\n" + "\n".join(lines) + "\n")
    assert share >= MIN_RATE
    assert mebibytes <= MOST_MIB


def test_a_sample_of_many_partitions_answers_in_seconds(benchmark: BenchmarkFixture) -> None:
    with Broker() as own:
        kafka = Kafka(own.bootstrap_servers)
        topic = fill_topic(kafka, MANY_PARTITIONS, users(SAMPLED_RECORDS))
        run = "from copartition.shell import copartition; copartition()"
        command = [sys.executable, "-c", run, "audit", topic, "-b", kafka.bootstrap_servers]
        done = benchmark.pedantic(
            lambda: subprocess.run(command, capture_output=True, check=False, text=True, cwd=ROOT), rounds=3
        )
    assert done.returncode == 0, done.stderr
    assert "a sample" in done.stdout
    assert benchmark.stats["max"] < MOST_SAMPLE_S
