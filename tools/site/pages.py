"""Pages of the site that the packages themselves give: commands, the schema of scenarios, public names."""

import contextlib
import html
import inspect
import json
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import click
from click.testing import CliRunner

from copartition.assignment_diff.command import diff
from copartition.shell.main import SECTIONS, copartition
from copartition.simulation.inputs.file import scenario_schema
from partitioning.kit.packages import public_names

ROOT = Path(__file__).parents[2]


def commands() -> str:
    """Every command under the headings of `--help`, with the line that says what it is for."""
    lines = ["# Commands", "", _text(copartition.help), "", "`assignment-diff` is `copartition diff`.", ""]
    for heading, told in SECTIONS.items():
        lines += [f"## {heading}", "", "| command | what it tells |", "|---|---|"]
        for name, text in told.items():
            # A group of commands has no page of its own: that of its first command stands for it.
            page = next(found for found in names() if found == name or found.startswith(f"{name} "))
            lines.append(f"| [`{name}`](commands/{page.replace(' ', '-')}.md) | {_text(text)} |")
        lines.append("")
    lines += ["[Environment variables](../troubleshooting.md#environment-variables) stand in one table.", ""]
    return "\n".join(lines)


def _verbs() -> dict[str, click.Command]:
    """Every command that click knows, by its name without "copartition"; those of groups have two words."""
    found: dict[str, click.Command] = {}

    def collect(group: click.Group, before: str) -> None:
        context = click.Context(group, info_name=before)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            found[f"{before}{name}"] = command
            if isinstance(command, click.Group):
                collect(command, f"{before}{name} ")

    collect(copartition, "")
    return found


def _context(name: str) -> click.Context:
    """The context of a command, whose path is that of the command line."""
    context = click.Context(copartition, info_name="copartition")
    command: click.Command = copartition
    for word in name.split():
        assert isinstance(command, click.Group)
        found = command.get_command(context, word)
        assert found is not None
        command, context = found, click.Context(found, parent=context, info_name=word)
    return context


def names() -> list[str]:
    """The commands that have a page: all but those that only hold others."""
    return [name for name, command in _verbs().items() if not isinstance(command, click.Group)]


def command_pages() -> dict[str, str]:
    """A page for each command, by its name: usage, options, exit codes, examples with what they print."""
    with tempfile.TemporaryDirectory() as folder:
        for file in sorted((ROOT / "copartition" / "shell" / "examples").iterdir()):
            shutil.copy(file, folder)
        # `copartition examples` shows what it writes, so it begins in a folder without these files.
        (new := Path(folder, "new")).mkdir()
        verbs = _verbs()
        return {
            name: "\n".join(
                _command(verbs[name], _context(name), new if name == "examples" else Path(folder))
            )
            for name in names()
        }


def _command(command: click.Command, context: click.Context, folder: Path) -> Iterator[str]:
    """The lines of a command's page."""
    path = "assignment-diff" if context.command_path == "copartition diff" else context.command_path
    yield from (f"# {path}", "")
    epilog = command.epilog or ""
    told = [*inspect.cleandoc(command.help or "").split("\n\n")]
    ends = [part for part in inspect.cleandoc(epilog.partition("\b\n")[0]).split("\n\n") if part]
    codes = [part for part in (*told, *ends) if part.startswith("Exit code")]
    for part in told:
        if part not in codes:
            yield from (_prose(part), "")
    yield from _block(" ".join((path, *command.collect_usage_pieces(context))))
    yield from ("## Options", "", "| option | meaning |", "|---|---|")
    records = (option.get_help_record(context) for option in command.get_params(context))
    for options, meaning in filter(None, records):
        if meaning:  # an argument has none: the usage shows it
            yield f"| <code>{_text(options)}</code> | {_text(meaning)} |"
    yield from ("", "## Exit codes", "")
    for part in codes:
        yield from _exit_codes(part)
    for part in ends:
        if part not in codes and not part.startswith("Examples:"):
            yield from (_prose(part), "")
    yield from ("## Examples", "", "`copartition examples` writes the files that they read.", "")
    yield from _examples(epilog.partition("\b\n")[2], folder)


def _examples(text: str, folder: Path) -> Iterator[str]:
    """The examples of a command with what they print, and the questions between them."""
    for line in text.splitlines():
        run = line.strip()
        if re.match(r"(copartition|assignment-diff|cat) ", run):
            yield from ("```console", f"$ {run}", *_print_example(run, folder), "```", "")
        elif run and run != "Examples:":
            yield from (_text(run), "")


def _exit_codes(text: str) -> Iterator[str]:
    """The sentence on exit codes as a table, and what follows it as it is."""
    told = " ".join(text.removeprefix("Exit code:").split())
    first, dot, rest = told.partition(". ")
    codes = re.split(r"[,;] (?=[012] )", first.strip().rstrip("."))
    yield from ("| code | meaning |", "|---|---|")
    for code in codes:
        number, _, meaning = code.strip().partition(" ")
        yield f"| {number} | {_text(meaning)} |"
    yield from ("", _prose(rest) if dot else "", "")


_SHOWN_LINES = 12
"""Lines that a page shows of what an example prints."""


def _print_example(line: str, folder: Path) -> Iterator[str]:
    """What an example prints on the files that ship; nothing if it asks a cluster or writes a file."""
    if any(sign in line for sign in ("localhost:9092", ">", "--out ")):
        return
    # In this process: a process for each would load all packages again. A file is read in place of a pipe.
    *piped, line = line.removeprefix("cat ").split(" | ")
    program, *arguments = shlex.split(line.replace("python mine.py", f"{sys.executable} mine.py"))
    arguments = [piped[0] if piped and argument == "-" else argument for argument in arguments]
    told = diff if program == "assignment-diff" else copartition
    with contextlib.chdir(folder):
        done = CliRunner(env={"KAFKA_BOOTSTRAP_SERVERS": None}).invoke(told, arguments, prog_name=program)
    assert done.stdout, f"{line}: {done.stderr}"
    lines = done.stdout.rstrip("\n").split("\n")
    yield from (text[:_WIDEST] for text in lines[:_SHOWN_LINES])
    if len(lines) > _SHOWN_LINES:
        yield "..."


_WIDEST = 400
"""Characters of a line that a page shows: the tables of plug-ins and schemas have longer ones."""


def _block(text: str) -> Iterator[str]:
    yield from ("```text", text, "```", "")


def _text(text: str | None) -> str:
    """Help text, of which no character is markup."""
    plain = html.escape(inspect.cleandoc(text or ""), quote=False)
    return plain.replace("*", "\\*").replace("[", "\\[").replace("|", "&#124;")


def _prose(text: str) -> str:
    """A paragraph of a help text, with its options as code: a browser breaks a word behind a hyphen."""
    return re.sub(r"(?<![\w-])(--?[a-z][\w-]*)", r"`\1`", _text(text))


def schema_page() -> str:
    """The JSON Schema of scenario files."""
    return (
        "# Scenario schema\n\nWhat `copartition simulate --scenario-schema` prints. "
        "With it an editor completes and "
        "checks [scenario files](../scenarios.md).\n\n"
        f"```json\n{json.dumps(scenario_schema(), indent=2)}\n```\n"
    )


def python_module(name: str) -> str:
    """The public names of a module, in the order of its `__all__` if it has one."""
    try:
        module = import_module(name)
    except ImportError:  # a client that building the site does without
        module = None
    package = hasattr(module, "__path__")  # another module has imported more than it offers
    names = public_names(module) if module and (package or hasattr(module, "__all__")) else []
    if not names:
        return f"::: {name}\n    options:\n      heading_level: 1\n      show_root_full_path: true\n"
    home = f"{name}.api" if package and find_spec(f"{name}.api") else name
    blocks = (f"\n::: {home}.{public_name}\n    options:\n      heading_level: 2\n" for public_name in names)
    return f"# {name}\n\n{module.__doc__}\nExamples begin with `from {name} import *`.\n{''.join(blocks)}"
