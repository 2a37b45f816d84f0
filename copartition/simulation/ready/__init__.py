"""Scenarios for what people ask, one YAML file each."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class ReadyScenario(NamedTuple):
    """A scenario that comes with the package; `summary` is the first line of the file."""

    name: str
    summary: str
    path: Path


def ready_scenarios() -> dict[str, ReadyScenario]:
    """Every ready scenario by name, in order of names."""
    return {
        path.stem: ReadyScenario(path.stem, _first_line(path).lstrip("# "), path)
        for path in sorted(Path(__file__).parent.glob("*.yaml"), key=lambda path: path.stem)
    }


def _first_line(path: Path) -> str:
    with path.open(encoding="utf-8") as lines:
        return lines.readline().rstrip()
