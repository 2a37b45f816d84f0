"""What commands that read topics share: which records to read."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from copartition.topics.audit.reading import Selection

_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_MOST = 1_000_000


class Wanted(NamedTuple):
    """Which records of topics to read, as options say.

    Attributes:
        full: every record.
        last: so many offsets at the end of each partition.
        since_ms: records from this time on.
        partitions: these only; None for all.
        committed: leave out records of transactions that are open or were aborted.
    """

    full: bool
    last: int | None
    since_ms: int | None
    partitions: tuple[int, ...] | None
    committed: bool

    @property
    def selection(self) -> Selection:
        """The same for a reader."""
        from copartition.topics.audit.reading import Selection  # noqa: PLC0415 - needs the extra "kafka"

        return Selection(self.full, self.last, self.since_ms, self.partitions)


def reading_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options --full, --last, --since, --partitions and --isolation, got as one argument, `wanted`."""

    @wraps(command)
    def wanting(
        *args: Any,
        full: bool,
        last: int | None,
        since: int | None,
        partitions: tuple[int, ...] | None,
        isolation: str,
        **options: Any,
    ) -> None:
        if full + (last is not None) + (since is not None) > 1:
            raise click.UsageError("of --full, --last and --since give one")
        committed = isolation == "read-committed"
        command(*args, wanted=Wanted(full, last, since, partitions, committed), **options)

    for option in (
        click.option(
            "--isolation",
            type=click.Choice(["read-uncommitted", "read-committed"]),
            default="read-uncommitted",
            show_default=True,
            help="Whether records of open and aborted transactions count.",
        ),
        click.option("--partitions", callback=_partitions, metavar="0,3-5", help="Read these only."),
        click.option(
            "--since",
            callback=_since,
            metavar="TIME",
            help="Read what was written since, 2026-01-31T12:00 in UTC.",
        ),
        click.option(
            "--last", type=click.IntRange(1), metavar="N", help="Read the last N offsets of each partition."
        ),
        click.option("--full", is_flag=True, help="Read every record, not a sample."),
    ):
        wanting = option(wanting)
    return wanting


def _partitions(ctx: click.Context, option: click.Parameter, text: str | None) -> tuple[int, ...] | None:
    """0,3-5 as numbers."""
    if text is None:
        return None
    numbers: list[int] = []
    for part in text.split(","):
        found = _RANGE.fullmatch(part.strip())
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if last < first or last > _MOST:
            raise click.BadParameter(f"{part!r} is no partition and no range such as 3-5", ctx, option)
        numbers.extend(range(first, last + 1))
    return tuple(numbers)


def _since(ctx: click.Context, option: click.Parameter, text: str | None) -> int | None:
    """A time as milliseconds since 1970; one without a zone is UTC."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is no time such as 2026-01-31T12:00", ctx, option) from None
    if found.tzinfo is None:
        found = found.replace(tzinfo=UTC)
    return int(found.timestamp() * 1000)
