"""Ways from one strategy to another, walked by real groups: `python -m benchmarks.migrations`.

Three members of each kind of client, and of mixtures, are replaced one after the other with the settings that
`copartition migrate` names; after every restart all of them have to live and to share all partitions. What
became of each way is `measured.json`. From it come `benchmarks/migrations.md`, the table of it, and
`copartition/migrate/walks.json`, by which `copartition migrate` decides. `--compare` needs no broker.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.migrations.page import page
from benchmarks.migrations.table import table
from benchmarks.migrations.walking import walk
from benchmarks.migrations.walks import KAFKAS, Walk, all_walks
from tests.support.broker import Broker, Kafka

MEASURED = Path(__file__).parent / "measured.json"
PAGE = Path(__file__).parents[1] / "migrations.md"
TABLE = Path(__file__).parents[2] / "copartition" / "migrate" / "walks.json"
SETTINGS = "group.initial.rebalance.delay.ms=3000\ngroup.consumer.session.timeout.ms=45000\n"
"""All members that start together are in the first generation, and a busy machine loses no member."""
COORDINATOR_TELLS = "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.coordinator.group=info"


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.migrations", description=__doc__)
    options.add_argument("--only", default="", help="only walks whose name has this in it, again, too")
    options.add_argument("--missing", action="store_true", help="only walks that are not in measured.json")
    options.add_argument("--at-a-time", type=int, default=3, help="groups that run side by side")
    options.add_argument("--compare", action="store_true", help="only write page and table again")
    chosen = options.parse_args()
    measured: dict[str, dict[str, Any]] = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    walks = [way for way in all_walks() if chosen.only in way.name]
    walks = [way for way in walks if not (chosen.missing and way.name in measured)]
    if not chosen.compare:
        _walk_all(walks, measured, chosen.at_a_time)
    TABLE.write_text(table(measured))  # by which `migrate` decides what the page says of it
    PAGE.write_text(page(measured))


def _walk_all(walks: list[Walk], measured: dict[str, dict[str, Any]], at_a_time: int) -> None:
    """Walk these ways, and write down what became of each as soon as it is over."""
    lock = threading.Lock()
    with (
        tempfile.TemporaryDirectory(prefix="migrations-") as folder,
        ExitStack() as running,
        ThreadPoolExecutor(at_a_time) as side_by_side,
    ):
        versions = [kafka for kafka in KAFKAS if any(way.kafka == kafka for way in walks)]
        brokers = {
            kafka: running.enter_context(Broker(SETTINGS, [COORDINATOR_TELLS], version=kafka))
            for kafka in versions
        }
        clusters = {kafka: Kafka(broker.bootstrap_servers) for kafka, broker in brokers.items()}

        def one(way: Walk) -> None:
            walked = walk(way, clusters[way.kafka], Path(folder), brokers[way.kafka].logs[0])
            print(
                way.name, walked["generation"], walked["fault"] or "lived", walked["others"] or "", flush=True
            )
            before = measured.get(way.name, {})
            faults = [*before.get("earlier", []), before.get("fault")]
            walked["earlier"] = [fault for fault in faults if fault is not None]
            with lock:
                measured[way.name] = walked
                lines = (f"{json.dumps(name)}: {json.dumps(measured[name])}" for name in sorted(measured))
                MEASURED.write_text("{\n" + ",\n".join(lines) + "\n}\n")

        for done in [side_by_side.submit(one, way) for way in walks]:
            done.result()


if __name__ == "__main__":
    main()
