"""The producer's delivery models beside real producers and brokers: `python -m benchmarks.delivery`.

Results go to `measured.json` after every cell, in the place of those of the same cell, and, beside what the
models say, to `benchmarks/delivery.md`. Arguments choose parts; with `--compare` only the page is made again.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.delivery import brokers_down, cells, transactions
from benchmarks.delivery.page import page
from benchmarks.delivery.producers import PRODUCERS
from tests.support.broker import Broker, Kafka
from tests.support.proxy import Proxy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from benchmarks.delivery.producers import Sending
    from copartition.models import DeliveryResult
    from copartition.models.producer.tuning import Client

Json = dict[str, Any]

MEASURED = Path(__file__).parent / "measured.json"
PAGE = Path(__file__).parents[1] / "delivery.md"


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.delivery", description=__doc__)
    options.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all without any")
    options.add_argument("--compare", action="store_true", help="only make the page again")
    chosen = options.parse_args()
    producers = {} if chosen.compare else {client: made() for client, made in PRODUCERS.items()}
    for part in producers and (chosen.parts or PARTS):
        for row in PARTS[part](producers):
            print(json.dumps(row), flush=True)
            save({_key(measurement): measurement for measurement in [*read_saved(), row]})
    for producer in producers.values():
        producer.close()
    PAGE.write_text(page(read_saved()))


def requests(producers: Mapping[Client, Sending]) -> Iterator[Json]:
    """Faults of single requests."""
    with Proxy() as proxy, Broker(proxy.listeners) as broker:
        kafka = Kafka(broker.bootstrap_servers)
        for cell in cells.cells():
            producer = producers[cell.client]
            yield _row(cell, producer, broker, cells.measure(cell, producer, proxy, kafka))


def in_transactions(_: Mapping[Client, Sending]) -> Iterator[Json]:
    """Faults of transactions."""
    with Proxy() as proxy, Broker(proxy.listeners) as broker:
        kafka = Kafka(broker.bootstrap_servers)
        for name in transactions.CELLS:
            yield {"transaction": name, "kafka": broker.version, **transactions.measure(name, proxy, kafka)}


def pause_broker(producers: Mapping[Client, Sending]) -> Iterator[Json]:
    """A broker that stands still."""
    with Broker() as broker:
        for cell in brokers_down.cells():
            if cell.fault == brokers_down.PAUSED:
                producer = producers[cell.client]
                yield _row(cell, producer, broker, brokers_down.measure_paused(cell, producer, broker))


def kill_leaders(producers: Mapping[Client, Sending]) -> Iterator[Json]:
    """Leaders that are killed."""
    with Broker(brokers_down.SETTINGS, racks=brokers_down.NODES) as broker:
        for cell in brokers_down.cells():
            if cell.fault != brokers_down.PAUSED:
                producer = producers[cell.client]
                yield _row(cell, producer, broker, brokers_down.measure_killed(cell, producer, broker))


PARTS: dict[str, Callable[[Mapping[Client, Sending]], Iterator[Json]]] = {
    "requests": requests,
    "transactions": in_transactions,
    "paused": pause_broker,
    "killed": kill_leaders,
}


def _row(cell: cells.Cell, producer: Sending, broker: Broker, result: DeliveryResult) -> Json:
    return {
        "client": cell.client,
        "version": producer.version,
        "kafka": broker.version,
        "fault": cell.fault,
        "settings": asdict(cell.settings),
        "log": result.log,
        "outcomes": [outcome.value for outcome in result.outcomes],
    }


def read_saved() -> list[Json]:
    """What was measured."""
    return json.loads(MEASURED.read_text()) if MEASURED.exists() else []


def save(rows: Mapping[str, Json]) -> None:
    """Write a cell a line, so that a changed cell is a changed line."""
    MEASURED.write_text("[\n" + ",\n".join(map(json.dumps, rows.values())) + "\n]\n")


def _key(row: Json) -> str:
    return json.dumps([row.get(name) for name in ("transaction", "client", "fault", "settings")])


if __name__ == "__main__":
    main()
