"""Groups of commands: listed under headings, each command loaded when it is called."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from copartition.cli.shell import QuietCommand

if TYPE_CHECKING:
    from collections.abc import Mapping


def examples(*commands: str) -> str:
    """The end of a help text: commands that people run."""
    return "\b\nExamples:\n" + "\n".join(f"  {command}" for command in commands)


class Verbs(QuietCommand, click.Group):
    """Commands under headings; a list of them imports none.

    Args:
        sections: for each heading, the commands with what the list says of each. A command's module in
            `copartition.cli` has its name.
    """

    def __init__(self, *args: Any, sections: Mapping[str, Mapping[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sections = sections

    def list_commands(self, ctx: click.Context | None) -> list[str]:  # noqa: ARG002 - click's interface
        """All names, in the order of the headings."""
        return [name for section in self.sections.values() for name in section]

    def get_command(self, ctx: click.Context | None, cmd_name: str) -> click.Command | None:
        """Import a command; None where there is none of the name."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = getattr(import_module(f"copartition.cli.{cmd_name}"), cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's, but an unknown command's error names those that are spelled like it."""
        if args and not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            near = get_close_matches(args[0], self.list_commands(ctx), n=2)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise click.UsageError(f"No such command '{args[0]}'{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write every heading with its commands, all in one column."""
        longest = max(map(len, self.list_commands(None)))
        for heading, commands in self.sections.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(longest), text) for name, text in commands.items()])
