"""What holds of every run, however odd its scenario."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import asdict
from itertools import pairwise

import numpy as np

from copartition.simulation import Consumer, Phase

STILL = {
    "detection_ms": Phase.UNNOTICED,
    "barrier_ms": Phase.PAUSED,
    "compute_ms": Phase.COMPUTING,
    "handover_ms": Phase.HANDOVER,
}


def check_timeline(result):
    """Phases of a partition follow one another from its birth to the end; each has a reader or a cause."""
    timeline, end_ms = result.timeline, result.summary.duration_ms
    assert (timeline.start < timeline.end).all()
    first = np.flatnonzero(np.diff(timeline.partition, prepend=-1))
    last = np.flatnonzero(np.diff(timeline.partition, append=2**31 - 1))
    births = _births(result)
    lived = {partition for partition, born in births.items() if born < end_ms}
    assert set(timeline.partition.tolist()) == lived
    assert timeline.start[first].tolist() == [births[partition] for partition in sorted(lived)]
    assert (timeline.end[last] == end_ms).all()
    read = timeline.phase == Phase.CONSUMING
    assert ((timeline.consumer >= 0) == read).all()
    assert ((timeline.cause >= 0) == ~read).all()
    assert all(timeline.causes)


def check_readers(result):
    """Only a process that runs reads, and a zombie is not the owner at the same time."""
    timeline, zombies = result.timeline, result.timeline.zombies
    running = _running(result)
    read = timeline.phase == Phase.CONSUMING
    fenced = {entry.subject for entry in result.log if entry.what == "duplicate-instance"}
    for part in (
        (timeline.consumer[read], timeline.start[read], timeline.end[read]),
        (zombies.consumer, zombies.start, zombies.end),
    ):
        for consumer, start, end in zip(*(column.tolist() for column in part), strict=True):
            name = timeline.consumers[consumer]
            assert name in fenced or any(since <= start and end <= until for since, until in running[name]), (
                f"{name} reads from {start} to {end} and runs {running[name]}"
            )
    rows = zip(*(column.tolist() for column in zombies), strict=True)
    reads = list(
        zip(
            *(
                column[read].tolist()
                for column in (timeline.partition, timeline.start, timeline.end, timeline.consumer)
            ),
            strict=True,
        )
    )
    seen = []
    for row in rows:
        partition, start, end, consumer = row
        assert start < end
        for other in [*reads, *seen]:
            if other[0] == partition and other[3] == consumer and timeline.consumers[consumer] not in fenced:
                assert other[2] <= start or end <= other[1], f"{row} reads twice: {other}"
        seen.append(row)


def check_owners(result):
    """In a classic group whoever reads has been given the partition by the last rebalance, or is a zombie."""
    timeline, steps = result.timeline, result.steps
    read = timeline.phase == Phase.CONSUMING
    done = np.array([step.completed_ms for step in steps])
    assignments = [
        {
            (topic, number): step.consumers[member].name
            for member, partitions in step.assignment.items()
            for topic, number in partitions
        }
        for step in steps
    ]
    for partition, start, consumer in zip(
        *(column[read].tolist() for column in (timeline.partition, timeline.start, timeline.consumer)),
        strict=True,
    ):
        topic = int(np.searchsorted(timeline.first, partition, side="right")) - 1
        place = timeline.topics[topic], partition - int(timeline.first[topic])
        step = int(np.searchsorted(done, start, side="right")) - 1
        assert assignments[step][place] == timeline.consumers[consumer]


def check_sums(result):
    """Summary, timeline, outages and records tell of the same."""
    timeline, summary, records = result.timeline, result.summary, result.records
    lasted = timeline.end - timeline.start
    for name, phase in STILL.items():
        assert _close(getattr(summary, name), lasted[timeline.phase == phase].sum()), name
        assert _close(getattr(summary, name), sum(getattr(outage, name) for outage in result.outages)), name
    assert _close(1_000 * summary.partition_seconds, sum(getattr(summary, name) for name in STILL))
    _, start, end = timeline.pauses()
    if summary.longest_pause_ms < math.inf:
        assert _close(summary.longest_pause_ms, np.max(end - start, initial=0))
    still = timeline.cause >= 0
    spent = np.bincount(timeline.cause[still], lasted[still], len(timeline.causes))
    assert [outage.cause for outage in result.outages] == [
        timeline.causes[cause] for cause in np.flatnonzero(spent > 0)
    ]
    touched = [
        len(np.unique(timeline.partition[still & (timeline.cause == cause)]))
        for cause in np.flatnonzero(spent > 0)
    ]
    for outage, partitions in zip(result.outages, touched, strict=True):
        assert outage.partitions >= partitions > 0
    for name, value in asdict(summary).items():
        assert value is None or value >= 0, name
        assert value is None or name in {"longest_pause_ms", "recovery_ms"} or value < math.inf, name
    assert summary.rebalances == len(result.rebalances)
    assert summary.moved_partitions == sum(rebalance.moved for rebalance in result.rebalances)
    if records is not None:
        assert summary.peak_lag == records.lag.max(initial=0)
        assert summary.duplicates == records.duplicates.sum()
        assert summary.lost == records.lost.sum()
        caught_up = sum(outage.catch_up_ms for outage in result.outages)
        assert caught_up <= records.catch_up_ms.sum() * (1 + 1e-9) + 1e-6
        assert _close(records.catch_up_ms.sum(), (records.catch_ups.end - records.catch_ups.start).sum())


def check_records(result):  # noqa: C901 - a fact after the other
    """Every record that came was processed, lost, or waits."""
    records, timeline, load = result.records, result.timeline, result.scenario.load
    if records is None:
        return
    end_ms = result.summary.duration_ms
    births = _births(result)
    rates = np.concatenate([result.scenario.rates[topic] for topic in timeline.topics])
    there = {topic.name: topic.partitions for topic in result.scenario.topics}
    came = np.concatenate(
        [
            load.waiting_of(topic, len(result.scenario.rates[topic]), there.get(topic, 0))
            for topic in timeline.topics
        ]
    )
    came += rates * [(end_ms - births.get(partition, end_ms)) / 1000 for partition in range(len(rates))]
    slack = 1e-6 + 1e-9 * came.sum()
    assert np.allclose(records.arrived, came, atol=slack)
    assert np.allclose(records.arrived, records.consumed + records.waiting + records.lost, atol=slack)
    for name in ("lost", "duplicates", "aborted", "consumed", "waiting", "peak", "uncommitted_ms"):
        assert (getattr(records, name) >= -slack).all(), name
        assert np.isfinite(getattr(records, name)).all(), name
    before = load.commit == "before" and not load.transactions
    # Under "latest" the first reader of a partition that is born later skips what is there.
    skipped = np.array(
        [load.auto_offset_reset == "latest" and births.get(p, 1) > 0 for p in range(len(came))]
    )
    assert before or not records.lost[~skipped].any()
    assert not (before or load.transactions) or not records.duplicates.any()
    assert load.transactions or not records.aborted.any()
    read = timeline.phase == Phase.CONSUMING
    # Who has a partition at time 0 has read before. The timeline does not show it if he leaves at once, and
    # what he had committed of his batch before its work is lost.
    had = [
        int(timeline.first[timeline.topics.index(topic)]) + number
        for step in result.steps
        if step.completed_ms == 0
        for given in step.assignment.values()
        for topic, number in given
    ]
    ever = np.union1d([*timeline.partition[read], *had], timeline.zombies.partition)
    if load.capacity < math.inf:
        never = np.setdiff1d(np.arange(len(came)), ever)
        assert np.allclose(records.waiting[never], came[never], atol=slack)
    done = (records.consumed + records.duplicates + records.aborted).sum()
    made = {consumer.name: consumer for step in result.steps for consumer in step.consumers.values()}
    capacities = [result.scenario.capacity_of(made.get(name, Consumer(name))) for name in timeline.consumers]
    if load.capacity < math.inf:
        can = sum(
            float(((part.end - part.start)[rows] * np.take(capacities, part.consumer[rows])).sum())
            for part, rows in ((timeline, read), (timeline.zombies, slice(None)))
        )
        assert done <= can / 1000 + slack
    assert (np.diff(records.lag_ms) >= 0).all()
    assert (records.lag >= 0).all()
    if len(records.lag):
        assert records.lag[-1] >= records.waiting.sum() - slack
        assert records.lag_ms[-1] <= end_ms
    haunted = set(timeline.zombies.partition.tolist())
    partitions, starts, ends = timeline.pauses()
    for partition, start, end in zip(partitions.tolist(), starts.tolist(), ends.tolist(), strict=True):
        if end == end_ms and partition not in haunted and load.capacity < math.inf:
            assert records.waiting[partition] >= rates[partition] * (end - start) / 1000 - slack
    if load.capacity == math.inf and not (result.log and result.log[-1].at_ms == end_ms):
        reading = timeline.partition[(timeline.end == end_ms) & read]
        assert (records.waiting[reading] <= slack).all()
    curves = [records.curves.of(partition) for partition in range(len(came))]
    for at in np.linspace(0.37, 0.93, 4) * end_ms:
        total = sum(float(np.interp(at, *curve)) for curve in curves if len(curve[0]))
        group = float(np.interp(at, records.lag_ms, records.lag))
        assert math.isclose(total, group, rel_tol=1e-6, abs_tol=1e-3 + slack), (at, total, group)
    for partition, (_, behind) in enumerate(curves):
        assert behind.max(initial=0) <= records.peak[partition] + 1e-3 + slack


def check_rebalances(result):
    """Generations count up, one rebalance ends before the next does, every partition is given once."""
    steps = result.steps
    for one, other in pairwise(steps):
        assert one.generation < other.generation
        assert one.completed_ms <= other.completed_ms
    for step in steps:
        assert step.started_ms <= step.completed_ms <= result.summary.duration_ms
        given_out = [partition for member in step.assignment for partition in step.assignment[member]]
        assert len(given_out) == len(set(given_out))
        assert not set(given_out) & set(step.assignment.transferring)
        assert step.causes
    times = [entry.at_ms for entry in result.log]
    assert times == sorted(times)
    assert not times or times[-1] <= result.summary.duration_ms


def check_eager(result):
    """Under eager nobody reads through the end of a rebalance: who did not stop is out, or a zombie."""
    timeline = result.timeline
    read = timeline.phase == Phase.CONSUMING
    for step in result.rebalances:
        through = read & (timeline.start < step.completed_ms) & (timeline.end > step.completed_ms)
        assert not through.any(), f"generation {step.generation}"


def check_end(result):
    """What a consumer that runs subscribes to is read in the end, or the run says that it is not."""
    summary = result.summary
    timeline = result.timeline
    running = {name for name, spans in _running(result).items() if spans and spans[-1][1] == math.inf}
    refused = {entry.subject for entry in result.log if entry.what == "refused"}
    assert (summary.unassigned_partitions > 0) or summary.longest_pause_ms < math.inf
    if result.scenario.until_ms is not None or not running - refused:
        return
    consumers = {consumer.name: consumer for step in result.steps for consumer in step.consumers.values()}
    last = result.steps[-1] if result.steps else None
    assert last is not None, "nobody was ever assigned anything"
    present = {consumer.name for consumer in last.consumers.values()}
    what = {entry.what for entry in result.log}
    if what & {"upgrade", "downgrade"} and any(consumer.static for consumer in consumers.values()):
        return  # a static member that comes back with another protocol amid a rebalance ends it for newcomers
    assert running - refused <= present, f"{running - refused - present} never got in"
    everything = any(
        consumers[name].topics is None and consumers[name].pattern is None for name in running - refused
    )
    early = [timeline.topics.index(topic.name) for topic in result.scenario.topics]
    if what & {"grow", "create"} and any(consumer.static for consumer in consumers.values()):
        return  # a static leader that returns overlooks what grew meanwhile (KIP-814)
    if everything and summary.unassigned_partitions:
        topics = np.searchsorted(timeline.first, list(_births(result)), side="right") - 1
        assert summary.unassigned_partitions <= np.count_nonzero(~np.isin(topics, early))


def _running(result):
    """When processes of each consumer ran."""
    spans = defaultdict(list)
    for consumer in result.scenario.consumers:
        spans[consumer.name].append((0.0, math.inf))
    for entry in result.log:
        if entry.what == "join":
            spans[entry.subject].append((entry.at_ms, math.inf))
        elif entry.what in {"leave", "crash"} and spans[entry.subject]:
            since, _ = spans[entry.subject].pop()
            spans[entry.subject].append((since, entry.at_ms))
    return spans


def _births(result):
    """When every partition began to exist, as far as it did."""
    timeline = result.timeline
    counts = {topic.name: 0 for topic in result.scenario.topics}
    births = {}

    def grow(topic, count, at_ms):
        first = int(timeline.first[timeline.topics.index(topic)])
        for partition in range(counts.get(topic, 0), count):
            births[first + partition] = at_ms
        counts[topic] = count

    for topic in result.scenario.topics:
        grow(topic.name, topic.partitions, 0.0)
    for entry in result.log:
        if entry.what in {"grow", "create"}:
            grow(entry.subject, entry.detail["partitions"], entry.at_ms)
    return births


def _close(one, other):
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-6)
