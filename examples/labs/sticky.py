"""Sticky stays with a partition until a batch is full, or for a time: batches leave at once, fewer requests.

The five records of the lab round-robin again: now three leave at once, as their batch is full. Then both
strategies at 10,000 records a second over 12 partitions.
"""

from __future__ import annotations

import numpy as np

from copartition.models import LibrdkafkaSettings
from examples.labs.kit import Between, Lab, Picture, paced

PER_SECOND = 10_000
PARTITIONS = 12
BOTH = (paced.ROUND_ROBIN, paced.STICKY)


def run(lab: Lab) -> None:
    records = 1_000 if lab.short else 20_000
    times = np.arange(records) * 1000 / PER_SECOND
    expected = {name: paced.predict(times, name, PARTITIONS, 100, LibrdkafkaSettings()) for name in BOTH}
    fewer = "requests of round robin, of those of sticky"
    batches, at_once = paced.predict_five(paced.STICKY)
    lab.predict({"five records: batches of": batches, "five records: leave at once": at_once})
    if not lab.short:  # a machine that is busy with other tests does not keep the pace
        lab.predict({fewer: Between(1.5, unit=" times")})
    batches, left = paced.five(lab, paced.STICKY, at_once)
    lab.saw("five records: batches of", batches)
    lab.saw("five records: leave at once", left)
    sent = {name: paced.send(lab, name, PARTITIONS, records, PER_SECOND, {}) for name in BOTH}
    most = sent[paced.ROUND_ROBIN].requests
    if not lab.short:
        lab.saw(fewer, most / sent[paced.STICKY].requests)
    waits = {name: expected[name].latency_ms([50, 99]).tolist() for name in BOTH}
    lab.picture = Picture(f"{records:,} records, {PER_SECOND:,} a second, {PARTITIONS} partitions: requests")
    for name, result in sent.items():
        lab.figure(f"{name}: requests", expected[name].requests, result.requests)
        lab.figure(f"{name}: median wait, ms", waits[name][0], result.p50_ms)
        lab.figure(f"{name}: 99 % of waits below, ms", waits[name][1], result.p99_ms)
        text = f"{result.requests:,}; median {result.p50_ms:.1f} ms"
        lab.picture.figure(name, result.requests, most, text, int(name == paced.ROUND_ROBIN))
    lower = 1 - sent[paced.STICKY].p50_ms / sent[paced.ROUND_ROBIN].p50_ms
    modelled = 1 - waits[paced.STICKY][0] / waits[paced.ROUND_ROBIN][0]
    lab.figure("median wait is lower under sticky by", f"{modelled:.0%}", f"{lower:.0%}")
