"""The README's page with a real answer. `python -m docs.page_picture` draws it."""

import re
import tempfile
from pathlib import Path

from click.testing import CliRunner

from copartition.assignment_diff.command import diff
from docs.terminal_picture import CAPTURE

PICTURE = Path(__file__).with_name("page.svg")
ARGUMENTS = ("plan:current", "--add-members", "1")
WIDTH, HEIGHT = 1100, 1130
"""Pixels that the picture shows of the page: all from its heading to who owned what."""
HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">
<style>
{style}
body {{ max-width: none; height: {height}px; box-sizing: border-box; overflow: hidden }}
</style>
<foreignObject width="{width}" height="{height}">
<body xmlns="http://www.w3.org/1999/xhtml">
"""


def page() -> str:
    """Return the page that the command writes."""
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "diff.html"
        CliRunner().invoke(
            diff, [str(CAPTURE), *ARGUMENTS, "--html", str(written)], prog_name="assignment-diff"
        )
        return written.read_text(encoding="utf-8")


def draw() -> str:
    """Return the page's first pixels as SVG: its own elements and styles in a foreign object."""
    text = page()
    [style] = re.findall(r"<style>\n(.*?)</style>", text, re.DOTALL)
    # Without scripts; an XML parser reads the rest, whose empty elements are closed.
    [body] = re.findall(r"<body>\n?(.*?)(?=<script|</body>)", text, re.DOTALL)
    [heading] = re.findall(r"<h1>(.*?)</h1>", body, re.DOTALL)
    head = HEAD.format(
        width=WIDTH,
        height=HEIGHT,
        style=style.strip(),
        label=f"A page: assignment-diff {CAPTURE.name} {' '.join(ARGUMENTS)} --html. {heading.strip()}",
    )
    return f"{head}{body.strip()}\n</body>\n</foreignObject>\n</svg>\n"


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
