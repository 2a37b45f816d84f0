"""`copartition partitioners`."""

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
        "copartition partitioners -o json",
    ),
)
@output_options("text", "json")
def partitioners(output: Output) -> None:
    """Partitioners by name, plug-ins included."""
    from partitioning import list_partitioners  # noqa: PLC0415 - help does without

    output.print_strategies(list_partitioners())
