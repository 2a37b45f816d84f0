"""Write GitHub Markdown that fits into a comment of a pull request or a ticket."""

from collections.abc import Iterable, Sequence

from copartition.kit.words import Table, visible

MOST_CHARACTERS = 60_000
"""The most characters of a report; a comment on GitHub may have 65,536."""

_LIST_SHARE = 4
"""A list before the tables may take 1 / `_LIST_SHARE` of the remaining room."""


class Page:
    """A Markdown text that stops before it is too long.

    `text` has at most `MOST_CHARACTERS` characters; rows that do not fit are counted.
    """

    def __init__(self) -> None:
        self.text = ""

    @property
    def finished(self) -> str:
        """The whole text, which ends with one newline."""
        return self.text.rstrip("\n") + "\n"

    def add(self, *parts: str) -> None:
        """Add text as it is, with its markup."""
        self.text += "".join(parts)

    def items(self, texts: Sequence[str], noun: str) -> None:
        """Add a list of texts, in which markup is escaped; `noun` says what a text is, in the singular."""
        self.marked_items(map(markdown_text, texts), len(texts), noun)

    def marked_items(self, lines: Iterable[str], total: int, noun: str) -> None:
        """Add a list of `total` Markdown lines; `noun` says what a line is, in the singular."""
        if total:
            self.add("\n", *self._fit((f"- {line}\n" for line in lines), total, noun, "- ", _LIST_SHARE))

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
        """Add a folded table.

        Args:
            title: the heading of the table, as Markdown.
            columns: the titles of the columns, as Markdown.
            rows: the rows, each with one value for each column, which is shown as text.
            total: the number of all rows, including rows that are not in `rows`.
            noun: what a row is, in the singular, for the line that counts the rows left out.
            share: the table may take 1 / `share` of the remaining room.
        """
        lines = (markdown_row(markdown_text(str(cell)) for cell in row) + "\n" for row in rows)
        self.add("\n<details><summary>", title, "</summary>\n\n")
        self.add(markdown_row(columns), "\n", markdown_row(["---"] * len(columns)), "\n")
        fitting = self._fit(lines, total, noun, "\n", share)
        self.add(*fitting, "\n</details>\n")

    def whole_table(self, title: str, table: Table, noun: str, *, share: int = 1) -> None:
        """Add a folded table of a report."""
        titles = [markdown_text(name) for name in table.titles]
        self.table(title, titles, table.rows, len(table.rows), noun, share=share)

    def _fit(self, lines: Iterable[str], total: int, noun: str, mark: str, share: int) -> list[str]:
        """Return the first lines that fit, and a line with the number of the others.

        Args:
            lines: the lines; there may be fewer than `total`.
            total: the number of all lines.
            noun: what a line is, in the singular.
            mark: the beginning of the line that counts the others.
            share: the lines may take 1 / `share` of the remaining room.
        """
        # GitHub refuses a longer comment, so rows are left out and counted.
        room = (MOST_CHARACTERS - len(self.text)) // share - 200  # for the end and the line that counts
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
    """Return a text in which nothing is markup, of at most about `most` characters."""
    text = visible(text)
    # The backslash comes first; otherwise it would escape the escapes of the others.
    for sign in "\\`*_[]|":
        text = text.replace(sign, f"\\{sign}")
    return shorten_list(text.replace("&", "&amp;").replace("<", "&lt;"), most)


def shorten_list(text: str, most: int) -> str:
    """Return a list with commas, cut at a comma to at most about `most` characters."""
    return text if len(text) <= most else f"{text[:most].rpartition(',')[0] or text[:most]} .."
