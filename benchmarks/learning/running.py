"""Runs cells on a broker of their own while `copartition watch --record` looks at their groups."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import as_completed
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.learning.cells import KINDS
from benchmarks.rebalances.broker_log import read_log
from benchmarks.rebalances.cell import open_site, run
from benchmarks.rebalances.measure import GROUP_APIS
from benchmarks.rebalances.record import record
from benchmarks.rebalances.scenarios import RECORDS_PER_SECOND

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from benchmarks.rebalances.measure import Event

LOOKS = "100ms"
"""From one look to the next."""
CALM_S = 5.0
"""The time before a deploy in which the group's usual lag is measured, in seconds."""
UNUSED = ("outages", "beats", "commits", "decisions", "heartbeat_interval_ms", "pattern", "config")
"""What `record` says of a run and no page needs."""


def measure_all(cells: Sequence[tuple[str, str]], at_a_time: int, records: Path) -> Iterator[dict[str, Any]]:
    """Run cells on a broker of their own; yield what each showed, as soon as it is over.

    Args:
        cells: the name of each kind, and "teaches" or "judges".
        at_a_time: how many run side by side.
        records: the folder for the records of groups that teach.
    """
    with open_site(at_a_time) as site:

        def measure(kind: str, role: str) -> dict[str, Any]:
            cell = KINDS[kind].cell(role)
            seen = records if role == "teaches" else site.folder
            with record_group(cell.name, site.kafka.bootstrap_servers, seen / f"{kind}.ndjson"):
                ran = run(cell, site.kafka, site.producer, site.folder)
            told = record(cell, ran, list(read_log(site.log, GROUP_APIS)))
            begins, ends = (ran.began + second for second in (cell.scenario.begins, cell.scenario.ends))
            return {
                "cell": cell.name,
                "kind": kind,
                "role": role,
                "load": round(os.getloadavg()[1], 1),
                **{key: value for key, value in told.items() if key not in UNUSED},
                "peak_lag": peak_lag(ran.members, cell.scenario.partitions, begins, ends),
            }

        running = [site.workers.submit(measure, *cell) for cell in cells]
        for one in as_completed(running):
            yield one.result()


@contextmanager
def record_group(group: str, bootstrap_servers: str, path: Path) -> Iterator[None]:
    """Keep a record of a group for as long as this lasts."""
    command = [str(Path(sys.executable).with_name("copartition")), "watch", group, "-b", bootstrap_servers]
    watch = subprocess.Popen(
        [*command, "--interval", LOOKS, "--record", str(path)], stdout=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        watch.terminate()  # each step is on disk before the next look
        watch.wait(30)


def peak_lag(members: Mapping[str, Iterable[Event]], partitions: int, begins: float, until: float) -> float:
    """Return the most records that waited at one time in a deploy, beyond what waits before it.

    Each partition gets records at an even rate. So what waits grows evenly, and falls when a consumer has
    read. When the first record came does not matter, as only the difference to the time before counts.

    Args:
        members: what each process said.
        partitions: their number.
        begins: when the deploy began.
        until: when the run ended.
    """
    reads = sorted(
        (event["t"], int(partition), last + 1)
        for events in members.values()
        for event in events
        if event["event"] == "read" and event["t"] < until
        for partition, (_, last) in event["offsets"].items()
    )
    rate = RECORDS_PER_SECOND * partitions
    offsets = dict.fromkeys(range(partitions), 0)
    done = 0
    # How many records were read from each time on; a record that is read again counts once.
    steps = [(begins - CALM_S, 0)]
    for at, partition, offset in reads:
        done += max(offset - offsets[partition], 0)
        offsets[partition] = max(offset, offsets[partition])
        if at < begins - CALM_S:
            steps = [(begins - CALM_S, done)]
        else:
            steps.append((at, done))
    usual = peak = 0.0
    for (start, read), (end, _) in pairwise([*steps, (until, done)]):
        if start < begins:
            calm = min(end, begins)
            usual += (calm - start) * (rate * ((start + calm) / 2 - begins) - read) / CALM_S
        if end > begins:
            # What waits is at its most just before the next records are read.
            peak = max(peak, rate * (end - begins) - read - usual)
    return round(peak, 1)
