"""The operator's five questions of the README, as a reader would ask them."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from copartition.assignment_diff.command import diff
from copartition.shell.main import copartition

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "before-a-deploy.md").read_text(encoding="utf-8")
[GROUP] = re.findall(r"```text billing.txt\n(.*?)```", PAGE, re.DOTALL)
QUESTIONS = re.findall(
    r"^\$ (.*billing\.txt.*?) +# (.*\?)\n(.*)$",
    (ROOT / "README.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)
PROGRAMS = {"assignment-diff": diff, "copartition": copartition}


def first_line(command, folder):
    """How the answer begins."""
    (folder / "billing.txt").write_text(GROUP)
    name, *arguments = shlex.split(command)
    result = CliRunner().invoke(PROGRAMS[name], [*arguments, "--width", "300"], prog_name=name)
    assert result.exit_code in {0, 1}, result.output
    return result.stdout.splitlines()[0]


@pytest.mark.parametrize(("command", "question", "answer"), QUESTIONS)
def test_the_answer_to_a_question_begins_as_the_readme_says(command, question, answer, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert first_line(command, tmp_path) == answer


def test_there_are_five_questions_and_the_page_has_them_too():
    assert len(QUESTIONS) == 5
    for command, _, _ in QUESTIONS:
        assert f"`{command}`" in PAGE
