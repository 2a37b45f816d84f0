"""`copartition profiles`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from copartition.cli.options import output_options
from copartition.cli.shell import HELP, QuietCommand
from copartition.cli.verbs import examples

if TYPE_CHECKING:
    from copartition.cli.shell import Output


@click.command(
    cls=QuietCommand,
    context_settings=HELP,
    epilog=examples(
        "copartition profiles",
    ),
)
@output_options("text", "json")
def profiles(output: Output) -> None:
    """Every client's rule for keys."""
    from partitioning.profiles import PROFILES  # noqa: PLC0415 - help does without

    columns = ("name", "hash", "null", "empty", "unkeyed", "client")
    output.print_rows(
        [{column: getattr(profile, column) for column in columns} for profile in PROFILES.values()]
    )
