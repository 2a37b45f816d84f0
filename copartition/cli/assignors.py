"""`copartition assignors`."""

from __future__ import annotations

import click

from copartition.cli.shell import HELP, QuietCommand, output_options, print_strategies


@click.command(cls=QuietCommand, context_settings=HELP)
@output_options("text", "json")
def assignors(
    *,
    form: str,
    color: str,
    width: int | None,
    verbose: bool,  # noqa: ARG001 - read by QuietCommand
) -> None:
    """Assignors by name, plug-ins included."""
    from assignors import list_assignors  # noqa: PLC0415 - help does without

    print_strategies(list_assignors(), form, color, width)
