"""Give all commands the same errors, exit codes, colours and outputs.

A command reports what it found by its exit code: 0 fine, 1 found something, 2 could not tell or could not
run.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO, TypeVar

import click

from copartition.kit.words import visible, visible_lines
from partitioning.errors import CopartitionError
from partitioning.kit.limits import MAX_REPORT_WIDTH
from partitioning.kit.packages import read_data, read_toml

if TYPE_CHECKING:
    from rich.console import Console

_T = TypeVar("_T")

HELP = {"help_option_names": ["-h", "--help"]}
"""Context settings of click for every command: -h is --help."""

COULD_NOT = 2
"""The exit code of a command that could not tell or could not run."""

_PIPED_WIDTH = 1_000
"""The width of text that does not go to a terminal: so large that no line is broken for `grep` or a file."""


def _help_width() -> int:
    """Return the width of a help text in columns, from 50 to 78.

    It is the width that click would choose. click uses shutil, whose import takes 2 ms of every --help.
    """
    try:
        columns = int(os.environ.get("COLUMNS") or os.get_terminal_size().columns)
    except (OSError, ValueError):  # standard output is no terminal
        columns = 0
    return max(min(columns or 80, 80) - 2, 50)


class QuietCommand(click.Command):
    """A command that reports an error in one line on stderr and exits with 2; -v adds the traceback."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Read the arguments; --help, --version and --schema print here and exit.

        -v is searched in the raw arguments, because an error in the arguments may end the command before -v
        is parsed.
        """
        path = f"{parent.command_path} {info_name}" if parent else str(info_name)
        with _one_line_errors(path, verbose=not {"-v", "--verbose"}.isdisjoint(args)):
            return super().make_context(info_name, args, parent, terminal_width=_help_width(), **extra)

    def invoke(self, ctx: click.Context) -> None:
        """Run the command and exit with the code that it returns; an error is a line on stderr and code 2."""
        with _one_line_errors(ctx.command_path, verbose=bool(ctx.meta.get("verbose"))):
            if code := super().invoke(ctx):
                ctx.exit(code)


class QuietGroup(QuietCommand, click.Group):
    """A group of commands; its error for an unknown command names up to two that are spelled like it."""

    command_class = QuietCommand

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first argument names, as click does.

        Raises:
            click.UsageError: there is no such command.
        """
        from difflib import get_close_matches  # noqa: PLC0415 - few ask for it

        names = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0] not in names:
            near = get_close_matches(args[0], names, n=2)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise click.UsageError(f"No such command '{args[0]}'{hint}", ctx)
        return super().resolve_command(ctx, args)


def examples_help(*runs: str) -> str:
    r"""Return the end of a help text: the heading "Examples:" and one indented line for each run.

    `\b` keeps click from joining the lines into a paragraph.
    """
    return "\b\nExamples:\n" + "\n".join(f"  {run}" for run in runs)


def end_of_help(room: str, **names: str) -> str:
    """Return the end of a command's help: the file `help.txt` of its package, with `names` filled in.

    Args:
        room: the name of the package, such as "copartition.assignment_diff".
        names: value for each {name} in the file.
    """
    text = read_data(room, "help.txt")
    return "\n" + text.format(**names).replace("\\b\n", "\b\n")


def command(*runs: str, epilog: str | None = None) -> Callable[[Callable[..., int | None]], click.Command]:
    """Return a decorator that makes a function a `QuietCommand`.

    Args:
        runs: command lines that the end of the help shows as examples.
        epilog: the end of the help instead of examples.
    """
    return click.command(cls=QuietCommand, context_settings=HELP, epilog=epilog or examples_help(*runs))


@contextmanager
def _one_line_errors(path: str, *, verbose: bool) -> Iterator[None]:
    """Turn each error of the block into one line on stderr and exit code 2.

    The exceptions by which click itself ends a command (--help, exit codes) are not caught. If the reader of
    the output is gone, as with `| head`, the command ends with 2 and without a line.

    Args:
        path: the command as the user calls it, with which the line begins.
        verbose: True to print the traceback of an unexpected error before the line.
    """
    try:
        yield
    except (click.exceptions.Exit, click.exceptions.NoArgsIsHelpError):
        raise
    except BrokenPipeError:
        # `copartition ... | head` ends silently, as other filters do. SIGPIPE stays ignored, because it would
        # also end a command when a broker closes a connection. Code that talks to brokers turns its errors
        # into others, so this one comes from an output.
        _discard(sys.stdout)
    except (KeyboardInterrupt, Exception) as error:  # noqa: BLE001 - the user gets a line and exit code 2
        what = _error_text(error, path, verbose=verbose)
        try:
            click.echo(f"{path}: {visible(what)}", err=True)
        except BrokenPipeError:  # the reader of stderr is gone, too
            _discard(sys.stderr)
    else:
        return
    raise click.exceptions.Exit(COULD_NOT)


def _error_text(error: BaseException, path: str, *, verbose: bool) -> str:
    """Return the text of an error for a user; `verbose` prints the traceback of an unexpected error.

    Expected errors are those of click and `CopartitionError`. An OSError comes from the output, because
    reading turns its errors into `SourceError`. Anything else is called a bug.
    """
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return "interrupted"
    if isinstance(error, click.ClickException):
        what = error.format_message()
        if isinstance(error, click.UsageError) and not isinstance(error, click.BadParameter):
            return f"{what.rstrip('.')}; see {path} --help"
        return what
    expected = isinstance(error, CopartitionError)
    if isinstance(error, UnicodeEncodeError):
        # Python reads bytes of the command line that are not UTF-8 as surrogates, which cannot be encoded.
        return f"{error.object[:80]!r} is no text that Kafka can have: it is not UTF-8; give it as UTF-8"
    if isinstance(error, OSError) and not expected:
        _discard(sys.stdout)
        return f"{error.filename or 'output'}: {error.strerror or error}"
    if verbose:
        import traceback  # noqa: PLC0415 - few ask for it

        for line in "".join(traceback.format_exception(error)).rstrip().split("\n"):
            click.echo(visible(line), err=True)
    # Messages of the library name its arguments; the user of a command knows them as flags.
    text = name_flags(str(error))
    return text if expected else f"{error!r}; this is a bug, run it with -v and report it"


def name_flags(text: str) -> str:
    """Return a message of the library with each argument in backticks replaced by the flag of the command.

    >>> name_flags("name one with `group`")
    'name one with --group'
    """
    if "`" not in text:
        return text
    flags = read_toml(__package__, "flags.toml")
    return re.sub("`([a-z_]+)`", lambda named: flags.get(named[1], named[0]), text)


def complain(what: str) -> None:
    """Print one line on stderr, which begins with the name of the running command.

    Args:
        what: the text, without a line break; invisible characters in it are escaped.
    """
    click.echo(f"{click.get_current_context().command_path}: {visible(what)}", err=True)


def _discard(stream: TextIO) -> None:
    """Send what is still buffered in `stream` to the null device.

    Otherwise the interpreter would try to write it again at exit, fail again, and print a traceback.
    """
    with suppress(OSError, ValueError):  # a stream in memory has no descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def write(text: str, out: str | None = None, *, painted: bool = False) -> None:
    """Write a report to standard output, or to the file `out` in UTF-8.

    Anything that a report forgot to escape is escaped here, so no name can control the reader's terminal.

    Args:
        text: the report; line breaks and tabs are its only control characters.
        out: path of the file; None for standard output.
        painted: True if `text` has escape sequences of colours; `Output.paint` has escaped everything else.

    Raises:
        click.ClickException: standard output is closed, or the file cannot be written.
    """
    if not painted:
        text = visible_lines(text)
    if out is None:
        if sys.stdout is None:
            raise click.ClickException("standard output is closed")
        encoding = sys.stdout.encoding
        # A character that the encoding lacks, as ASCII lacks "→", is written as an escape. Otherwise the
        # report would end in an error.
        text = text.encode(encoding, "backslashreplace").decode(encoding)
        click.echo(text, nl=False, color=True)  # colours are decided already; click would drop them in a pipe
        return
    try:
        with open(out, "w", encoding="utf-8") as file:  # noqa: PTH123 - help does without pathlib
            file.write(text)
    except OSError as error:
        raise click.ClickException(f"cannot write {out}: {error.strerror}") from error


def track(items: Iterable[_T], what: str, total: int) -> Iterator[_T]:
    """Yield the items, and show a bar and a clock on stderr; without a terminal nothing is shown.

    The clock goes on while one item takes long, so that the user sees that the command is alive.

    Args:
        items: about as many as `total`.
        what: the words before the bar.
        total: the number of items that is 100 percent.
    """
    from rich.console import Console  # noqa: PLC0415 - help and completion do without

    screen = Console(stderr=True)
    if not screen.is_terminal:
        yield from items
        return
    from rich.markup import escape  # noqa: PLC0415 - as above
    from rich.progress import Progress, TimeElapsedColumn  # noqa: PLC0415 - only a terminal needs it

    columns = (*Progress.get_default_columns(), TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True) as progress:
        yield from progress.track(items, total, description=escape(visible(what)))


class Output(NamedTuple):
    """The form and the destination of a report, from the options -o, --color, --width and --out.

    Attributes:
        form: "text", "json" or another format of the command.
        color: "auto", "always" or "never"; "auto" follows the terminal, NO_COLOR and FORCE_COLOR.
        width: columns of text; None for the width of the terminal. Without a terminal, None means that no
            line is broken.
        out: path of a file; None for standard output.
    """

    form: str
    color: str = "auto"
    width: int | None = None
    out: str | None = None

    def write(self, text: str) -> None:
        """Write a finished report; only invisible characters are changed, see the function `write`."""
        write(text, self.out)

    def paint(self, draw: Callable[[Console], None]) -> None:
        """Write what `draw` prints to a console with the colours and the width of the destination.

        Everything is drawn into memory first, so that an error halfway does not leave half a report.
        """
        from rich.console import Console  # noqa: PLC0415 - JSON, help and completion do without it

        from copartition.kit.grid import VisibleConsole  # noqa: PLC0415 - likewise

        # A file gets colours only with --color always; for standard output None lets rich decide.
        terminal = {"always": True, "never": False}.get(self.color, None if self.out is None else False)
        screen = sys.stdout if self.out is None else None
        # rich decides about colours from the file that it writes to. That is a buffer here, so a probe on the
        # real destination decides.
        probe = Console(file=screen or io.StringIO(), force_terminal=terminal)
        widest = probe.width if screen is not None and screen.isatty() else _PIPED_WIDTH
        buffer = io.StringIO()
        console = VisibleConsole(
            file=buffer,
            force_terminal=probe.is_terminal,
            no_color={"always": False, "never": True}.get(self.color),
            color_system="standard" if probe.is_terminal else None,
            width=self.width or min(widest, MAX_REPORT_WIDTH),
            highlight=False,
        )
        draw(console)
        # Tables pad their last column; these blanks are removed.
        text = re.sub(r"[ ]+((?:\x1b\[[0-9;]*m)*)$", r"\1", buffer.getvalue(), flags=re.MULTILINE)
        write(text, self.out, painted=True)

    def show(self, draw: Callable[[Console], None], **texts: Callable[[], str]) -> None:
        """Write a report in the form that the user has chosen.

        Args:
            draw: prints the report to a console, for the form "text" and any other form that `texts` lacks.
            texts: form -> function that returns the report. Only the function of the chosen form is called.
        """
        if self.form in texts:
            self.write(texts[self.form]())
        else:
            self.paint(draw)

    def print_rows(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write a listing as JSON, or as a table.

        Args:
            rows: the rows, each with the same column names in the same order. For a table there is at least
                one row, and all values are texts; a column whose first text is all digits is aligned right.
                For JSON, values may be anything that `json` can write.
        """
        if self.form == "json":
            import json  # noqa: PLC0415 - help does without

            write(json.dumps(rows, indent=2) + "\n")
            return
        from copartition.kit.grid import cell, table  # noqa: PLC0415 - only tables need rich

        # The first row decides for each column, because all texts in a column are of one kind.
        numbers = {place for place, text in enumerate(rows[0].values()) if text.isdigit()}
        listing = table([name.upper() for name in rows[0]], right=numbers)
        for row in rows:
            listing.add_row(*map(cell, row.values()))
        self.paint(lambda console: console.print(listing))
