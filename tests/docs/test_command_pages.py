"""The site's page for each command: click says which commands there are, and what each page holds."""

import re

import click
import pytest

from copartition.shell.main import COMMANDS, copartition
from tools.site import pages

NAMES = pages.names()
FEW = {"profiles", "completion", "help", "examples", "ledger forget", "ledger list", "ledger show"}
"""Commands with hardly an option, or whose examples stand with the command that holds them."""


@pytest.fixture(scope="module")
def written_pages() -> dict[str, str]:
    """The page of each command."""
    return pages.command_pages()


def test_every_command_has_a_page_or_holds_others() -> None:
    assert {name.split()[0] for name in NAMES} == {*COMMANDS}


@pytest.mark.parametrize("name", NAMES)
def test_a_command_has_four_examples(name: str) -> None:
    command: click.Command = copartition
    for word in name.split():
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None
        command = found
    shown = re.findall(r"^ +(?:copartition|assignment-diff|cat) ", (command.epilog or ""), re.MULTILINE)
    # A new command brings three at the least.
    assert len(shown) >= (0 if name in FEW else 3 if name == "reshape" else 4)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_page_has_usage_options_and_exit_codes(written_pages: dict[str, str], name: str) -> None:
    page = written_pages[name]
    assert re.search(r"```text\n(?:copartition|assignment-diff) ", page)
    for heading in ("## Options", "## Exit codes", "## Examples"):
        assert f"\n{heading}\n" in page
    assert re.search(r"^\| 0 \| \w", page, re.MULTILINE)
