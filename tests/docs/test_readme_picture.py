"""The README's first picture is what the program draws, and the README's words for it have its figures."""

import re
from pathlib import Path

import pytest

from docs import deploy_picture, terminal_picture

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


@pytest.mark.heavy
def test_the_picture_is_what_the_simulation_says_today():
    assert deploy_picture.draw() == deploy_picture.PICTURE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "figure",
    [
        "stop 24 times",
        "984 to 1,111 partition-seconds",
        "288 to 338 partition-seconds",
        "350 to 387 partition-seconds",
        "every 20 s",
        "away for 5 s",
        "revoke callback takes 500 ms",
    ],
)
def test_the_words_for_the_picture_have_its_figures(figure):
    [words] = re.findall(r"!\[([^\]]*)\]\(docs/deploy.svg\)", README)
    assert figure in words
    assert figure in deploy_picture.PICTURE.read_text(encoding="utf-8")


def test_the_terminal_shows_what_the_command_prints_today():
    assert terminal_picture.draw() == terminal_picture.PICTURE.read_text(encoding="utf-8")


def test_the_words_for_the_terminal_are_its_own():
    [words] = re.findall(r"!\[([^\]]*)\]\(docs/terminal.svg\)", README)
    assert f'aria-label="{words}"' in terminal_picture.PICTURE.read_text(encoding="utf-8")
