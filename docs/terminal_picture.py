"""The README's terminal with a real answer. `python -m docs.terminal_picture` draws it."""

import re
from html import escape
from pathlib import Path

from click.testing import CliRunner

from copartition.assignment_diff.command import diff

PICTURE = Path(__file__).with_name("terminal.svg")
CAPTURE = Path(__file__).parents[1] / "copartition" / "shell" / "examples" / "billing.txt"
ARGUMENTS = ("plan:current", "--add-members", "1", "--reasons")
COLUMNS, LETTER, ROW = 112, 8.2, 19
CLASSES = {"1": "bold", "2": "dim", "31": "red", "32": "green", "33": "yellow", "36": "blue", "34": "blue"}
"""What the codes of ANSI colours are called here; others are plain."""
HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">
<style>
svg {{ background: #fff; fill: #1f2328 }}
svg {{ font: 13.6px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace }}
text {{ white-space: pre }} .bar {{ fill: #eaeef2 }} .bold {{ font-weight: 600 }} .dim {{ fill: #59636e }}
.red {{ fill: #b3261e }} .green {{ fill: #116329 }} .yellow {{ fill: #7d4e00 }} .blue {{ fill: #0550ae }}
@media (prefers-color-scheme: dark) {{
svg {{ background: #0d1117; fill: #f0f6fc }} .bar {{ fill: #21262d }} .dim {{ fill: #9198a1 }}
.red {{ fill: #ff7b72 }} .green {{ fill: #56d364 }} .yellow {{ fill: #e3b341 }} .blue {{ fill: #79c0ff }} }}
</style>
<rect class="bar" width="{width}" height="26"/>
"""


def print_in_colours() -> str:
    """Return what the command prints, with its colours."""
    shape = ("--color", "always", "--width", str(COLUMNS))
    told = CliRunner().invoke(diff, [str(CAPTURE), *ARGUMENTS, *shape], prog_name="assignment-diff")
    return told.stdout


def lines() -> list[str]:
    """Return the lines of the picture: the command, and what it prints, cut to the columns at blanks."""
    shown = [f"\x1b[1m$ assignment-diff {CAPTURE.name} {' '.join(ARGUMENTS)}\x1b[0m"]
    for line in print_in_colours().rstrip("\n").split("\n"):
        while len(re.sub(r"\x1b\[[0-9;]*m", "", line)) > COLUMNS and (cut := line.rfind(" ", 0, COLUMNS)) > 0:
            shown.append(line[:cut])
            line = f"    {line[cut + 1 :]}"  # noqa: PLW2901 - what is left of it
        shown.append(line)
    return shown


def _spans(line: str) -> str:
    """Return a line as SVG's spans, one for each stretch of one colour."""
    spans, names = [], []
    for code, text in re.findall(r"(?:\x1b\[([0-9;]*)m)?([^\x1b]*)", line):
        if code:
            names = [CLASSES[number] for number in code.split(";") if number in CLASSES]
        if text:
            kind = f' class="{" ".join(names)}"' if names else ""
            spans.append(f"<tspan{kind}>{escape(text)}</tspan>")
    return "".join(spans)


def draw() -> str:
    """Return the picture as SVG."""
    rows = lines()
    first = re.sub(r"\x1b\[[0-9;]*m", "", rows[1])
    head = HEAD.format(
        width=round(COLUMNS * LETTER) + 32,
        height=52 + ROW * len(rows),
        label=escape(
            f"A terminal: assignment-diff {CAPTURE.name} {' '.join(ARGUMENTS)} answers: {first}", quote=True
        ),
    )
    body = "\n".join(
        f'<text x="16" y="{50 + ROW * number}">{_spans(row)}</text>' for number, row in enumerate(rows) if row
    )
    return f"{head}{body}\n</svg>\n"


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
