"""`copartition completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from copartition.cli.shell import HELP, QuietCommand, write

PROGRAMS = ("copartition", "assignment-diff")


EXAMPLES = """\b
Where it goes:
  bash: copartition completion bash >> ~/.bashrc
  zsh:  copartition completion zsh >> ~/.zshrc
  fish: copartition completion fish > ~/.config/fish/completions/copartition.fish
"""


@click.command(cls=QuietCommand, context_settings=HELP, epilog=EXAMPLES)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """A script that lets SHELL complete commands and options of copartition and assignment-diff."""
    script = get_completion_class(shell)
    assert script is not None
    for name in PROGRAMS:
        variable = f"_{name}_COMPLETE".replace("-", "_").upper()
        write(script(ctx.find_root().command, {}, name, variable).source() + "\n")
