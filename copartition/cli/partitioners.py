"""`copartition partitioners`."""

from __future__ import annotations

import click

from copartition.cli.shell import HELP, QuietCommand, output_options, print_strategies


@click.command(cls=QuietCommand, context_settings=HELP)
@output_options("text", "json")
def partitioners(
    *,
    form: str,
    color: str,
    width: int | None,
    verbose: bool,  # noqa: ARG001 - read by QuietCommand
) -> None:
    """Partitioners by name, plug-ins included."""
    from partitioning import list_partitioners  # noqa: PLC0415 - help does without

    print_strategies(list_partitioners(), form, color, width)
