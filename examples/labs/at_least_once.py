"""An acknowledgement is lost between broker and producer: with retries a duplicate, with acks=0 a loss.

A proxy before the broker lets the fourth Produce request through and drops the answer. The producer cannot
know whether its batch was written, so it sends the batch again. With acks=0 there is no answer to miss: a
request that does not arrive is lost, and the producer never hears of it.
"""

from __future__ import annotations

from benchmarks.delivery.cells import BATCHES, Cell, classes, measure, predict, with_short_times
from benchmarks.delivery.producers import Librdkafka
from examples.labs.kit import Lab, Picture

PROXIED = True

CELLS = {
    "acks=all, answer lost": Cell(
        "librdkafka", with_short_times(enable_idempotence=False, acks="all"), "acknowledgement lost"
    ),
    "acks=1, answer lost": Cell(
        "librdkafka", with_short_times(enable_idempotence=False, acks="1"), "acknowledgement lost"
    ),
    "acks=0, request lost": Cell(
        "librdkafka", with_short_times(enable_idempotence=False, acks="0"), "request lost"
    ),
}
STRUCK = 3
"""The batch whose request or answer is lost; each batch holds one numbered record."""


def run(lab: Lab) -> None:
    assert lab.cluster.proxy
    predicted = {name: predict(cell) for name, cell in CELLS.items()}
    for name, result in predicted.items():
        found = classes(result)
        lab.predict(
            {
                f"{name}: what goes wrong": list(found),
                f"{name}: copies of record {STRUCK}": result.log.count(STRUCK),
            }
        )
    lab.picture = Picture(
        f"The log after {BATCHES} records, where a fault strikes record {STRUCK}", label=150
    )
    rows = []
    for name, cell in CELLS.items():
        result = measure(cell, Librdkafka(), lab.cluster.proxy, lab.cluster.kafka)
        found = classes(result)
        lab.saw(f"{name}: what goes wrong", list(found))
        lab.saw(f"{name}: copies of record {STRUCK}", result.log.count(STRUCK))
        lab.picture.cells(
            name,
            [(str(number), 5 if result.log.count(number) > 1 else 0) for number in result.log],
            f"lost: {' '.join(map(str, found['lost']))}" if "lost" in found else "",
        )
        told = sorted({outcome.value for outcome in result.outcomes})
        rows.append((name, predicted[name].log, result.log, told))
    lab.table(
        f"Records 0 to {BATCHES - 1} in the log",
        ("settings and fault", "predicted", "seen", "what callbacks said"),
        rows,
    )
