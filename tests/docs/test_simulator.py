"""The walk through the simulator shows what its code does today."""

import contextlib
import io
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/simulator.md").read_text(encoding="utf-8")


def test_the_examples_print_what_the_page_shows():
    names, examples = {}, re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
    assert len(examples) == 3
    for code, shown in examples:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "docs/simulator.md", "exec"), names)
        assert [line.rstrip() for line in printed.getvalue().splitlines()] == shown.splitlines()
