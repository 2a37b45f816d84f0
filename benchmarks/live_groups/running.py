"""Runs groups on a real cluster, and makes a JSON object of what each showed."""

from __future__ import annotations

import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING, Any

from benchmarks.live_groups.led import led_generations
from benchmarks.live_groups.owning import strays
from benchmarks.rebalances.broker_log import read_log, recording_broker
from benchmarks.rebalances.cell import run
from benchmarks.rebalances.measure import GROUP_APIS
from benchmarks.rebalances.producer import SteadyProducer
from benchmarks.rebalances.record import record
from tests.support.broker import Kafka

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.live_groups.groups import LiveGroup
    from benchmarks.rebalances.cell import Ran
    from tests.support.broker import Broker

COORDINATOR = 2
"""The node that coordinates all groups; the other one has all records."""
Run = dict[str, Any]


def run_groups(groups: Sequence[LiveGroup], at_a_time: int) -> list[Run]:
    """Run groups side by side on two nodes of their own, one of which coordinates them all.

    Where a group's coordinator is restarted, all must run at a time, as it is that of all.
    """
    with (
        tempfile.TemporaryDirectory(prefix="live-groups-") as folder,
        recording_broker(racks=("records", "groups")) as broker,
        SteadyProducer(broker.bootstrap_servers) as producer,
        ThreadPoolExecutor(at_a_time) as side_by_side,
    ):
        kafka = Kafka(broker.bootstrap_servers)
        kafka.create_coordinators(COORDINATOR)
        restart = restarting(broker, len(groups))

        def lives(group: LiveGroup) -> tuple[Ran, float]:
            ran = run(group.cell()[0], kafka, producer, Path(folder), restart)
            return ran, os.getloadavg()[1]

        ran = list(side_by_side.map(lives, groups))
        log = list(read_log(broker.logs[COORDINATOR - 1], GROUP_APIS))
    return [_run_of(group, *lived, log) for group, lived in zip(groups, ran, strict=True)]


def restarting(broker: Broker, groups: int) -> Callable[[], tuple[float, float]]:
    """Restarts the coordinator once all these groups want it; when it went, and when it answered again."""
    together = Barrier(groups)
    times: list[float] = []

    def restart() -> tuple[float, float]:
        if together.wait(60) == 0:
            times.append(time.monotonic())
            broker.stop(COORDINATOR)
            broker.start(COORDINATOR)
            times.append(time.monotonic())
        together.wait(120)
        return times[0], times[1]

    return restart


def _run_of(group: LiveGroup, ran: Ran, load: float, log: list[Any]) -> Run:
    cell, happens = group.cell()

    def since(at: float) -> float:
        return round(at - ran.began, 3)

    told = record(cell, ran, log)
    del told["protocol"], told["outages"], told["commits"]
    return {
        "group": group.name,
        "assignors": {name: group.assignors_of(name) for name in group.clients},
        "clients": {name: client.name for name, client in group.clients.items()},
        "happens": happens,
        "load": round(load, 1),
        "restarted": None if ran.restarted is None else [*map(since, ran.restarted)],
        **told,
        "led": led_generations(group.name, log, since),
        "strays": strays(group.name, ran.members, since),
    }
