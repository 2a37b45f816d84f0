"""Scenarios that come with the package, by name."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

import assignors
from assignors.errors import ScenarioError

FOLDER = Path(assignors.__file__).parent / "simulation" / "ready"
"""A file for each, whose first line is a comment that says what it is."""


def rows() -> list[dict[str, str]]:
    """The name and the first line of each."""
    return [{"name": name, "summary": _summary(file)} for name, file in _files().items()]


def find(plan: str) -> Path:
    """The file that is meant: one of this path, or the ready scenario of this name.

    Raises:
        ScenarioError: there is neither.
    """
    path, files = Path(plan), _files()
    if path.is_file() or path.suffix or len(path.parts) > 1:
        return path
    if plan not in files:
        close = get_close_matches(plan, files) or files
        raise ScenarioError(f"no file and no ready scenario {plan!r}; did you mean {', '.join(close)}?")
    return files[plan]


def _files() -> dict[str, Path]:
    return {file.stem: file for file in sorted(FOLDER.glob("*.yaml"))}


def _summary(file: Path) -> str:
    with file.open(encoding="utf-8") as lines:
        return lines.readline().lstrip("# ").rstrip()
