"""`copartition profiles`, `partitioners` and `assignors`: what there is by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from copartition.cli.options import output_options
from copartition.cli.shell import HELP, QuietCommand

if TYPE_CHECKING:
    from copartition.cli.shell import Output


@click.command(cls=QuietCommand, context_settings=HELP)
@output_options("text", "json")
def profiles(output: Output) -> None:
    """Every client's rule for keys."""
    from partitioning.profiles import PROFILES  # noqa: PLC0415 - help does without

    columns = ("name", "hash", "null", "empty", "unkeyed", "client")
    output.print_rows(
        [{column: getattr(profile, column) for column in columns} for profile in PROFILES.values()]
    )


@click.command(cls=QuietCommand, context_settings=HELP)
@output_options("text", "json")
def partitioners(output: Output) -> None:
    """Partitioners by name, plug-ins included."""
    from partitioning import list_partitioners  # noqa: PLC0415 - help does without

    output.print_strategies(list_partitioners())


@click.command(cls=QuietCommand, context_settings=HELP)
@output_options("text", "json")
def assignors(output: Output) -> None:
    """Assignors by name, plug-ins included."""
    from assignors import list_assignors  # noqa: PLC0415 - help does without

    output.print_strategies(list_assignors())
