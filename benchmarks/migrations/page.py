"""The page of the walks: what became of each way, and what `copartition migrate` says of it."""

from __future__ import annotations

from typing import Any

from benchmarks.migrations.table import rows
from copartition.migrate.migration import plan_migration
from partitioning.errors import MigrationError

Json = dict[str, Any]

_HEAD = """# Ways from one strategy to another

`python -m benchmarks.migrations` walks ways between strategies with three real members on real brokers: they
are replaced by members with the settings that `copartition migrate` prints, and after every replacement all
of them have to live, hear of no error and share all partitions. `copartition migrate` decides by what became
of them (`copartition/migrate/walks.json`). `--compare` writes this page and that file again from
`migrations/measured.json`.

- **rolling**: one member leaves, then one with the new settings comes. **surge**: one comes, then one leaves.
  **slow**: one leaves, the others share its partitions, then one comes. **stop**: all leave, then all come.
- Of the groups of one client that were to be converted to the consumer protocol (KIP-848) half were in their
  first generation, in which all members had joined at once; in all other groups they joined one by one.
- Members of a mixture take turns, and the client that is named first led when the first member was replaced.
- Clients: Java 4.3.1, librdkafka 2.16.0, kafka-python 3.0.12, aiokafka 0.14.0. The last two assign with
  their own assignors.
- Before the first bounce to the consumer protocol, members of Java and librdkafka have the timeouts set that
  have to go. In most walks on 4.3.1 in which members joined one by one they do not: these are of an earlier
  run.

"""

_AGAIN = """
## Walked again

The tables have the last walk of each group. These were walked before, and something went wrong then that did
not happen again:

"""

_TITLES = (
    "| ways | replaced | Kafka | groups that lived | what happened to the first of the others | `migrate` |\n"
    "|---|---|---|--:|---|---|\n"
)


def page(measured: dict[str, Json]) -> str:
    """Return the page, one table a kind of group."""
    found = rows(measured)
    safe = [row for row in found if row["how"] == "rolling" and _says(row) == "safe"]
    lived, groups = (sum(row[key] for row in safe) for key in ("lived", "groups"))
    refused = sum(row["groups"] for row in found) - groups
    parts = [
        _HEAD,
        f"**{lived} of {groups} groups came through that went a way which `migrate` calls safe**; ",
        f"{refused} others went another way.\n",
    ]
    for clients in dict.fromkeys(tuple(row["clients"]) for row in found):
        parts.append(f"\n## {' and '.join(clients)}\n\n{_TITLES}")
        parts += [_line(row) for row in found if tuple(row["clients"]) == clients]
    again = [
        (name, walked)
        for name, walked in measured.items()
        if walked.get("earlier") and walked["fault"] is None
    ]
    if again:
        parts.append(_AGAIN)
        parts += [f"- {name}: {'; '.join(walked['earlier'])}\n" for name, walked in sorted(again)]
    return "".join(parts)


def _line(row: Json) -> str:
    way = ", then ".join(row["way"][1:])
    lived = f"{row['lived']} of {row['groups']}"
    cells = [f"{row['way'][0]} to {way}", row["how"], ", ".join(row["kafka"]), lived, row["fault"] or ""]
    return f"| {' | '.join(cell.replace('|', '/') for cell in [*cells, _says(row)])} |\n"


def _says(row: Json) -> str:
    """Return what `migrate` says of a way: safe, another way, only this stop, or none."""
    before, after = row["way"][0].split(","), row["way"][-1].split(",")
    try:
        migration = plan_migration(before, after, clients=row["clients"])
    except MigrationError:
        return ""
    if migration.stop is not None:
        return "only a stop" if row["how"] == "stop" else "no"
    if migration.obstacle is not None:
        return "no"
    said = [",".join(bounce.strategies) for bounce in migration.bounces]
    if said == row["way"][1:]:
        return "safe" if row["how"] == "rolling" else "a rolling bounce instead"
    return f"{', then '.join(said)} instead"
