"""What all commands share: errors, colours, where the output goes."""

from __future__ import annotations

import io
import os
import re
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

import click

from assignors.errors import AssignorsError
from copartition.reports.visible import visible
from partitioning.errors import PartitioningError
from partitioning.kit.limits import MAX_REPORT_WIDTH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rich.console import Console

HELP = {"help_option_names": ["-h", "--help"]}

TROUBLE = 2

_PIPED_WIDTH = 1_000
"""Lines that nobody looks at in a terminal are not broken."""


class QuietCommand(click.Command):
    """A command whose errors are one line on stderr and exit code 2; -v adds the traceback."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Read the arguments; --help, --version and --schema print here."""
        path = f"{parent.command_path} {info_name}" if parent else str(info_name)
        with _told_in_a_line(path, verbose=not {"-v", "--verbose"}.isdisjoint(args)):
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run it."""
        with _told_in_a_line(ctx.command_path, verbose=bool(ctx.params.get("verbose"))):
            return super().invoke(ctx)


@contextmanager
def _told_in_a_line(path: str, *, verbose: bool) -> Iterator[None]:
    """Turn whatever goes wrong into a line, and into exit code 2."""
    try:
        yield
    except (click.exceptions.Exit, click.exceptions.NoArgsIsHelpError):
        raise
    except (KeyboardInterrupt, click.Abort):
        what = "interrupted"
    except click.ClickException as error:
        what = error.format_message()
        if isinstance(error, click.UsageError) and not isinstance(error, click.BadParameter):
            what = f"{what.rstrip('.')}; see {path} --help"
    except Exception as error:  # noqa: BLE001 - whatever it is, the user gets a line and exit code 2
        expected = isinstance(error, AssignorsError | PartitioningError)
        if isinstance(error, OSError) and not expected:
            what = f"{error.filename or 'output'}: {error.strerror or error}"
            _discard(sys.stdout)
        else:
            if verbose:
                import traceback  # noqa: PLC0415 - few ask for it

                for line in traceback.format_exc().rstrip().split("\n"):
                    click.echo(visible(line), err=True)
            what = str(error) if expected else f"{error!r}; this is a bug, run it with -v and report it"
    else:
        return
    click.echo(f"{path}: {visible(what)}", err=True)
    raise click.exceptions.Exit(TROUBLE)


def complain(ctx: click.Context, what: str) -> None:
    """One line on stderr, whatever names are in it."""
    click.echo(f"{ctx.command_path}: {visible(what)}", err=True)


def _discard(stream: TextIO) -> None:
    """Let what a full disk did not take go nowhere, or the interpreter tries to write it again at its end."""
    with suppress(OSError, ValueError):  # a stream in memory has no descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def output_options(*formats: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The options -o, --color, --width and -v."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(
            (
                click.option(
                    "-o",
                    "--output",
                    "form",
                    type=click.Choice(formats),
                    default="text",
                    help="Format.",
                    show_default=True,
                ),
                click.option(
                    "--color",
                    type=click.Choice(["auto", "always", "never"]),
                    default="auto",
                    show_default=True,
                    help="Colours; auto honours NO_COLOR and FORCE_COLOR.",
                ),
                click.option(
                    "--width", type=click.IntRange(40, MAX_REPORT_WIDTH), help="Columns of text output."
                ),
                click.option("-v", "--verbose", is_flag=True, help="Show where an error comes from."),
            )
        ):
            command = option(command)
        return command

    return decorate


def schema_option(
    schema: Callable[[], Mapping[str, Any]],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The option --schema, which prints a JSON Schema, made only then, and ends the command."""

    def show(ctx: click.Context, option: click.Parameter, given: bool) -> None:  # noqa: ARG001
        if given and not ctx.resilient_parsing:
            from copartition.reports.data import dump  # noqa: PLC0415 - only --schema needs it

            write(dump(schema()))
            ctx.exit()

    return click.option(
        "--schema",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help="Print the JSON Schema of -o json.",
    )


def write(text: str, out: str | None = None) -> None:
    """Write a report to standard output, or to a file, which is UTF-8."""
    if out is None:
        if sys.stdout is None:
            raise click.ClickException("standard output is closed")
        encoding = sys.stdout.encoding
        text = text.encode(encoding, "backslashreplace").decode(encoding)  # not all are UTF-8
        click.echo(text, nl=False, color=True)  # colours were decided before; click would drop them in a pipe
        return
    try:
        with open(out, "w", encoding="utf-8") as file:  # noqa: PTH123 - help does without pathlib
            file.write(text)
    except OSError as error:
        raise click.ClickException(f"cannot write {out}: {error.strerror}") from error


def paint(draw: Callable[[Console], None], *, color: str, width: int | None, out: str | None = None) -> None:
    """Let `draw` print to a console that looks like where the output goes, and write what it printed."""
    from rich.console import Console  # noqa: PLC0415 - JSON, help and completion do without it

    screen = sys.stdout if out is None else None
    terminal = {"always": True, "never": False}.get(color)
    if terminal is None and screen is None:
        terminal = False
    probe = Console(file=screen or io.StringIO(), force_terminal=terminal)
    buffer = io.StringIO()
    console = Console(
        file=buffer,
        force_terminal=probe.is_terminal,
        no_color=True if color == "never" else None if color == "auto" else False,
        color_system="standard" if probe.is_terminal else None,
        width=width
        or (min(probe.width, MAX_REPORT_WIDTH) if screen is not None and screen.isatty() else _PIPED_WIDTH),
        highlight=False,
    )
    draw(console)
    # Tables pad their last column; nobody needs those blanks.
    write(re.sub(r"[ ]+((?:\x1b\[[0-9;]*m)*)$", r"\1", buffer.getvalue(), flags=re.MULTILINE), out)
