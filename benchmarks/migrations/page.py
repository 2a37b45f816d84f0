"""The table of ways: what `migrate` says of each, and what became of those that it calls safe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.migrations.walking import Walk
    from copartition.migrate.migration import Migration

_HEAD = """# Ways from one strategy to another

`python -m benchmarks.migrations` walks every way that `copartition migrate` calls safe, with three real
members on a real broker: one after the other restarts with the settings of each bounce, and after every
restart all three have to live, hear of no error and share all partitions. `--compare` writes this page again
from `migrations/measured.json`. kafka-python and aiokafka assign with their own assignors.

"""

_TITLES = "| from | to | `migrate` says | on a broker |\n|---|---|---|---|\n"


def page(ways: Mapping[Walk, Migration], measured: Mapping[str, Mapping[str, Any]]) -> str:
    """The page, one table a kind of group."""
    safe = [way for way, migration in ways.items() if migration.obstacle is None]
    walked = [measured[way.name]["fault"] for way in safe if way.name in measured]
    came_through = sum(fault is None for fault in walked)
    parts = [_HEAD, f"**{came_through} of {len(walked)} ways that are called safe came through**"]
    parts.append(f"; {len(ways) - len(safe)} are refused.\n")
    for clients in dict.fromkeys(way.clients for way in ways):
        parts.append(f"\n## {' and '.join(clients)}\n\n{_TITLES}")
        parts += [
            f"| {way.before} | {way.after} | {_in_words(migration)} | {_became(way, migration, measured)} |\n"
            for way, migration in ways.items()
            if way.clients == clients
        ]
    return "".join(parts)


def _in_words(migration: Migration) -> str:
    if migration.obstacle is not None:
        return f"no: {migration.obstacle}"
    return ", then ".join(",".join(bounce.strategies) for bounce in migration.bounces)


def _became(way: Walk, migration: Migration, measured: Mapping[str, Mapping[str, Any]]) -> str:
    if migration.obstacle is not None:
        return ""
    if way.name not in measured:
        return "not walked"
    return measured[way.name]["fault"] or "all lived"
