"""Pages of the site that the packages themselves give: commands, the schema of scenarios, public names."""

import html
import inspect
import json
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec

import click

from copartition.shell.main import SECTIONS, copartition
from copartition.simulation.inputs.file import scenario_schema
from partitioning.kit.packages import public_names


def commands() -> str:
    """Every command under the headings of `--help`, with its options and examples."""
    context = click.Context(copartition, info_name="copartition")
    lines = ["# Commands", "", _text(copartition.help), "", "`assignment-diff` is `copartition diff`.", ""]
    for heading, names in SECTIONS.items():
        lines += [f"## {heading}", ""]
        for name in names:
            lines += _command(copartition, context, name, 3)
    return "\n".join(lines)


def _command(group: click.Group, parent: click.Context, name: str, level: int) -> Iterator[str]:
    command = group.get_command(parent, name)
    assert command is not None
    context = click.Context(command, parent=parent, info_name=name)
    yield from ("", f"{'#' * level} {context.command_path}", "", _text(command.help), "")
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            yield from _command(command, context, each, level + 1)
        return
    yield from _block(" ".join((context.command_path, *command.collect_usage_pieces(context))))
    yield from ("| option | meaning |", "|---|---|")
    records = (option.get_help_record(context) for option in command.get_params(context))
    for names, meaning in filter(None, records):
        if meaning:
            yield f"| <code>{_text(names)}</code> | {_text(meaning)} |"
    yield ""
    for paragraph in (command.epilog or "").split("\n\n"):
        if paragraph.startswith("\b"):  # lines as they are, and the first one says what they show
            _, title, *lines = paragraph.split("\n")
            yield from (_text(title), "", *_block(inspect.cleandoc("\n".join(["", *lines]))))
        else:
            yield from (_text(paragraph), "")


def _block(text: str) -> Iterator[str]:
    yield from ("```text", text, "```", "")


def _text(text: str | None) -> str:
    """Help text, of which no character is markup."""
    plain = html.escape(inspect.cleandoc(text or ""), quote=False)
    return plain.replace("*", "\\*").replace("[", "\\[").replace("|", "&#124;")


def schema_page() -> str:
    """The JSON Schema of scenario files."""
    return (
        "# Scenario schema\n\nWhat `copartition simulate --schema` prints. With it an editor completes and "
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
    blocks = (f"\n::: {home}.{each}\n    options:\n      heading_level: 2\n" for each in names)
    return f"# {name}\n\n{module.__doc__}\nExamples begin with `from {name} import *`.\n{''.join(blocks)}"
