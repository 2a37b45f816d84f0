"""batch.size, linger.ms and the buffer: requests are saved by waiting, and a full buffer stops the sender.

Which batches a burst becomes; what waiting saves in requests at an even pace; and what happens where records
come faster than they can leave: librdkafka refuses at once, Java waits for max.block.ms.
"""

from __future__ import annotations

import numpy as np
from confluent_kafka import Producer

from copartition.models import BatchingSettings, BrokerTimes, LibrdkafkaSettings, simulate_batching
from examples.labs.kit import Between, Lab, Picture, paced

SIZES = (4_096, 16_384, 65_536)
LINGERS = (0, 5, 50)
BURST, VALUE = 500, 500
QUEUE = 100
PER_SECOND = 5_000


def run(lab: Lab) -> None:
    records = 1_000 if lab.short else 10_000
    settings = {size: {"queue_buffering_max_ms": paced.LINGER_MS, "batch_size": size} for size in SIZES}
    burst = {
        size: paced.predict(np.zeros(BURST), paced.ROUND_ROBIN, 1, VALUE, LibrdkafkaSettings(**config))
        for size, config in settings.items()
    }
    times = np.arange(records) * 1000 / PER_SECOND
    paces = {
        linger: paced.predict(
            times, paced.ROUND_ROBIN, 3, 100, LibrdkafkaSettings(queue_buffering_max_ms=linger)
        )
        for linger in LINGERS
    }
    saving = "requests with linger.ms=0, of those with 50"
    taken = f"records that a queue of {QUEUE} takes, then BufferError"
    lab.predict(
        {f"a burst of {BURST}, batch.size={size:,}: batches": burst[size].requests for size in SIZES}
        | {taken: QUEUE}
        # A machine that is busy with other tests does not keep the pace.
        | ({} if lab.short else {saving: Between(1.5, unit=" times")})
    )
    java(lab)
    for size in SIZES:
        lab.saw(f"a burst of {BURST}, batch.size={size:,}: batches", bursts(lab, size))
    lab.saw(taken, fill(lab))
    sent = {
        linger: paced.send(lab, paced.ROUND_ROBIN, 3, records, PER_SECOND, {"linger.ms": linger})
        for linger in LINGERS
    }
    if not lab.short:
        lab.saw(saving, sent[0].requests / sent[50].requests)
    most = max(result.requests for result in sent.values())
    lab.picture = Picture(f"{records:,} records, {PER_SECOND:,} a second: requests, and the median wait")
    for linger, result in sent.items():
        lab.figure(f"linger.ms={linger}: requests", paces[linger].requests, result.requests)
        lab.figure(f"linger.ms={linger}: median wait, ms", paces[linger].latency_ms([50])[0], result.p50_ms)
        text = f"{result.requests:,}; {result.p50_ms:.1f} ms"
        lab.picture.figure(f"linger.ms={linger}", result.requests, most, text, LINGERS.index(linger))


def java(lab: Lab) -> None:
    """What the model says of Java's producer, whose send() waits where the buffer is full."""
    rows = []
    for block in (1_000, 60_000):
        result = simulate_batching(
            np.zeros(200),
            VALUE,
            np.zeros(200, int),
            leaders=[0],
            brokers=[BrokerTimes(latency_ms=2_000)],
            settings=BatchingSettings(batch_size=4_096, buffer_memory=16_384, max_block_ms=block),
        )
        rows.append((block, result.timed_out, result.blocked_ms / 1000))
    columns = ("max.block.ms", "records refused with TimeoutException", "seconds that send() waited")
    lab.table("Java's producer in the model: 200 records at once, a buffer for 4 batches", columns, rows)


def bursts(lab: Lab, size: int) -> int:
    """Batches that a burst becomes; the last one leaves as the producer is flushed."""
    topic = lab.topic()
    producer = Producer(lab.servers | {"linger.ms": paced.LINGER_MS, "batch.size": size})
    for _ in range(BURST):
        producer.produce(topic, bytes(VALUE), partition=0)
    producer.flush(paced.PATIENCE_S)
    return len(paced.sizes(lab, topic, 1))


def fill(lab: Lab) -> int:
    """How many records librdkafka takes while none leaves; it never waits, so the caller has to."""
    settings = {"linger.ms": paced.LINGER_MS, "queue.buffering.max.messages": QUEUE}
    topic, producer = lab.topic(), Producer(lab.servers | settings)
    for number in range(2 * QUEUE):
        try:
            producer.produce(topic, b"", partition=0)
        except BufferError:
            producer.flush(paced.PATIENCE_S)
            return number
    return 2 * QUEUE
