"""Pages without a test of their own: each command prints what the page shows, and each example runs."""

import re
import shlex
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from copartition.assignment_diff.command import diff
from copartition.shell.main import copartition
from partitioning.profiles import PROFILES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PROGRAMS = {"assignment-diff": diff, "copartition": copartition}
[GROUP] = re.findall(
    r"```text billing.txt\n(.*?)```", (DOCS / "before-a-deploy.md").read_text("utf-8"), re.DOTALL
)

COMMANDS = ["same-partition", "switch-partitioner", "before-a-deploy", "new-protocol", "faq", "share-groups"]
EXAMPLES = ["switch-partitioner", "faq", pytest.param("share-groups", marks=pytest.mark.slow)]
SLOW = {"share-groups": [pytest.mark.slow]}
"""Pages whose commands take seconds."""
LIVE_EXAMPLES = ["same-partition", "unit-test"]


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / f"{page}.md").read_text("utf-8"), re.DOTALL)


[GROUP] = blocks("before-a-deploy", "text billing.txt")


def commands(page):
    """Each command of a page, with what the page shows of its output."""
    for block in blocks(page, "console"):
        for command, shown in re.findall(r"^\$ ([^\n]*)\n(.*?)(?=^\$ |\Z)", block, re.DOTALL | re.MULTILINE):
            yield pytest.param(command, shown, id=f"{page}: {command[:40]}", marks=SLOW.get(page, ()))


@pytest.mark.parametrize(("command", "shown"), [case for page in COMMANDS for case in commands(page)])
def test_a_command_prints_what_the_page_shows(command, shown, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("billing.txt").write_text(GROUP)
    name, *arguments = shlex.split(command)
    printed = CliRunner().invoke(PROGRAMS[name], [*arguments, "--width", "300"], prog_name=name).stdout
    end = 0
    for part in filter(None, re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)):  # "..." stands for any lines
        assert part in printed[end:]
        end = printed.index(part, end) + len(part)
    assert shown.endswith("...\n") or end == len(printed)


@pytest.mark.parametrize("page", EXAMPLES)
def test_the_examples_of_a_page_run(page):
    check_examples(page)


@pytest.mark.live
@pytest.mark.parametrize("page", LIVE_EXAMPLES)
def test_the_examples_of_a_page_run_on_a_mock_cluster(page):
    check_examples(page)


def check_examples(page):
    """Run a page's examples in their order, and the tests that they define."""
    names = {}
    for example in blocks(page, "python"):
        exec(compile(example, page, "exec"), names)
    for name, value in [*names.items()]:
        if name.startswith("test_"):
            value()


def test_what_a_gate_asks_is_a_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("billing.txt").write_text(GROUP)
    table = (
        (DOCS / "ci-gate.md").read_text("utf-8").partition("## What to ask")[2].partition("## In GitHub")[0]
    )
    asked = re.findall(r"`((?:assignment-diff|copartition) .*?)` \|", table)
    assert len(asked) == 5
    for command in asked:
        name, *arguments = shlex.split(command.replace("live:billing", "billing.txt"))
        assert CliRunner().invoke(PROGRAMS[name], arguments, prog_name=name).exit_code in {0, 1}, command


ROWS = re.findall(r"\[[^]]+\]\(\.\./benchmarks/\S+\.md\)[^|]*", (DOCS / "evidence.md").read_text("utf-8"))


@pytest.mark.parametrize("answer", ROWS)
def test_the_figures_of_an_answer_are_those_of_its_page(answer):
    [page, *_] = re.findall(r"\]\(\.\./(benchmarks/\S+\.md)\)", answer)
    text = re.sub(r"\s+", " ", (ROOT / page).read_text("utf-8"))
    for figure in re.findall(r"[\d,]*\d(?: of [\d,]*\d)?", re.sub(r"\(.*?\)", "", answer)):
        assert figure in text


def test_the_comparison_counts_the_rules_that_there_are():
    checked = sum(profile.checked for profile in PROFILES.values())
    text = (DOCS / "comparison.md").read_text("utf-8")
    assert f"by {len(PROFILES)} rules of clients, {checked} of them compared with the client itself" in text


def test_every_page_is_in_the_navigation_of_the_site():
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[2]
    listed = {*re.findall(r": ([\w./-]+\.md)$", navigation, re.MULTILINE)}
    pages = {path.name for path in DOCS.glob("*.md")}
    pages |= {f"benchmarks/{path.name}" for path in (ROOT / "benchmarks").glob("*.md")}
    pages |= {"index.md", "CHANGELOG.md", "CONTRIBUTING.md"}
    assert {page for page in listed if not page.startswith("reference/")} == pages


def test_the_site_is_configured():
    """The file is YAML, with the strictness that turns a link to nowhere into an error."""
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    assert config["strict"]
    assert config["theme"]["font"] is False
    assert {*config["validation"].values()} == {"warn"}
