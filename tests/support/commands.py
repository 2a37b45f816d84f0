"""Commands run in this process, as tests ask for them."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from copartition.shell.main import copartition

if TYPE_CHECKING:
    from collections.abc import Callable

    import click
    from click.testing import Result


def invoker(command: click.Command) -> Callable[..., Result]:
    """A function that runs a command with the arguments it is given, whatever their types."""

    def invoke(*arguments: object, **settings: Any) -> Result:
        return CliRunner().invoke(command, [str(argument) for argument in arguments], **settings)

    return invoke


def json_of(invoke: Callable[..., Result], *arguments: object) -> Any:
    """What a command says as JSON; it must have an answer, be it one that finds something."""
    result = invoke(*arguments, "-o", "json")
    assert result.exit_code in {0, 1}, result.output
    return json.loads(result.stdout)


def printed(line: str) -> str:
    """What the arguments of `copartition` in a line print, as wide as pages show it; it has an answer."""
    result = invoker(copartition)(*shlex.split(line), "--width", "200")
    assert result.exit_code in {0, 1}, result.output
    return result.stdout
