"""`copartition profiles`."""

from __future__ import annotations

import click

from copartition.cli.shell import HELP, QuietCommand, output_options, print_rows


@click.command(cls=QuietCommand, context_settings=HELP)
@output_options("text", "json")
def profiles(
    *,
    form: str,
    color: str,
    width: int | None,
    verbose: bool,  # noqa: ARG001 - read by QuietCommand
) -> None:
    """Every client's rule for keys."""
    from partitioning.profiles import PROFILES  # noqa: PLC0415 - help does without

    columns = ("name", "hash", "null", "empty", "unkeyed", "client")
    rows = [{column: getattr(profile, column) for column in columns} for profile in PROFILES.values()]
    print_rows(rows, form, color, width)
