"""Report on the migration of all groups of a cluster: a row for each group, first those without a way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

from copartition.deploys.answer import UNIT, stops_json
from copartition.kit.evidence import Missing
from copartition.kit.json import dump
from copartition.kit.words import count, list_names

if TYPE_CHECKING:
    from rich.console import Console

    from assignors.state import GroupState
    from copartition.deploys.answer import Stops
    from copartition.migrate.migration import Migration
    from partitioning.errors import SourceError

FORMAT_VERSION = "1.0"
"""Version of the JSON document: a minor version adds fields and renames none."""
_NAMED = 5
"""The most settings that a row names; JSON has all."""


class GroupMigration(NamedTuple):
    """A group of the cluster, its migration, and what the bounces stop; see `Migration` and `Stops`.

    Attributes:
        name: the group's name in the cluster.
        state: the group as its coordinator describes it, before any bounce.
        migration: the bounces, or why there are none.
        stops: what the bounces stop; `Missing` if it cannot be known, None if nothing is restarted or only
            some of the members are.
    """

    name: str
    state: GroupState
    migration: Migration
    stops: Stops | Missing | None

    @property
    def is_unknown(self) -> bool:
        """True if the sources do not show whether anything must change."""
        return isinstance(self.migration.ground, Missing)

    @property
    def way(self) -> str:
        """The way in words: "unknown", "stop all", "no way", "nothing to do", or the number of bounces."""
        if self.is_unknown:
            return "unknown"
        if self.migration.obstacle is not None:
            return "no way" if self.migration.stop is None else "stop all"
        bounces = len(self.migration.bounces)
        # A group of both protocols needs a bounce of only some members, which the number alone would not
        # say.
        half_way = ", half-way" if self.migration.remaining else ""
        return f"{count(bounces, 'bounce')}{half_way}" if bounces else "nothing to do"

    @property
    def removed(self) -> list[str]:
        """The settings that members lose on the way, sorted."""
        names = {
            name
            for bounce in self.migration.bounces
            for settings in bounce.settings.values()
            for name, value in settings.items()
            if value is None
        }
        return sorted(names)

    @property
    def rank(self) -> tuple[int, str]:
        """The sort key of the report: groups without a rolling way, unknown ones, others; then by name."""
        blocked = self.migration.obstacle is not None
        return 0 if blocked else 1 if self.is_unknown else 2 if self.migration.bounces else 3, self.name


def migrations_exit_code(groups: Sequence[GroupMigration], unread: Mapping[str, SourceError]) -> int:
    """Return 1 if there is no rolling way for a group, else 2 if a group is unknown or not read, else 0.

    If the cluster shows no group, the code is 2, too, as for `overview_exit_code` of doctor.

    Args:
        groups: the groups that were read.
        unread: name of each group that could not be read -> the error.
    """
    if any(group.migration.obstacle is not None for group in groups):
        return 1
    # Brokers leave out groups that a user may not DESCRIBE, so an empty list is no sign of an empty cluster.
    return 2 if unread or not groups or any(group.is_unknown for group in groups) else 0


def migrations_json(groups: Sequence[GroupMigration], unread: Mapping[str, SourceError]) -> str:
    """Return the JSON document: the migration of each group, and why the other groups were not read.

    Args:
        groups: the groups that were read, in the order of the report.
        unread: name of each group that could not be read -> the error.
    """
    return dump(
        {
            "format_version": FORMAT_VERSION,
            "kind": "migrate-groups",
            "groups": [_group(group) for group in groups],
            "unread": [{"group": name, "why": str(error)} for name, error in unread.items()],
        }
    )


def _group(group: GroupMigration) -> dict[str, Any]:
    """Return a group for the JSON document."""
    state = group.state
    return {
        "group": group.name,
        "protocol": state.protocol,
        "strategy": state.strategy,
        "members": len(state.members),
        "way": group.way,
        **migration_document(group.migration, group.stops),
    }


def migration_document(migration: Migration, stops: Stops | Missing | None) -> dict[str, Any]:
    """Return a migration and what it stops as JSON has them; `stops` is null if nothing is restarted.

    Args:
        migration: the migration, of which each attribute becomes a field.
        stops: what the bounces stop, as in `GroupMigration`.

    Returns:
        Values that JSON has. If the figures cannot be known, `stops` is null and `stops_missing` says what is
        missing and how to learn it.
    """
    missing = stops if isinstance(stops, Missing) else None
    figures = None if stops is None or isinstance(stops, Missing) else stops_json(stops)
    return {**asdict(migration), "stops": figures, "stops_missing": missing and asdict(missing)}


def print_migrations(
    groups: Sequence[GroupMigration], unread: Mapping[str, SourceError], console: Console
) -> None:
    """Print a row for each group, then what is in the way of groups, what changes, and what is assumed.

    Args:
        groups: the groups that were read, in the order of the report.
        unread: name of each group that could not be read -> the error.
        console: where to print; control characters in names are made visible.
    """
    from copartition.kit.grid import Grid, GridColumn, cell, note  # noqa: PLC0415 - JSON needs no rich

    online = sum(group.migration.obstacle is None and not group.is_unknown for group in groups)
    head = count(len(groups) + len(unread), "group"), f"{online} can go online", f"{len(unread)} not read"
    console.print(cell("   ".join(head), "bold"))
    titles = [
        GridColumn("GROUP", "name"),
        *(GridColumn(title, "word") for title in ("PROTOCOL", "STRATEGY")),
        GridColumn("MEMBERS"),
        *(GridColumn(title, "word") for title in ("WAY", "PARTITION-SECONDS")),
        GridColumn("TAKE OUT", "list"),
    ]
    if groups:
        console.print(Grid(titles, [_row(group) for group in groups]))
    for group in groups:
        for text in _remarks(group):
            console.print(note(f"{group.name}: {text}", "yellow"))
    for name, error in unread.items():
        console.print(note(f"{name}: {error}", "yellow"))
    if any(group.stops is not None for group in groups):
        console.print(note(UNIT))
    # Most groups are read in the same way and share their assumptions, so each assumption is printed once.
    for text in dict.fromkeys(text for group in groups for text in _assumptions(group)):
        console.print(note(f"assumed: {text}"))


def _row(group: GroupMigration) -> tuple[str, ...]:
    """Return the cells of a group; partition-seconds are empty if nothing is restarted."""
    stops = group.stops
    known = "" if stops is None or isinstance(stops, Missing) else stops.partition_seconds.digits
    # An empty cell says that nothing is restarted, so unknown figures need a word.
    seconds = "unknown" if isinstance(stops, Missing) else known
    return (
        group.name,
        group.state.protocol or "unknown",
        group.state.strategy or "unknown",
        str(len(group.state.members)),
        group.way,
        seconds,
        list_names(group.removed, _NAMED) if group.removed else "",
    )


def _remarks(group: GroupMigration) -> list[str]:
    """Return why no rolling bounce leads there, what helps instead, what is unknown, and what else changes.

    Remarks that do not apply are left out. The order puts the reason before the remedy.
    """
    migration, ground = group.migration, group.migration.ground
    unknown = f"{ground.what}; {ground.remedy}" if isinstance(ground, Missing) else None
    return [text for text in (migration.obstacle, migration.instead, unknown, migration.warning) if text]


def _assumptions(group: GroupMigration) -> list[str]:
    """Return the assumptions of the migration, and of the figures of its bounces."""
    ground, stops = group.migration.ground, group.stops
    own = [] if isinstance(ground, Missing) else [*ground.assumed]
    return own if stops is None or isinstance(stops, Missing) else [*own, *stops.ground.assumed]
