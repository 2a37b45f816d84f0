"""What a simulation found, made by hand, so that reports can be held to figures one can count."""

from dataclasses import replace

import numpy as np

from assignors.group import Topic
from copartition.simulation import (
    Consumer,
    Crash,
    Load,
    LogEntry,
    Outage,
    RecordsResult,
    RunSummary,
    Scenario,
    SimulationResult,
    Timeline,
)
from copartition.simulation.outcome.timeline import Zombies
from copartition.simulation.records.curves import PartitionCurves
from copartition.simulation.records.outages import CatchUps

SCENARIO = Scenario(
    (Topic("orders", 2),), (Consumer("a"), Consumer("b")), (Crash(1_000, "a"),), name="deploy"
)

TIMELINE = Timeline(
    topics=("orders",),
    first=np.array([0, 2]),
    consumers=("a", "b"),
    partition=np.array([0, 0, 0, 0, 1, 1, 1], np.int32),
    start=np.array([0, 1_000, 46_000, 48_000, 0, 46_000, 48_000], np.float64),
    end=np.array([1_000, 46_000, 48_000, 60_000, 46_000, 48_000, 60_000], np.float64),
    phase=np.array([1, 3, 2, 1, 1, 2, 1], np.int8),
    consumer=np.array([0, -1, -1, 1, 1, -1, 1], np.int32),
    causes=("a crashed", "b was slow"),
    cause=np.array([-1, 0, 0, -1, -1, 1, -1], np.int32),
    zombies=Zombies(*(np.empty(0, kind) for kind in (np.int32, np.float64, np.float64, np.int32))),
)
"""Consumer a crashes at 1 s, its partition is noticed at 46 s; both are read again at 48 s."""

OUTAGES = (
    Outage("a crashed", 1, 45_000, 1_000, 600, 400, None),
    Outage("b was slow", 2, 0, 2_000, 0, 0, None),
)

SUMMARY = RunSummary(
    seed=0,
    duration_ms=60_000,
    rebalances=1,
    rebalancing_ms=2_000,
    member_pause_ms=2_000,
    partition_seconds=49,
    longest_pause_ms=47_000,
    detection_ms=45_000,
    barrier_ms=3_000,
    compute_ms=600,
    handover_ms=400,
    moved_partitions=1,
    unassigned_partitions=0,
    double_read_ms=0,
    peak_lag=None,
    recovery_ms=None,
    duplicates=None,
    lost=None,
)

LOG = (
    LogEntry(1_000, "crash", "a", {}),
    LogEntry(46_000, "session-expired", "a", {"generation": 1}),
    LogEntry(48_000, "generation", None, {"number": 2, "moved": 1}),
)

RECORDS = RecordsResult(
    lag_ms=np.array([0, 1_000, 48_000, 60_000], np.float64),
    lag=np.array([0, 0, 2_450, 1_250], np.float64),
    peak=np.array([2_350, 100], np.float64),
    peak_ms=np.array([48_000, 48_000], np.float64),
    recovery_ms=np.array([np.inf, 1_000], np.float64),
    duplicates=np.array([12, 0], np.float64),
    aborted=np.array([0, 0], np.float64),
    lost=np.array([0, 0], np.float64),
    consumed=np.array([1_750, 3_000], np.float64),
    waiting=np.array([1_250, 0], np.float64),
    arrived=np.array([3_000, 3_000], np.float64),
    uncommitted_ms=np.array([0, 0], np.float64),
    catch_up_ms=np.array([12_000, 1_000], np.float64),
    catch_ups=CatchUps(
        np.array([0, 1], np.int32), np.array([48_000.0, 48_000.0]), np.array([60_000.0, 49_000.0])
    ),
    curves=PartitionCurves(),
)
"""The lag of the crash: orders-0 is still behind at the end."""


def a_result(scenario=SCENARIO, **figures):
    """The crash without records; `figures` of the summary may differ."""
    return SimulationResult(
        scenario, None, (), lambda: TIMELINE, replace(SUMMARY, **figures), OUTAGES, None, LOG
    )


def a_loaded_result(**figures):
    """The crash with 50 records a second; orders-0 never recovers."""
    summary = replace(SUMMARY, peak_lag=2_450, recovery_ms=np.inf, duplicates=12, lost=0)
    outages = (replace(OUTAGES[0], catch_up_ms=12_000), replace(OUTAGES[1], catch_up_ms=1_000))
    return replace(
        a_result(replace(SCENARIO, load=Load(rate=50, capacity=100))),
        summary=replace(summary, **figures),
        outages=outages,
        records=RECORDS,
    )
