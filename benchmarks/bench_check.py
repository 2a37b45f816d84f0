"""The memory of `copartition check` over two topics of many different keys, on a real broker.

`CHECK_KEYS` is how many keys each topic has, all of them shared and a few of them apart;
`SAVE_TABLES=1 make bench` writes the figures to `benchmarks/check.md`.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.audits.filling import fill_topic
from benchmarks.measured import machine
from partitioning import partition_for_key
from tests.support.broker import Broker, Kafka

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_benchmark.fixture import BenchmarkFixture

KEYS = int(os.environ.get("CHECK_KEYS", "10_000_000"))
PARTITIONS = 12
APART = 10
MOST_MIB = 1_000
SAVED = Path(__file__).with_name("check.md")
ROOT = Path(__file__).parents[1]

PROCESS = """
import json, sys, time
from copartition.audit.topic_audit import Selection
from copartition.check.cluster import check_topics
begun = time.perf_counter(), time.process_time()
check = check_topics(sys.argv[2:], {"bootstrap.servers": sys.argv[1]}, Selection(full=True))
taken = [after - before for before, after in zip(begun, (time.perf_counter(), time.process_time()))]
proof = check.verdict.proof
# What getrusage has begins with the memory of the process that started this one.
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
memory = int(status["VmHWM"].split()[0]) / 1024
print(json.dumps([*taken, memory, check.verdict.answer, proof.common, proof.apart]))
"""


def keys(*, moved: bool) -> Iterator[dict[str, Any]]:
    """A record of each key; if asked, a few of them in another partition than Java's rule puts them."""
    for number in range(KEYS):
        key = b"user-%011d" % number
        if moved and number % (KEYS // APART) == 7:
            elsewhere = (partition_for_key(key, PARTITIONS) + 1) % PARTITIONS
            yield {"value": b"v", "key": key, "partition": elsewhere}
        else:
            yield {"value": b"v", "key": key}


def test_two_topics_of_many_keys_are_compared_in_bounded_memory(benchmark: BenchmarkFixture) -> None:
    with Broker() as own:
        kafka = Kafka(own.bootstrap_servers)
        topics = [fill_topic(kafka, PARTITIONS, keys(moved=moved)) for moved in (False, True)]
        process = [sys.executable, "-c", PROCESS, kafka.bootstrap_servers, *topics]
        done = benchmark.pedantic(
            lambda: subprocess.run(process, capture_output=True, check=False, text=True, cwd=ROOT), rounds=1
        )
    assert done.returncode == 0, done.stderr
    seconds, processor_s, mebibytes, answer, common, apart = json.loads(done.stdout)
    assert (answer, common, apart) == ("no", KEYS, APART)
    assert mebibytes < MOST_MIB
    lines = [
        "# Two topics of many keys, compared",
        "",
        f"Python {platform.python_version()}, NumPy {np.__version__}, {machine()}.",
        f"{os.cpu_count()} cores, shared with the broker.",
        "Again: `SAVE_TABLES=1 make bench`.",
        "",
        "| keys of each topic | apart, found | seconds | processor s | MiB at most |",
        "|---|---|---|---|---|",
        f"| {KEYS:,} | {apart} of {APART} | {seconds:.0f} | {processor_s:.0f} | {mebibytes:.0f} |",
    ]
    if os.environ.get("SAVE_TABLES"):
        SAVED.write_text("\n".join(lines) + "\n", encoding="utf-8")
