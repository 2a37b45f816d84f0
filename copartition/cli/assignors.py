"""`copartition assignors`."""

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
        "copartition assignors",
    ),
)
@output_options("text", "json")
def assignors(output: Output) -> None:
    """Assignors by name, plug-ins included."""
    from assignors import list_assignors  # noqa: PLC0415 - help does without

    output.print_strategies(list_assignors())
