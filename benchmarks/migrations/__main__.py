"""Ways that `copartition migrate` calls safe, walked by real groups: `python -m benchmarks.migrations`.

Three members of each kind of client, and of two mixtures, restart one after the other with the settings that
`migrate` names; after every restart all of them have to live and to share all partitions. What became of each
way is `measured.json`, and `benchmarks/migrations.md` the table of it. With `--compare` no broker is needed.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from pathlib import Path
from typing import Any

from benchmarks.migrations.page import page
from benchmarks.migrations.walking import Walk, walk
from copartition.migrate.migration import Migration, plan_migration
from partitioning.errors import MigrationError
from tests.support.broker import Broker, Kafka

MEASURED = Path(__file__).parent / "measured.json"
PAGE = Path(__file__).parents[1] / "migrations.md"
GROUPS = [
    ("java",),
    ("librdkafka",),
    ("kafka-python",),
    ("aiokafka",),
    ("java", "librdkafka"),
    ("java", "kafka-python"),
]
STRATEGIES = ["range", "roundrobin", "sticky", "cooperative-sticky", "uniform", "broker-range"]


def ways(groups: list[tuple[str, ...]]) -> dict[Walk, Migration]:
    """Every way that these clients can be asked for, and what `migrate` says of it."""
    found = {}
    for clients in groups:
        for before, after in permutations(STRATEGIES, 2):
            try:
                migration = plan_migration([before], [after], clients=clients)
            except MigrationError:  # no member can have the first one
                continue
            found[Walk(clients, before, after)] = migration
    return found


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.migrations", description=__doc__)
    options.add_argument("--only", action="append", help="clients with + between, such as java+librdkafka")
    options.add_argument("--at-a-time", type=int, default=3, help="groups that run side by side")
    options.add_argument("--compare", action="store_true", help="only write the page again")
    chosen = options.parse_args()
    found = ways([each for each in GROUPS if chosen.only is None or "+".join(each) in chosen.only])
    measured = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    if not chosen.compare:
        measured |= _walk_all(found, chosen.at_a_time)
        lines = (f"{json.dumps(name)}: {json.dumps(measured[name])}" for name in sorted(measured))
        MEASURED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    PAGE.write_text(page(ways(GROUPS), measured))


def _walk_all(found: dict[Walk, Migration], at_a_time: int) -> dict[str, dict[str, Any]]:
    safe = [way for way, migration in found.items() if migration.obstacle is None]
    with (
        tempfile.TemporaryDirectory(prefix="migrations-") as folder,
        Broker("") as broker,
        ThreadPoolExecutor(at_a_time) as side_by_side,
    ):
        kafka = Kafka(broker.bootstrap_servers)

        def one(way: Walk) -> dict[str, Any]:
            walked = walk(way, found[way], kafka, Path(folder))
            print(way.name, walked["fault"] or "safe", flush=True)
            return walked

        return {way.name: each for way, each in zip(safe, side_by_side.map(one, safe), strict=True)}


if __name__ == "__main__":
    main()
