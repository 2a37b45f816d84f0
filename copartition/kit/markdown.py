"""GitHub Markdown that fits into a comment, for pull requests and tickets."""

from collections.abc import Iterable, Sequence

from copartition.kit.words import Table, visible

MOST_CHARACTERS = 60_000
"""Of a report; a comment on GitHub takes 65,536."""

_LIST_SHARE = 4
"""A list before the tables takes at most this part of what is left."""


class Page:
    """Text that ends before it is too long."""

    def __init__(self) -> None:
        self.text = ""

    @property
    def finished(self) -> str:
        """The text as a file."""
        return self.text.rstrip("\n") + "\n"

    def add(self, *parts: str) -> None:
        """Text as it is, markup included."""
        self.text += "".join(parts)

    def items(self, texts: Sequence[str], noun: str) -> None:
        """A list; nothing in its texts is markup."""
        self.marked_items(map(markdown_text, texts), len(texts), noun)

    def marked_items(self, lines: Iterable[str], total: int, noun: str) -> None:
        """A list of Markdown."""
        if total:
            self.add("\n", *self._fitting((f"- {line}\n" for line in lines), total, noun, "- ", _LIST_SHARE))

    def table(
        self,
        title: str,
        columns: Sequence[str],
        rows: Iterable[Sequence[object]],
        total: int,
        noun: str,
        *,
        share: int = 1,
    ) -> None:
        """A folded table; `share` is the part of what is left that it may take: 2 for a half."""
        lines = (markdown_row(markdown_text(str(cell)) for cell in row) + "\n" for row in rows)
        self.add("\n<details><summary>", title, "</summary>\n\n")
        self.add(markdown_row(columns), "\n", markdown_row(["---"] * len(columns)), "\n")
        fitting = self._fitting(lines, total, noun, "\n", share)
        self.add(*fitting, "\n</details>\n")

    def whole_table(self, title: str, table: Table, noun: str, *, share: int = 1) -> None:
        """A folded table of a report."""
        titles = [markdown_text(name) for name in table.titles]
        self.table(title, titles, table.rows, len(table.rows), noun, share=share)

    def _fitting(self, lines: Iterable[str], total: int, noun: str, mark: str, share: int) -> list[str]:
        # GitHub refuses a longer comment, so rows are left out and counted.
        room = (MOST_CHARACTERS - len(self.text)) // share - 200  # for what ends and counts
        fitting: list[str] = []
        for line in lines:
            room -= len(line)
            if room < 0:
                break
            fitting.append(line)
        left_out = total - len(fitting)
        if left_out:
            fitting.append(f"{mark}and {left_out:,} more {noun}{'' if left_out == 1 else 's'}\n")
        return fitting


def markdown_table(table: Table) -> list[str]:
    """Return the lines of a whole table."""
    titles = [markdown_row(table.titles), markdown_row(["---"] * len(table.titles))]
    return [*titles, *(markdown_row(map(markdown_text, row)) for row in table.rows)]


def markdown_row(cells: Iterable[str]) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(cells)} |"


def markdown_text(text: str, most: int = MOST_CHARACTERS) -> str:
    """Names are shown as they are: nothing in them is markup."""
    text = visible(text)
    # The backslash comes first, or it would escape the escapes of the others.
    for sign in "\\`*_[]|":
        text = text.replace(sign, f"\\{sign}")
    return shorten_list(text.replace("&", "&amp;").replace("<", "&lt;"), most)


def shorten_list(text: str, most: int) -> str:
    """Return a list without what is too long of it."""
    return text if len(text) <= most else f"{text[:most].rpartition(',')[0] or text[:most]} .."
