"""Where the time of a task of Spark's sink goes, without Spark: its rows, and a small exactly-once task.

Run it with `python -m benchmarks.sink_task`: it prints the tables of `benchmarks/records.md`.
"""

from __future__ import annotations

import hashlib
import statistics
import time
from collections import deque
from dataclasses import replace
from itertools import repeat, starmap
from typing import TYPE_CHECKING, Any

import confluent_kafka
import numpy as np
import pyarrow as pa

from partitioning import partition_batch
from spark_integration.columns import KEY, PROFILE
from spark_integration.sinks.delivery import deliver
from spark_integration.sinks.exactly_once import half_done, writing
from spark_integration.sinks.exactly_once.driver import prepare
from spark_integration.sinks.exactly_once.target import target_of
from spark_integration.sinks.options import read_sink_options
from spark_integration.sinks.placement import key_rule
from spark_integration.sinks.records import records
from tests.support.broker import Broker, Kafka

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PARTITIONS = 12
BATCH = 10_000
BATCHES = 9  # fewer records than librdkafka queues, so that no task waits for room
ROUNDS = 15
TASKS = 60
RULE = key_rule(None, None, {PROFILE: "java", KEY: "key"}, {"key", "value", "partition"})


def batches(*, routed: bool) -> list[pa.RecordBatch]:
    keys = [hashlib.sha256(b"%d" % row).hexdigest()[: 8 + row % 17] for row in range(BATCH * BATCHES)]
    places = partition_batch([key.encode() for key in keys], PARTITIONS)
    if routed:
        order = places.argsort(kind="stable")
        keys, places = [keys[row] for row in order], places[order]
    parts = [slice(begin, begin + BATCH) for begin in range(0, len(keys), BATCH)]
    value = pa.array(["x" * 80] * BATCH)
    return [
        pa.record_batch({"key": pa.array(keys[part]), "value": value, "partition": pa.array(places[part])})
        for part in parts
    ]


def thread_ns(call: Callable[[], Any]) -> float:
    begun = time.thread_time()
    call()
    return (time.thread_time() - begun) / (BATCH * BATCHES) * 1e9


def rows_of_a_task(servers: str, topic: str) -> None:
    config = read_sink_options({"bootstrap.servers": servers, "topic": topic}, {}).config
    counts = {topic: PARTITIONS}
    taken: dict[str, list[float]] = {}

    def note(what: str, call: Callable[[], Any]) -> None:
        taken.setdefault(what, []).append(thread_ns(call))

    def parts_of(kind: str, rows: Sequence[pa.RecordBatch]) -> None:
        note(f"{kind} | all", lambda: deliver(iter(rows), config, counts, topic, PARTITIONS, RULE))
        limits = np.full(BATCH, PARTITIONS, np.int32)
        note(
            f"{kind} | ours: keys hashed again and compared",
            lambda: [
                RULE and RULE.check(batch["key"], batch["partition"].to_numpy(), limits) for batch in rows
            ],
        )
        made: list[Any] = []
        note(
            f"{kind} | ours and Arrow's: rows checked, put in order, made `bytes`",
            lambda: made.extend(records(batch, counts, topic, PARTITIONS) for batch in rows),
        )
        producer = confluent_kafka.Producer(
            {**config, "delivery.report.only.error": True, "on_delivery": lambda *_: None}
        )
        producer.list_topics(topic)
        note(
            f"{kind} | confluent-kafka's and librdkafka's: `produce`",
            lambda: [
                deque(starmap(producer.produce, zip(*columns, strict=False)), maxlen=0) for columns in made
            ],
        )
        note(f"{kind} | confluent-kafka's and librdkafka's: reports", producer.flush)
        producer.close()
        note(f"{kind} | ours: objects freed", made.clear)
        note(
            f"{kind} | a call of C for each row", lambda: deque(starmap(dict, repeat((), BATCH * BATCHES)), 0)
        )

    kinds = {"unrouted": batches(routed=False), "routed": batches(routed=True)}
    for _ in range(ROUNDS):
        for kind, rows in kinds.items():
            parts_of(kind, rows)
    print("| rows | what | least, ns a row | median |\n|---|---|---|---|")
    for what, ns in taken.items():
        print(f"| {what} | {min(ns):.0f} | {statistics.median(ns):.0f} |")


class Stopwatch:
    """A client of confluent-kafka's whose calls are timed."""

    def __init__(self, client: Any, taken: dict[str, list[float]]) -> None:
        self._client, self._taken = client, taken

    def __len__(self) -> int:
        return len(self._client)

    def __getattr__(self, name: str) -> Any:
        return time_calls(getattr(self._client, name), name, self._taken)


def time_calls(call: Callable[..., Any], name: str, taken: dict[str, list[float]]) -> Callable[..., Any]:
    def run(*arguments: Any, **named: Any) -> Any:
        begun = time.perf_counter()
        try:
            return call(*arguments, **named)
        finally:
            taken.setdefault(name, []).append(1000 * (time.perf_counter() - begun))

    return run


def a_small_task(servers: str, topic: str) -> None:
    options = {"bootstrap.servers": servers, "topic": topic, "txnAppId": "bench", "txnVersion": "0"}
    target = prepare(target_of(read_sink_options(options, {}), PARTITIONS, None, stream=False))
    rows = pa.record_batch(
        {
            "key": pa.array([b"key"] * 100),
            "value": pa.array([b"x" * 80] * 100),
            "partition": pa.array([1] * 100, pa.int32()),
        }
    )
    taken: dict[str, list[float]] = {}
    vars(writing)["end_dropped"] = time_calls(half_done.end_dropped, "end_dropped", taken)
    module: Any = confluent_kafka
    for kind in ("Producer", "Consumer"):
        made = getattr(module, kind)
        setattr(module, kind, lambda config, made=made: Stopwatch(made(config), taken))
    processor = []
    for version in range(1 + TASKS):
        write = time_calls(writing.write_partition, "all", taken)
        begun = time.process_time()
        write([rows], replace(target, version=version), 1)
        processor.append(1000 * (time.process_time() - begun))
        if not version:
            taken.clear()  # the first task also waits for the coordinators to begin
    print("\n| call | least, ms | median | most |\n|---|---|---|---|")
    for name, ms in taken.items():
        if statistics.median(ms) >= 0.5:
            print(f"| `{name}` | {min(ms):.1f} | {statistics.median(ms):.1f} | {max(ms):.0f} |")
    print(f"CPU time of the process: {statistics.median(processor):.1f} ms a task")


def main() -> None:
    with Broker() as broker:
        kafka = Kafka(broker.bootstrap_servers)
        rows_of_a_task(broker.bootstrap_servers, kafka.create_topic(PARTITIONS))
        a_small_task(broker.bootstrap_servers, kafka.create_topic(PARTITIONS))


if __name__ == "__main__":
    main()
