"""Makes `copartition/migrate/walks.json`, by which `copartition migrate` decides, of the walks' outcomes."""

from __future__ import annotations

import json
from typing import Any

Json = dict[str, Any]


def rows(measured: dict[str, Json]) -> list[Json]:
    """Return one row for each kind of group, way and manner, whatever the version and the generation.

    A row lists the versions of the brokers, how many groups went this way, how many of them came through,
    and what went wrong in the first of the others.
    """
    found: dict[tuple[Any, ...], list[Json]] = {}
    for _, walked in sorted(measured.items()):
        way = (walked["before"], *walked["via"], walked["after"])
        found.setdefault((tuple(walked["clients"]), way, walked["how"]), []).append(walked)
    return [
        {
            "clients": list(clients),
            "way": list(way),
            "how": how,
            "kafka": sorted({walked["kafka"] for walked in walks}),
            "groups": len(walks),
            "lived": sum(walked["fault"] is None for walked in walks),
            "fault": next((walked["fault"] for walked in walks if walked["fault"] is not None), None),
        }
        for (clients, way, how), walks in sorted(found.items())
    ]


def table(measured: dict[str, Json]) -> str:
    """Return the rows as JSON, a row a line."""
    return "[\n" + ",\n".join(map(json.dumps, rows(measured))) + "\n]\n"
