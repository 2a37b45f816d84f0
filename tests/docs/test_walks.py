"""The walks through the code show what it does today."""

import contextlib
import io
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", ["simulator", "architecture"])
def test_the_examples_print_what_the_page_shows(page):
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    names, examples = {}, re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert len(examples) == text.count("```python")
    for code, shown in examples:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, f"docs/{page}.md", "exec"), names)
        assert [line.rstrip() for line in printed.getvalue().splitlines()] == shown.splitlines()
