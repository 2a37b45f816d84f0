"""A small SVG picture of a run: rows of boxes, as a partition's log, and bars of figures."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

COLOURS = ("#8fcbf0", "#f2b84b", "#5cc3a1", "#dd9fc1", "#f0e442", "#e8905c", "#c4c4c4", "#7aa9d6")
"""Okabe and Ito's, safe for colour-blind readers, paler so that black text can be read on each."""
WIDTH, ROW, TOP = 760, 28, 40
LETTER = 7.2
"""Width of a letter, in pixels."""
DARK = "<style>@media (prefers-color-scheme: dark) { svg { filter: invert(0.9) hue-rotate(180deg) } }</style>"
"""What a reader sees who prefers dark pages: light and dark exchanged, the hues kept."""


class Picture:
    """Rows from top to bottom, each with a label on the left.

    Args:
        title: what is seen, in a sentence; it is the picture's description, too.
        label: width of the labels, in pixels.
    """

    def __init__(self, title: str, *, label: int = 130) -> None:
        self._title, self._label = title, label
        self._rows = 0
        self._parts: list[str] = []

    def cells(self, label: str, cells: Sequence[tuple[str, int]], note: str = "") -> None:
        """A row of boxes, each a text and the number of a colour, -1 for none."""
        y = self._row(label)
        x = float(self._label)
        for text, colour in cells:
            width = max(24.0, LETTER * len(text) + 12)
            fill = COLOURS[colour % len(COLOURS)] if colour >= 0 else "#eeeeee"
            self._box(x, y + 3, width - 2, fill)
            self._text(x + width / 2 - 1, y + 18, text, "middle")
            x += width
        if note:
            self._text(x + 6, y + 18, note)

    def figure(self, label: str, value: float, most: float, text: str, colour: int = 0) -> None:
        """A row with one bar whose length is a figure, the longest of which is `most`."""
        y = self._row(label)
        width = (WIDTH - self._label - 170) * value / most
        self._box(self._label, y + 3, max(width, 1.0), COLOURS[colour % len(COLOURS)])
        self._text(self._label + width + 6, y + 18, text)

    def heading(self, text: str) -> None:
        """A row that is only a text."""
        self._text(8, self._y() + 20, text, weight="bold")
        self._rows += 1

    def svg(self) -> str:
        """The picture."""
        height = self._y() + 10
        box = f'viewBox="0 0 {WIDTH} {height}" role="img" font-family="sans-serif" font-size="12"'
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" {box}>',
                f"<title>{escape(self._title)}</title>",
                DARK,
                f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
                f'<text x="8" y="22" font-size="14" font-weight="bold">{escape(self._title)}</text>',
                *self._parts,
                "</svg>\n",
            ]
        )

    def _y(self) -> int:
        return TOP + ROW * self._rows

    def _row(self, label: str) -> int:
        y = self._y()
        self._text(8, y + 18, label)
        self._rows += 1
        return y

    def _box(self, x: float, y: float, width: float, fill: str) -> None:
        self._parts.append(
            f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="22" rx="2" fill="{fill}"/>'
        )

    def _text(self, x: float, y: float, text: str, anchor: str = "start", weight: str = "normal") -> None:
        style = "" if anchor == "start" else f' text-anchor="{anchor}"'
        style += "" if weight == "normal" else f' font-weight="{weight}"'
        self._parts.append(f'<text x="{x:.1f}" y="{y}"{style}>{escape(text)}</text>')
