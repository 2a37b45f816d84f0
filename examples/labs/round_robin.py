"""Round robin spreads records over partitions one by one: no batch fills, and requests grow with partitions.

Five records, three partitions, batches of three: each partition waits for a third record that does not come.
Then 10,000 records a second over more and more partitions.
"""

from __future__ import annotations

import numpy as np

from copartition.models import LibrdkafkaSettings
from examples.labs.kit import Between, Lab, Picture, paced

PER_SECOND = 10_000
PARTITIONS = (3, 12, 48)


def run(lab: Lab) -> None:
    records, partitions = (1_000, PARTITIONS[:2]) if lab.short else (20_000, PARTITIONS)
    times = np.arange(records) * 1000 / PER_SECOND
    expected = {
        count: paced.predict(times, paced.ROUND_ROBIN, count, 100, LibrdkafkaSettings())
        for count in partitions
    }
    more = "requests with 48 partitions, of those with 3"
    batches, at_once = paced.predict_five(paced.ROUND_ROBIN)
    lab.predict({"five records: batches of": batches, "five records: leave at once": at_once})
    if not lab.short:  # a machine that is busy with other tests does not keep the pace
        lab.predict({more: Between(1.5, unit=" times")})
    batches, left = paced.five(lab, paced.ROUND_ROBIN, at_once)
    lab.saw("five records: batches of", batches)
    lab.saw("five records: leave at once", left)
    sent = {count: paced.send(lab, paced.ROUND_ROBIN, count, records, PER_SECOND, {}) for count in partitions}
    if not lab.short:
        lab.saw(more, sent[48].requests / sent[3].requests)
    most = max(result.requests for result in sent.values())
    lab.picture = Picture(f"Round robin: requests for {records:,} records, {PER_SECOND:,} a second")
    for count, result in sent.items():
        lab.figure(f"{count} partitions: requests", expected[count].requests, result.requests)
        lab.figure(f"{count} partitions: median wait, ms", expected[count].latency_ms([50])[0], result.p50_ms)
        text = f"{result.requests:,}; median {result.p50_ms:.1f} ms"
        lab.picture.figure(f"{count} partitions", result.requests, most, text, 1)
