"""librdkafka's producer at an even pace, as `PacedProducer` of tools/oracle/producer runs Java's.

Reads a JSON object a line, writes a report a line; latencies are librdkafka's own, from `produce()` on.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import numpy as np
from confluent_kafka import Message, Producer

PERCENTILES = (50, 95, 99)
WARM_UP_S = 1.5  # after the first writes to each partition, until statistics come once
INDEX_INTERVAL_BYTES = 4096  # each batch of this size gets an entry in the indexes; the first are slow


class PacedRun:
    """One run of a producer."""

    def __init__(self, case: dict[str, Any]) -> None:
        self._case = case
        self._latencies: list[float] = []
        self._requests = 0
        self._producer = Producer(
            {
                "bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"],
                "linger.ms": case["linger_ms"],
                "batch.size": case["batch_size"],
                "statistics.interval.ms": 500,
                "stats_cb": self._count,
            }
        )

    def report(self) -> dict[str, Any]:
        """Send the records; what became of them."""
        topic, value = self._case["topic"], bytes(self._case["value_bytes"])
        for _ in range(4):
            for partition in range(self._case["partitions"]):
                self._producer.produce(topic, bytes(INDEX_INTERVAL_BYTES), partition=partition)
            self._producer.flush()
        self._poll_for(WARM_UP_S)
        before = self._requests
        every = 1 / self._case["records_per_second"]
        start = time.perf_counter() + 0.05
        late = np.empty(self._case["records"])
        for record in range(len(late)):
            due = start + record * every
            while (left := due - time.perf_counter()) > 0:
                self._producer.poll(left - 0.0005 if left > 0.001 else 0)
            key = b"user-%05d" % (record * 7919 % 10007) if self._case["placement"] == "keyed" else None
            late[record] = time.perf_counter() - due
            self._producer.produce(topic, value, key, on_delivery=self._on_delivery)
        self._producer.flush()
        self._poll_for(WARM_UP_S)
        latency = np.percentile(self._latencies, PERCENTILES).round(3).tolist()
        return {
            "requests": self._requests - before,
            "latency_ms": dict(zip(("p50", "p95", "p99"), latency, strict=True)),
            "late_ms": {"p99": round(float(np.percentile(late, 99)) * 1000, 3)},
        }

    def _on_delivery(self, error: object, message: Message) -> None:
        if error is not None:
            raise RuntimeError(str(error))
        self._latencies.append(message.latency() * 1000)

    def _count(self, text: str) -> None:
        brokers = json.loads(text)["brokers"].values()
        self._requests = sum(broker["req"].get("Produce", 0) for broker in brokers)

    def _poll_for(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._producer.poll(left)


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(PacedRun(json.loads(line)).report()), flush=True)
