"""Pages are read once: paragraphs are short, and words that had to be read twice do not come back."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
EVIDENCE = sorted((ROOT / "benchmarks").glob("*.md"))
"""Pages that programs write."""
MOST_WORDS = 110
"""Words of a paragraph, or of a point of a list."""
READ_TWICE = (
    "all the same",
    "as we remember",
    "came as predicted",
    "from memory",
    "from then on",
    "lost untold",
    "so many consumers",
    "so many percent",
    "the new protocol",
    "which has one way only",
)


def prose(page: Path) -> str:
    """The text of a page without its blocks of code."""
    return re.sub(r"^ *```.*?^ *```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", [*PAGES, *EVIDENCE], ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_paragraphs_are_short(page: Path) -> None:
    parts = re.split(r"\n\s*\n|\n(?= *(?:[-*]|\d+\.) )", prose(page))
    # Rows of a table and headings are no paragraphs.
    paragraphs = [part for part in parts if not part.lstrip().startswith(("|", "#", "!["))]
    assert [part.strip()[:60] for part in paragraphs if len(part.split()) > MOST_WORDS] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_nothing_has_to_be_read_twice(page: Path) -> None:
    text = re.sub(r"\s+", " ", prose(page)).lower()
    assert [words for words in READ_TWICE if words in text] == []
