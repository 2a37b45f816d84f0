"""The README's first picture is what the program draws, and the README's words for it have its figures."""

import re
from pathlib import Path

import pytest

from docs import deploy_picture, page_picture, states_picture, terminal_picture

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_picture_is_what_the_simulation_says_today():
    assert deploy_picture.draw() == deploy_picture.PICTURE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "figure",
    [
        "stop 24 times",
        "984 to 1,111 partition-seconds",
        "438 to 488 partition-seconds",
        "494 to 529 partition-seconds",
        "every 20 s",
        "away for 5 s",
        "revoke callback takes 500 ms",
    ],
)
def test_the_words_for_the_picture_have_its_figures(figure):
    [words] = re.findall(r"!\[([^\]]*)\]\(docs/deploy.svg\)", README)
    assert figure in words
    assert figure in deploy_picture.PICTURE.read_text(encoding="utf-8")


OF_OUTPUT = pytest.mark.parametrize("picture", [terminal_picture, page_picture])


@OF_OUTPUT
def test_a_picture_shows_what_the_command_gives_today(picture):
    assert picture.draw() == picture.PICTURE.read_text(encoding="utf-8")


@OF_OUTPUT
def test_the_words_for_a_picture_are_its_own(picture):
    [words] = re.findall(rf"!\[([^\]]*)\]\(docs/{picture.PICTURE.name}\)", README)
    assert f'aria-label="{words}"' in picture.PICTURE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", states_picture.PICTURES)
def test_a_diagram_of_states_is_that_of_its_table(name):
    drawn = states_picture.draw(*states_picture.PICTURES[name])
    assert drawn == Path(states_picture.__file__).with_name(name).read_text(encoding="utf-8")
