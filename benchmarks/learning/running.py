"""Runs cells on a broker of their own while `copartition watch --record` looks at their groups."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from benchmarks.learning.cells import KINDS
from benchmarks.rebalances.broker_log import read_log
from benchmarks.rebalances.cell import open_site, run
from benchmarks.rebalances.measure import GROUP_APIS
from benchmarks.rebalances.record import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from benchmarks.rebalances.measure import Event

LOOKS = "100ms"
"""From one look to the next."""
CALM_S = 5.0
"""The time before a deploy in which the group's usual lag is measured, in seconds."""
LOOK_S = 0.001
"""From one look at the usual lag to the next, in seconds."""
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
    """Return the most records that waited at one time in a deploy, beyond what waits before it on average.

    All partitions get their records at the same times. So the partition that is read furthest shows how many
    records have come to each partition. Between two reads that show more records, these are taken to come
    evenly. A late producer is therefore not mistaken for late consumers.

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
    at, partition, offset = map(np.array, zip(*reads, strict=True))
    new = np.zeros(len(at))
    for number in range(partitions):
        rows = partition == number
        # A record that is read again counts once.
        new[rows] = np.diff(np.maximum.accumulate(offset[rows]), prepend=0)
    done = np.append(0, np.cumsum(new))
    furthest = np.maximum.accumulate(offset)
    shows = np.diff(furthest, prepend=0) > 0

    def waiting(times: NDArray[np.float64], side: Literal["left", "right"]) -> NDArray[np.float64]:
        """Return how many records wait just before, or just after, the reads at these times."""
        came = partitions * np.interp(times, at[shows], furthest[shows])
        waits: NDArray[np.float64] = came - done[np.searchsorted(at, times, side)]
        return waits

    calm = np.arange(begins - CALM_S, begins, LOOK_S)
    # What waits is at its most just before the next records are read.
    return round(float(waiting(at[at >= begins], "left").max() - waiting(calm, "right").mean()), 1)
