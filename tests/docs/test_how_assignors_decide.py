"""The guide shows what the assignors decide and tell today."""

import re
from functools import cache

import pytest

from assignors import list_assignors
from docs.worked_groups.page import FOLDER, PAGE, files
from docs.worked_groups.stories import stories

PICTURES = sorted(FOLDER.glob("*.svg"))
made = cache(files)


@pytest.mark.parametrize("path", [PAGE, *PICTURES], ids=lambda path: path.name)
def test_a_file_is_what_the_assignors_say_today(path):
    assert path.read_text(encoding="utf-8") == made()[path], "python -m docs.worked_groups makes it again"


def test_every_picture_is_there_and_no_other():
    assert set(PICTURES) == made().keys() - {PAGE}


def test_every_story_is_in_the_page():
    assert re.findall("<!-- worked group: (.+) -->", PAGE.read_text(encoding="utf-8")) == list(stories())


def test_every_strategy_of_ours_has_a_story():
    ours = {info.name for info in list_assignors() if info.origin in {"built-in", "built-in, of librdkafka"}}
    assert {story.assignor for story in stories().values()} == ours


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.name)
def test_a_picture_is_small(path):
    assert len(path.read_bytes()) < 20_000


def test_the_example_says_why(capsys):
    (snippet,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(snippet, {})
    why = stories()["sticky"].rebalances[-1].why["orders", 6]
    assert capsys.readouterr().out == f"{why}\n"
